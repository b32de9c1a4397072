"""Every constraint accepts exactly the paths of its definition."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import constraints as C
from skchmm.constraints.compile import compile, satisfies
from tests.oracles.predicates import PREDICATES, holds
from tests.oracles.strategies import compositions, constraint_lists, families, state_lists


def paths(states, longest):
    return [path for n in range(1, longest + 1) for path in product(states, repeat=n)]


def check(constraint, states, longest=5):
    """Compare with the definition on all paths; no controller where none of any length fits."""
    everything = paths(states, longest)
    wanted = [holds(constraint, path) for path in everything]
    try:
        controller = constraint.controller(states)
    except ValueError as error:
        assert "no path over the states" in str(error)
        assert not any(wanted)
        return
    assert [controller.accepts(path) for path in everything] == wanted


GRID = [
    *[C.Precedence(b, a) for b in ("A", {"A", "B"}) for a in ("B", {"B", "C"}, "A")],
    C.ForbiddenEdges([("A", "B")]),
    C.ForbiddenEdges([("A", "A"), ("B", {"A", "C"})]),
    C.ForbiddenEdges({(("A", "B"), "C")}),
    *[
        C.StageMonotone(stages, allow_backward=back)
        for stages in (["A"], ["A", "B", "C"], ["C", "A"], [{"A", "C"}, "B"], [["A"], ["C"], ["B"]])
        for back in (True, False)
    ],
    *[
        kind(A, k)
        for kind in (C.AtLeastVisits, C.AtMostVisits, C.ExactVisits, C.CoolDown)
        for A in ("A", {"A", "B"})
        for k in range(4)
    ],
    *[kind(A, k) for kind in (C.MinDuration, C.MaxDuration, C.VisitBy)
      for A in ("A", ("A", "B")) for k in range(5)],
    *[C.Transitions(k) for k in range(5)],
    *[C.Segments(k) for k in range(1, 6)],
    *[kind(A) for kind in (C.AllDifferent, C.NoDwell, C.NoReentry, C.StartsIn, C.EndsIn)
      for A in ("A", ["A", "C"], {"A", "B", "C"})],
    C.AllDifferent(),
    *[C.Occupancy("A", low, high) for low in (None, 0, 1, 3) for high in (None, 0, 2, 3)
      if (low, high) != (None, None) and (high is None or low is None or low <= high)],
    *[C.Window(A, start, stop) for A in ("A", ["A", "B"])
      for start in range(4) for stop in range(start + 1, 6)],
]  # fmt: skip


@pytest.mark.parametrize("deadline", range(4))
def test_a_missed_deadline_is_noticed_at_once(deadline):
    controller = C.VisitBy("A", deadline).controller(["A", "B"])
    for path in paths("AB", 5):
        q = 0
        for t, label in enumerate(path):
            epoch = sum(first <= t for first in controller.epochs) - 1
            q = controller.tables[epoch, q, "AB".index(label)]
            assert (q < 0) == (t >= deadline and "A" not in path[: deadline + 1])
            if q < 0:
                break


@pytest.mark.parametrize("constraint", GRID, ids=repr)
def test_grid_over_three_states(constraint):
    check(constraint, ["A", "B", "C"])


def test_the_grid_and_the_strategies_cover_every_constraint():
    declared = {name for name in C.__all__ if isinstance(getattr(C, name), type)}
    declared -= {"Constraint", "And", "Or", "Not", "Regex", "LTLf", "TagScheme"}
    declared -= {"Soft"}  # forbids no path, so that there is no set of paths to compare
    assert declared == set(PREDICATES) == set(families("AB"))
    assert declared == {type(constraint).__name__ for constraint in GRID}


@pytest.mark.parametrize("name", sorted(PREDICATES))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_parameters(name, data):
    states = data.draw(state_lists(1, 4))
    check(data.draw(families(states)[name]), states, longest=4 if len(states) == 4 else 5)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_random_compositions(data):
    states = data.draw(state_lists(2, 3))
    check(data.draw(compositions(states)), states, longest=4)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_compile_is_the_conjunction(data):
    states = data.draw(state_lists(2, 3))
    constraints = data.draw(constraint_lists(states))
    everything = paths(states, 4)
    wanted = [holds(constraints, path) for path in everything]
    try:
        controller = compile(constraints, states)
    except ValueError as error:
        assert "o path over the states" in str(error)
        assert not any(wanted)
        return
    assert [controller.accepts(path) for path in everything] == wanted


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_satisfies(data):
    states = data.draw(state_lists(1, 4))
    constraints = data.draw(constraint_lists(states, max_size=2))
    path = data.draw(st.lists(st.sampled_from(states), min_size=1, max_size=6))
    assert satisfies(path, constraints) == holds(constraints, path)
    assert satisfies(path, constraints, states) == holds(constraints, path)


@pytest.mark.parametrize("states", [["A"], ["A", "B"]])
def test_the_first_step_is_gated_too(states):
    assert not satisfies(["A"], C.AtMostVisits("A", 0), states)
    assert not satisfies(["A"], C.Precedence("A", "A"), states)
    assert not satisfies(["A"], C.Window("A", 1, 5), states)


def test_time_dependent_rules_need_no_clock():
    window = C.Window("A", 10**6, 10**12).controller(["A", "B"])
    assert window.n_states == 1 and len(window.epochs) == 3
    visit = C.VisitBy("A", 10**6).controller(["A", "B"])
    assert visit.n_states == 2 and len(visit.epochs) == 2
    huge = C.VisitBy("A", 10**30).controller(["A", "B"])
    assert huge.accepts(["B", "B", "A"]) and not huge.accepts(["B", "B"])
