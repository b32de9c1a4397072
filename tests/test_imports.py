"""Imports point one way, and `import skchmm` needs no optional package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "skchmm"
OPTIONAL = ["pandas", "polars", "matplotlib", "rich", "hmmlearn", "pytest", "hypothesis"]

# Which layers each layer may import from, besides itself. A module that no row names is part of
# the estimators.
LAYERS = {
    "kernels": {"_kernels"},
    "exceptions": {"exceptions"},
    "thresholds": {"_thresholds"},
    "missing": {"_missing"},
    "sequences": {"sequences"},
    "controller": {
        "controller",
        "_checking",
        "_conflicts",
        "_drawing",
        "_functions",
        "_language",
        "_limits",
        "_minimise",
        "_products",
    },
    "constraints": {"constraints"},
    "graph": {"graph", "_blocks"},
    "emissions": {"emissions"},
    "metrics": {"metrics"},
    "plotting": {"plotting"},
}
FOUNDATION = {"kernels", "exceptions", "thresholds", "missing"}
MAY_IMPORT = {
    "kernels": set(),
    "exceptions": set(),
    "thresholds": set(),
    "missing": set(),
    "sequences": FOUNDATION,
    "controller": FOUNDATION,
    "constraints": FOUNDATION | {"controller"},
    "graph": FOUNDATION | {"controller"},
    "emissions": FOUNDATION | {"sequences"},
    "estimators": FOUNDATION
    | {"sequences", "controller", "constraints", "graph", "emissions"},
    "metrics": FOUNDATION | {"sequences", "controller", "constraints", "graph"},
    "plotting": set(),
}  # fmt: skip


def layer_of(module):
    """The layer of a dotted name below skchmm, e.g. "constraints.base"."""
    top = module.split(".")[0]
    return next((layer for layer, tops in LAYERS.items() if top in tops), "estimators")


def imports_of(path):
    """Dotted names below skchmm that a file imports, wherever in it."""
    package = path.relative_to(PACKAGE.parent).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = [*base, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield from below([*module, alias.name])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from below(alias.name.split("."))


def below(parts):
    if parts[0] == "skchmm" and len(parts) > 1:
        yield ".".join(parts[1:])


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    layer = layer_of(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    allowed = MAY_IMPORT[layer] | {layer}
    wrong = [name for name in imports_of(path) if layer_of(name) not in allowed]
    assert not wrong, f"{layer} must not import {wrong}"


def test_the_layers_have_no_cycle():
    done = set()
    while len(done) < len(MAY_IMPORT):
        ready = {name for name, needs in MAY_IMPORT.items() if needs <= done} - done
        assert ready, f"a cycle among {set(MAY_IMPORT) - done}"
        done |= ready


# scikit-learn itself imports pandas where it is installed, so it is taken away instead.
WITHOUT = f"""
import sys
for name in {OPTIONAL}:
    sys.modules[name] = None
import skchmm
from skchmm import constraints, datasets, decoders, emissions, metrics, plotting
X, y = [list("xxyy"), list("xyy")], [list("aabb"), list("abb")]
print(skchmm.ConstrainedHMM().fit(X, y).predict(X)[1].tolist())
"""


def test_works_without_optional_packages():
    command = [sys.executable, "-W", "error", "-c", WITHOUT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['a', 'b', 'b']"


def test_optional_packages_are_imported_where_they_are_used():
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {name.split(".")[0] for name in names}
            assert not tops & set(OPTIONAL), f"{path.name} imports {tops} at its top"


def test_public_names_exist():
    import skchmm

    assert sorted(skchmm.__all__) == skchmm.__all__
    for name in skchmm.__all__:
        assert hasattr(skchmm, name)
