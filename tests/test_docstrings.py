"""The examples in docstrings run, and every public class has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import skchmm

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(m.name for m in pkgutil.walk_packages(skchmm.__path__, "skchmm."))
PUBLIC = [
    name for name in ("skchmm", *MODULES) if not any(p.startswith("_") for p in name.split("."))
]


@pytest.mark.parametrize("name", ["skchmm", *MODULES])
def test_examples_in_docstrings_run(name):
    pytest.importorskip("matplotlib").use("Agg")
    module = importlib.import_module(name)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module):
        runner.run(example, out=report.append, clear_globs=False)
    assert not runner.failures, "\n" + "".join(report)


# Base classes and containers have nothing of their own to show.
BARE = {
    *("And", "Or", "Not", "Constraint", "Emission", "Frames", "BaseHMM", "Sequences"),
    *("Explanation", "MisspecificationBound"),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_are_documented_with_an_example(name):
    module = importlib.import_module(name)
    members = [getattr(module, member) for member in getattr(module, "__all__", ())]
    for thing in members:
        if inspect.isclass(thing) and thing.__module__.startswith("skchmm"):
            assert thing.__doc__, f"{thing.__name__} has no docstring"
            bare = thing.__name__ in BARE or issubclass(thing, Exception)
            assert bare or ">>>" in thing.__doc__, f"{thing.__name__} shows no example"
