"""Declare's templates against their definitions in words, on all short paths."""

import inspect
import re

import numpy as np
import pytest

from skchmm import constraints as C
from skchmm.constraints import LTLf, declare
from skchmm.constraints.compile import satisfies
from tests.oracles.paths import all_paths, verdicts

STATES = ["a", "b", "c"]
PATHS = all_paths(STATES, 6)


def times(path, label):
    return [t for t, x in enumerate(path) if x == label]


def response(path):
    return all(any(s > t for s in times(path, "b")) for t in times(path, "a"))


def precedence(path):
    return all(any(s < t for s in times(path, "a")) for t in times(path, "b"))


def alternate_response(path):
    """Between an a and the next one, or the end, there is a b."""
    bounds = [*times(path, "a"), len(path)]
    return all("b" in path[start:stop] for start, stop in zip(bounds, bounds[1:]))


def alternate_precedence(path):
    bounds = [-1, *times(path, "b")]
    return all("a" in path[start + 1 : stop] for start, stop in zip(bounds, bounds[1:]))


def chain_response(path):
    return all(path[t + 1 : t + 2] == ("b",) for t in times(path, "a"))


def chain_precedence(path):
    return all(t > 0 and path[t - 1] == "a" for t in times(path, "b"))


DEFINITIONS = {
    "RespondedExistence": lambda p: "a" not in p or "b" in p,
    "CoExistence": lambda p: ("a" in p) == ("b" in p),
    "Response": response,
    "Precedence": precedence,
    "Succession": lambda p: response(p) and precedence(p),
    "AlternateResponse": alternate_response,
    "AlternatePrecedence": alternate_precedence,
    "AlternateSuccession": lambda p: alternate_response(p) and alternate_precedence(p),
    "ChainResponse": chain_response,
    "ChainPrecedence": chain_precedence,
    "ChainSuccession": lambda p: chain_response(p) and chain_precedence(p),
    "NotCoExistence": lambda p: not ("a" in p and "b" in p),
    "NotRespondedExistence": lambda p: "a" not in p or "b" not in p,
    "NotResponse": lambda p: not any(s > t for t in times(p, "a") for s in times(p, "b")),
    "NotPrecedence": lambda p: not any("a" in p[:t] for t in times(p, "b")),
    "NotChainResponse": lambda p: not any(p[t + 1 : t + 2] == ("b",) for t in times(p, "a")),
    "NotChainPrecedence": lambda p: not any(t > 0 and p[t - 1] == "a" for t in times(p, "b")),
    "NotSuccession": lambda p: all(s < t for t in times(p, "a") for s in times(p, "b")),
    "NotChainSuccession": lambda p: ("a", "b") not in zip(p, p[1:]),
    "Choice": lambda p: "a" in p or "b" in p,
    "ExclusiveChoice": lambda p: ("a" in p) != ("b" in p),
}
UNARY = {
    "Existence": lambda p, n: p.count("a") >= n,
    "Absence": lambda p, n: p.count("a") < n,
    "Exactly": lambda p, n: p.count("a") == n,
}
ENDS = {"Init": lambda p: p[0] == "a", "End": lambda p: p[-1] == "a"}


def test_all_templates_are_here():
    models = {"read_decl", "write_decl", "from_pm4py"}
    assert set(declare.__all__) == {*DEFINITIONS, *UNARY, *ENDS, *models}


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_two_events(name):
    controller = getattr(declare, name)("a", "b").controller(STATES)
    assert verdicts(controller, PATHS) == [DEFINITIONS[name](path) for path in PATHS]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("name", sorted(UNARY))
def test_counts(name, n):
    controller = getattr(declare, name)("a", n).controller(STATES)
    assert verdicts(controller, PATHS) == [UNARY[name](path, n) for path in PATHS]
    assert getattr(declare, name)("a") == getattr(declare, name)("a", 1)


@pytest.mark.parametrize("name", sorted(ENDS))
def test_ends(name):
    controller = getattr(declare, name)("a").controller(STATES)
    assert verdicts(controller, PATHS) == [ENDS[name](path) for path in PATHS]


@pytest.mark.parametrize("name", sorted([*DEFINITIONS, *ENDS]))
def test_the_formula_in_the_docstring_is_the_one(name):
    template = getattr(declare, name)
    formula = LTLf(re.findall("``(.*)``", template.__doc__)[-1])
    arguments = ["a", "b"][: len(inspect.signature(template).parameters)]
    constraint = template(*arguments)
    assert constraint.controller(STATES).equivalent(formula.controller(STATES))
    if isinstance(constraint, LTLf):
        assert constraint == formula


def test_collections_and_odd_labels():
    assert declare.Response("a", {"c", "b"}) == LTLf("G(a -> F {b c})")
    assert declare.Response(1, np.array([2, 3])) == LTLf("G(1 -> F {2 3})")
    assert declare.Choice("F", "it's {x}") == LTLf(r"F 'F' | F 'it\'s {x}'")
    assert satisfies(["F", "1", "x y"], declare.ChainSuccession("1", "x y"))
    with pytest.raises(ValueError, match="b is empty"):
        declare.Response("a", [])


def test_the_name_it_shares_with_the_catalog():
    assert declare.Precedence is not C.Precedence
    ours, theirs = declare.Precedence("a", "b"), C.Precedence("a", "b")
    assert ours.controller(STATES).equivalent(theirs.controller(STATES))


def test_unknown_events():
    with pytest.raises(ValueError, match=r"unknown state 'x'.*\n.*\n.*\^"):
        declare.Response("a", "x").controller(STATES)
