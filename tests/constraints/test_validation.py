"""What a wrong constraint says: which one it is, what is wrong, what would be right."""

import pickle
import re

import numpy as np
import pytest

from skchmm import constraints as C
from skchmm.constraints.compile import compile, satisfies
from skchmm.exceptions import ControllerTooLargeError

STATES = ["wake", "light", "deep", 1]


@pytest.mark.parametrize(
    "constraint, problem",
    [
        (C.NoDwell("wakes"), "unknown state 'wakes'; the states are 'wake', 'light', 'deep', 1"),
        (C.NoDwell("wakes"), "did you mean 'wake'?"),
        (C.NoDwell("1"), "unknown state '1'; the states are 'wake', 'light', 'deep', 1"),
        (C.NoDwell("1"), "did you mean 1?"),
        (C.StartsIn(["wake", "dep", "lihgt"]), "unknown states 'dep', 'lihgt'"),
        (C.StartsIn(["wake", "dep", "lihgt"]), "did you mean 'deep', 'light'?"),
        (C.EndsIn(None), "unknown state None"),
        (C.EndsIn([["wake"]]), "unknown state ['wake']"),
        (C.Precedence("wake", "x"), "unknown state 'x'"),
        (C.Precedence("x", "wake"), "unknown state 'x'"),
        (C.ForbiddenEdges([("wake", "x")]), "unknown state 'x'"),
        (C.StageMonotone(["wake", {"x", "deep"}]), "unknown state 'x'"),
        (C.NoReentry([]), "states is empty"),
        (C.AllDifferent(set()), "states is empty"),
        (C.Precedence([], "wake"), "before is empty"),
        (C.Precedence("wake", ()), "after is empty"),
        (C.Occupancy("wake"), "give at_least, at_most or both"),
        (C.Occupancy("wake", 3, 2), "at_least=3 is more than at_most=2"),
        (C.Window("wake", 2, 2), "start=2 must be before stop=2"),
        (C.ForbiddenEdges(("wake", "deep")), "e.g. [('A', 'B')]"),
        (C.ForbiddenEdges("wake"), "edges must be a list"),
        (C.ForbiddenEdges({"wake": "deep"}), "edges must be a list"),
        (C.ForbiddenEdges([("wake", "deep", 1)]), "edges must be a list"),
        (C.ForbiddenEdges([("wake", [])]), "a side of an edge is an empty collection"),
        (C.StageMonotone([]), "empty; name at least one label in each"),
        (C.StageMonotone(["wake", []]), "empty; name at least one label in each"),
        (C.StageMonotone({"wake"}), "stages must be an ordered list"),
        (C.StageMonotone("wake"), "stages must be an ordered list"),
        (C.StageMonotone(["wake", {"deep", "wake"}]), "the label 'wake' is in two stages"),
        (C.StageMonotone(["wake"], allow_backward="no"), "allow_backward must be True or False"),
        (C.And([]), "constraints must be a list of at least one constraint"),
        (C.Or(None), "constraints must be a list of at least one constraint"),
        (C.And([C.NoDwell("wake"), "deep"]), "but has 'deep'"),
        (C.Not("deep"), "needs a constraint"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_wrong_parameters(constraint, problem):
    message = f"^{re.escape(repr(constraint))}: .*{re.escape(problem)}"
    with pytest.raises(ValueError, match=message):
        constraint.controller(STATES)
    with pytest.raises(ValueError, match=re.escape(problem)):
        compile([C.NoDwell("deep"), constraint], STATES)


COUNTS = [
    (C.AtLeastVisits, "k", {"states": "wake"}, 0),
    (C.AtMostVisits, "k", {"states": "wake"}, 0),
    (C.ExactVisits, "k", {"states": "wake"}, 0),
    (C.Transitions, "k", {}, 0),
    (C.Segments, "k", {}, 1),
    (C.CoolDown, "delta", {"states": "wake"}, 0),
    (C.MinDuration, "k", {"states": "wake"}, 0),
    (C.MaxDuration, "k", {"states": "wake"}, 0),
    (C.Occupancy, "at_least", {"states": "wake"}, 0),
    (C.Occupancy, "at_most", {"states": "wake", "at_least": 0}, 0),
    (C.Window, "start", {"states": "wake", "stop": 4}, 0),
    (C.Window, "stop", {"states": "wake", "start": 0}, 0),
    (C.VisitBy, "deadline", {"states": "wake"}, 0),
]


@pytest.mark.parametrize("kind, name, others, minimum", COUNTS)
def test_wrong_counts_are_refused_when_a_constraint_is_made(kind, name, others, minimum):
    good = kind(**others, **{name: minimum + 1})
    before, says = repr(good), f"^{kind.__name__}: {name} must be"
    wrong = [minimum - 1, np.int64(-3), 1.5, 2.0, "2", True, np.bool_(True), np.nan, [1]]
    for value in [*wrong, *([] if kind is C.Occupancy else [None])]:
        with pytest.raises(ValueError, match=says):
            kind(**others, **{name: value})
        with pytest.raises(ValueError, match=says):
            C.from_spec({"type": kind.__name__, **others, name: value})
        with pytest.raises(ValueError, match=says):
            good.set_params(**{name: value})
        with pytest.raises(ValueError, match=says):
            (good & C.NoDwell("deep")).set_params(**{f"0__{name}": value})
        with pytest.raises(ValueError, match=says):
            setattr(good, name, value)
        assert repr(good) == before
    good.__dict__[name] = minimum - 1
    with pytest.raises(ValueError, match=says):
        pickle.loads(pickle.dumps(good))


@pytest.mark.parametrize("n", [-1, 1.5, "2", None, True])
@pytest.mark.parametrize("template", ["Existence", "Absence", "Exactly"])
def test_wrong_counts_of_declare(template, n):
    with pytest.raises(ValueError, match=f"^{template}: n must be"):
        getattr(C.declare, template)("wake", n)
    if template == "Absence":
        with pytest.raises(ValueError, match=r"^Absence: n must be at least 1, got 0"):
            C.declare.Absence("wake", 0)


def test_no_forbidden_edge_forbids_nothing():
    for edges in ([], (), set(), np.empty((0, 2))):
        rule = C.ForbiddenEdges(edges)
        assert rule == C.ForbiddenEdges([]) and C.from_spec(rule.to_spec()) == rule
        assert satisfies(["wake", "deep", "wake"], rule)
        assert compile(rule, STATES).equivalent(compile(None, STATES))


@pytest.mark.parametrize("max_nodes", [0, -5, 1.5, "many", None, True])
def test_wrong_limits(max_nodes):
    with pytest.raises(ValueError, match="max_nodes must be"):
        compile(C.NoDwell("wake"), STATES, max_nodes=max_nodes)
    with pytest.raises(ValueError, match="max_nodes must be"):
        C.NoDwell("wake").controller(STATES, max_nodes)


@pytest.mark.parametrize("wrap", [lambda c: ~c, lambda c: c | C.NoDwell("deep"), C.Not])
def test_wrong_parts_of_a_composition_are_named(wrap):
    with pytest.raises(ValueError, match=r"^Window\('deep', 2, 1\): start=2 must be before stop=1"):
        wrap(C.Window("deep", 2, 1)).controller(STATES)


def test_many_states_are_not_all_listed():
    with pytest.raises(ValueError, match="and 980 more"):
        C.NoDwell("x").controller(list(range(1000)))
    edges = C.ForbiddenEdges([(a, "x") for a in range(1000)])
    with pytest.raises(ValueError) as caught:
        edges.controller(list(range(1000)))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "constraint",
    [
        C.AtLeastVisits({"A", "B"}, 2),
        C.AtMostVisits({"A", "B"}, 0),
        C.ExactVisits({"A", "B"}, 3),
        C.Precedence("A", {"A", "B"}),
        C.Window({"A", "B"}, 1, 5),
        C.MaxDuration({"A", "B"}, 0),
        C.StartsIn("A") & ~C.StartsIn("A"),
        ~C.AtMostVisits({"A", "B"}, 1),
    ],
    ids=repr,
)
def test_a_constraint_that_no_path_satisfies(constraint):
    message = r"(?i)no path over the states 'A', 'B' satisfies"
    with pytest.raises(ValueError, match=message):
        constraint.controller(["A", "B"])
    with pytest.raises(ValueError, match=message):
        compile(constraint, ["A", "B"])
    # As a question about one path it has an answer.
    assert not satisfies(["A", "B", "A"], constraint)


def test_one_label_cannot_change():
    with pytest.raises(ValueError, match=r"^Transitions\(1\): no path"):
        C.Transitions(1).controller(["A"])


def test_an_impossible_part_of_an_alternative_does_no_harm():
    controller = (C.AtLeastVisits({"A", "B"}, 2) | C.StartsIn("A")).controller(["A", "B"])
    assert controller.equivalent(C.StartsIn("A").controller(["A", "B"]))


@pytest.mark.parametrize(
    "constraint, size",
    [
        (C.AllDifferent(), "1,073,741,824"),
        (C.AllDifferent(range(25)), "33,554,432"),
        (C.Occupancy(0, at_most=10**12), "1,000,000,000,001"),
        (C.ExactVisits(0, 10**9), "2,000,000,001"),
        (C.AtLeastVisits(0, 10**9), "2,000,000,000"),
        (C.MaxDuration(0, 10**9), "1,000,000,001"),
        (C.MinDuration(0, 10**9), "1,000,000,001"),
        (C.CoolDown(0, 10**9), "1,000,000,002"),
        (C.Transitions(10**9), "30,000,000,031"),
    ],
    ids=repr,
)
def test_too_large_is_said_before_anything_is_built(constraint, size):
    message = (
        f"{re.escape(repr(constraint))}: needs {size} controller states, more than .*max_nodes"
    )
    with pytest.raises(ControllerTooLargeError, match=message):
        constraint.controller(list(range(30)))
    with pytest.raises(ControllerTooLargeError, match=message):
        compile(~constraint, list(range(30)))


def test_max_nodes_is_an_option():
    C.AllDifferent().controller(list("ABCDE"), max_nodes=32)
    with pytest.raises(ControllerTooLargeError, match="more than max_nodes=31"):
        C.AllDifferent().controller(list("ABCDE"), max_nodes=31)


@pytest.mark.parametrize(
    "states, problem",
    [
        ([], "states is empty"),
        ("AB", "states must be a list of all state labels"),
        (3, "states must be a list of all state labels"),
        ({"A", "B"}, "states must be a list of all state labels"),
        (["A", "B", "A"], "repeated: 'A'"),
        (["A", ["B"]], r"Labels are strings or integers; got \['B'\]"),
    ],
)
def test_wrong_states(states, problem):
    with pytest.raises(ValueError, match=problem):
        C.NoDwell("A").controller(states)
    with pytest.raises(ValueError, match=problem):
        compile(None, states)


@pytest.mark.parametrize(
    "constraint",
    [
        C.NoDwell([["A"]]),
        C.ForbiddenEdges([("A", [["B"]])]),
        C.StageMonotone(["A", [["B"]]]),
        ~C.NoDwell([["A"]]) & C.Transitions(1),
    ],
    ids=repr,
)
def test_what_cannot_be_a_label(constraint):
    with pytest.raises(ValueError, match="Labels are strings or integers"):
        satisfies(["A", "B"], constraint)
    with pytest.raises(ValueError, match="unknown state \\["):
        compile(constraint, ["A", "B"])


def test_wrong_paths():
    with pytest.raises(ValueError, match="A path is a sequence of labels"):
        satisfies("ABA", C.NoDwell("A"))
    with pytest.raises(ValueError, match="The path is empty"):
        satisfies([], C.NoDwell("A"))
    with pytest.raises(ValueError, match="'C'"):
        satisfies(["A", "C"], C.NoDwell("A"), states=["A", "B"])
    with pytest.raises(ValueError, match="'C'"):
        satisfies(["A", "C"], None, states=["A", "B"])


@pytest.mark.parametrize("constraints", ["A", 3, {"type": "NoDwell"}, [C.NoDwell("A"), "A"]])
def test_not_constraints(constraints):
    with pytest.raises(ValueError, match="must be a constraint, a Controller or a list of them"):
        compile(constraints, ["A"])
