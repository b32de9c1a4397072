"""Sphinx configuration."""

import os
import re
import sys
import tomllib
import warnings
from pathlib import Path

import skchmm

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings("ignore", message=".*non-interactive.*")

project = "skchmm"
author = "the skchmm developers"
copyright = "the skchmm developers"
release = version = skchmm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "names",
    "related",
    "thumbnails",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "**/generated/*.md"]
templates_path = ["_templates"]
default_role = "literal"
nitpicky = False

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_validation_checks = set()
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("skchmm",),
    "backreferences_dir": "auto_examples/backreferences",
    "download_all_examples": False,
    "show_memory": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

# The way to the repository, once pyproject.toml has its address under [project.urls].
_project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
_repository = _project.get("urls", {}).get("Repository")

html_theme = "pydata_sphinx_theme"
html_title = f"skchmm {release}"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["skchmm.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_nav_level": 2,
    "header_links_before_dropdown": 5,
    "icon_links": [{"name": "Repository", "url": _repository, "icon": "fa-solid fa-code-branch"}]
    if _repository
    else [],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


# Names of fitted attributes end in an underscore, which reStructuredText takes for a link.
_ATTRIBUTE = re.compile(r"(?<![\w`:.])([A-Za-z]\w*)_(?![\w`])")


def escape_attributes(app, what, name, obj, options, lines):
    """Escape trailing underscores in the prose of docstrings."""
    for k, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")) and "`" not in line:
            lines[k] = _ATTRIBUTE.sub(r"\1\\_", line)


def setup(app):
    # Before numpydoc, which has sections of its own for attributes.
    app.connect("autodoc-process-docstring", escape_attributes, priority=900)
