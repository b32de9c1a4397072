"""Everything public says which types it takes and returns."""

import importlib
import inspect
from functools import cached_property
from pathlib import Path

import pytest

import skchmm

HOMES = [
    "skchmm",
    "skchmm.constraints",
    "skchmm.constraints.declare",
    "skchmm.datasets",
    "skchmm.emissions",
    "skchmm.hmm",
    "skchmm.metrics",
    "skchmm.plotting",
    "skchmm.vhmm",
]
SPECIAL = {"__init__", "__call__", "__and__", "__rand__", "__or__", "__ror__", "__invert__"}


def is_ours(thing):
    return getattr(thing, "__module__", "").startswith("skchmm")


def functions_of(cls):
    """The public methods, properties and constructor of a class, as defined in our own classes."""
    for base in cls.__mro__:
        for name, member in vars(base).items() if is_ours(base) else ():
            if name.startswith("_") and name not in SPECIAL:
                continue
            if isinstance(member, property):
                member = member.fget
            elif isinstance(member, cached_property):
                member = member.func
            elif isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if inspect.isfunction(member):
                yield f"{base.__module__}.{base.__qualname__}.{name}", member


def surface():
    """Where it stands, and the function, of everything public."""
    for home in HOMES:
        module = importlib.import_module(home)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                yield from functions_of(thing)
            elif inspect.isfunction(thing):
                yield f"{thing.__module__}.{name}", thing
            elif not inspect.ismodule(thing):  # a scorer that is ready to use
                yield from functions_of(type(thing))


SURFACE = dict(surface())


def missing(function):
    """What has no annotation: names of parameters, and "return"."""
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    bare = [each.name for each in signature.parameters.values() if each.annotation is empty]
    if signature.return_annotation is inspect.Signature.empty:
        bare.append("return")
    return [name for name in bare if name not in {"self", "cls"}]


@pytest.mark.parametrize("name", SURFACE)
def test_what_is_public_is_annotated(name):
    bare = missing(SURFACE[name])
    assert not bare, f"{name}: no annotation of {', '.join(bare)}"


def test_the_surface_is_found():
    assert len(SURFACE) > 200
    for name in [
        "skchmm.constraints.compile.compile",
        "skchmm.constraints.base.Constraint.__and__",
        "skchmm.estimators.base.SequenceEstimator.predict",
        "skchmm.estimators.constrained.ConstrainedHMM.from_parameters",
        "skchmm.emissions.gaussian.Gaussian.__init__",
    ]:
        assert name in SURFACE


def test_the_package_says_that_it_is_typed():
    assert (Path(skchmm.__file__).parent / "py.typed").is_file()
