"""Names of the package in the prose of the guide are links to the reference, in tables too."""

import importlib
import re

from docutils import nodes
from sphinx import addnodes

MODULES = (
    "",
    ".constraints",
    ".constraints.declare",
    ".emissions",
    ".metrics",
    ".plotting",
    ".datasets",
)
NAMES = {}
CALL = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?$", re.DOTALL)


def public_names():
    """{as written: full name}; a method by itself is that of ConstrainedHMM."""
    import skchmm

    methods = [
        name for name in dir(skchmm.ConstrainedHMM) if not name.startswith(("_", "set_", "get_"))
    ]
    found = {name: f"skchmm.ConstrainedHMM.{name}" for name in methods}
    for suffix in reversed(MODULES):
        module = importlib.import_module("skchmm" + suffix)
        for name in getattr(module, "__all__", ()):
            full = f"skchmm{suffix}.{name}"
            found |= {full: full, f"declare.{name}" if "declare" in suffix else name: full}
    return found


def link_names(app, doctree):
    """Make literals that are a name, or a call of it, refer to its entry."""
    if app.env.docname.startswith("api/"):  # docstrings speak of themselves
        return
    for node in list(doctree.findall(nodes.literal)):
        found = CALL.match(node.astext())
        inside = (nodes.reference, nodes.title, addnodes.pending_xref)
        if not found or isinstance(node.parent, inside):
            continue
        head, _, member = found[1].partition(".")
        full = NAMES.get(found[1]) or (member and head in NAMES and f"{NAMES[head]}.{member}")
        if full:
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=full, refexplicit=True, refwarn=False,
                refdoc=app.env.docname,
            )  # fmt: skip
            node.replace_self(link)
            link += node


def setup(app):
    NAMES.update(public_names())
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True}
