"""Imports point one way, and `import skchmm` needs no optional package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skchmm

PACKAGE = Path(__file__).parent.parent / "skchmm"
OPTIONAL = [
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "rich",
    "hmmlearn",
    "pytest",
    "hypothesis",
    "dask",
    "distributed",
]

# Which folders (or modules at the root) each may import from, besides itself.
FOUNDATION = {"_kernels", "exceptions"}
MAY_IMPORT = {
    "_kernels": set(),
    "exceptions": set(),
    "_numbers": set(),
    "_documentation": set(),
    "_version": set(),
    "sequences": {"_kernels"},
    "controller": FOUNDATION,
    "constraints": {"exceptions", "sequences", "controller"},
    "graph": FOUNDATION | {"controller"},
    "emissions": FOUNDATION | {"sequences"},
    "inference": FOUNDATION | {"sequences", "controller", "constraints", "graph", "emissions"},
    "continuous": FOUNDATION | {"controller", "constraints", "graph", "emissions", "inference"},
    "estimators": {
        "_documentation",
        "_version",
        "exceptions",
        "sequences",
        "controller",
        "constraints",
        "graph",
        "emissions",
        "inference",
        "continuous",
    },
    "decoders": FOUNDATION
    | {"sequences", "constraints", "emissions", "inference", "estimators"},
    "hmm": {"sequences", "controller", "constraints", "emissions", "inference", "estimators"},
    "vhmm": {"sequences", "emissions", "inference", "estimators", "hmm"},
    "mining": {
        "_documentation",
        "exceptions",
        "controller",
        "sequences",
        "constraints",
        "graph",
        "inference",
    },
    "metrics": FOUNDATION | {"sequences", "constraints"},
    "quantizer": {"_documentation", "sequences"},
    "datasets": {"exceptions", "constraints", "graph", "inference"},
    "plotting": set(),
}  # fmt: skip


def layer_of(module):
    """The folder, or the module at the root, of a dotted name below skchmm."""
    return module.split(".")[0]


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
    assert layer in MAY_IMPORT, f"say above what {layer} may import"
    allowed = MAY_IMPORT[layer] | {layer, "_numbers"}
    wrong = [name for name in imports_of(path) if layer_of(name) not in allowed]
    assert not wrong, f"{layer} must not import {wrong}"


def test_every_folder_has_a_row():
    there = {layer_of(path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", "."))
             for path in FILES}  # fmt: skip
    assert there == set(MAY_IMPORT)
    assert sum(path.parent == PACKAGE for path in FILES) < 6


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


def test_callbacks_are_imported_where_there_are_some():
    # scikit-learn imports all that draws a progress bar with them
    code = """
import sys, skchmm
model = skchmm.ConstrainedHMM(2, n_iter=2, tol=-1.0).fit([[0, 1, 1, 0]])
assert not {"rich", "sklearn.callback"} & {*sys.modules}
assert not vars(model).keys() & {"_callback_fit_ctx", "_skl_callbacks"}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scikit_learn_is_imported_first_and_with_room_for_its_frames():
    # deep within our own modules, Python's stack of frames may make it slow
    body = ast.parse((PACKAGE / "__init__.py").read_text()).body
    called = [ast.unparse(node) for node in body].index("_import_scikit_learn()")
    own = next(k for k, node in enumerate(body) if getattr(node, "level", 0))
    assert called < own
    code = skchmm._import_scikit_learn.__code__
    assert "sklearn.base" in code.co_names
    assert 8 * code.co_stacksize > 16 * 1024


def test_optional_packages_are_imported_where_they_are_used():
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {name.split(".")[0] for name in names}
            assert not tops & set(OPTIONAL), f"{path.name} imports {tops} at its top"


def test_public_names_exist():
    assert sorted(skchmm.__all__) == skchmm.__all__
    for name in skchmm.__all__:
        assert hasattr(skchmm, name)
