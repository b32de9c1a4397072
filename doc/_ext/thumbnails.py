"""The small pictures of the gallery have a text: the title of the example that they show."""

from pathlib import PurePosixPath

from docutils import nodes


def name_thumbnails(app, doctree, docname):
    for image in doctree.findall(nodes.image):
        stem = PurePosixPath(image["uri"]).stem
        if image.get("alt") or not stem.endswith("_thumb"):
            continue
        example = "auto_examples/" + stem.removeprefix("sphx_glr_").removesuffix("_thumb")
        title = app.env.titles.get(example)
        image["alt"] = "Example" if title is None else f"Example: {title.astext()}"


def setup(app):
    app.connect("doctree-resolved", name_thumbnails)
    return {"parallel_read_safe": True}
