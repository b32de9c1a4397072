"""Many constraints to one controller: sizes, conflicts, limits."""

from itertools import pairwise, product

import pytest

from skchmm import Controller
from skchmm import constraints as C
from skchmm.constraints import compile as compile_module
from skchmm.constraints.compile import compile, satisfies, smallest_conflict
from skchmm.exceptions import ControllerTooLargeError

STATES = ["A", "B", "C"]


def test_no_constraint_allows_everything():
    for nothing in (None, [], [None, []]):
        controller = compile(nothing, STATES)
        assert controller.n_states == 1 and controller.states == ("A", "B", "C")
        assert all(controller.accepts(path) for path in product(STATES, repeat=3))
        assert satisfies(["A", "X"], nothing)


def test_forms():
    one, other = C.StartsIn("A"), C.EndsIn("B")
    wanted = compile([one, other], STATES)
    forms = [
        one & other,
        (one, other),
        {one, other},
        [one, [other, [one, None]]],
        [one, other, C.StartsIn(["A"])],
        [one.controller(STATES), other],
        wanted,
        [wanted.over(["C", "A", "B"])],
    ]
    for form in forms:
        controller = compile(form, STATES)
        assert controller.states == tuple(STATES)
        assert (controller.tables == wanted.tables).all()
        assert (controller.accept == wanted.accept).all()


def test_repeats_cost_nothing():
    assert compile_module.flatten([C.NoDwell("A"), [C.NoDwell({"A"})] * 5]) == [C.NoDwell("A")]


def test_a_controller_of_other_states():
    with pytest.raises(ValueError, match="different states"):
        compile(C.NoDwell("A").controller(["A", "B"]), STATES)


def test_a_controller_that_accepts_nothing():
    with pytest.raises(ValueError, match="it accepts no path"):
        compile(Controller(["A"], [[-1]], [True]), ["A"])


@pytest.mark.parametrize(
    "constraints, conflict",
    [
        ([C.StartsIn("A"), C.NoDwell("B"), C.Window("A", 3, 5)], {0, 2}),
        ([C.NoDwell("C"), C.VisitBy("C", 4), C.EndsIn("B"), C.AtMostVisits("C", 0)], {1, 3}),
        ([C.StartsIn("A"), C.EndsIn("B"), C.NoReentry("C"), C.Transitions(0)], {0, 1, 3}),
        # A set that cannot be reduced is found first, but there is a smaller one.
        ([C.StartsIn("A"), C.AtMostVisits("A", 0), C.EndsIn("B"), C.Transitions(0)], {0, 1}),
        ([C.Precedence("A", "B"), C.Precedence("B", "C"), C.Precedence("C", "A"),
          C.NoDwell("A")], {0, 1, 2}),
        ([C.Precedence("A", "B"), C.Precedence("B", "C"), C.Precedence("C", "D"),
          C.Precedence("D", "A"), C.NoDwell("A")], {0, 1, 2, 3}),
    ],
)  # fmt: skip
def test_the_smallest_conflict_is_named(constraints, conflict):
    states = sorted({label for c in constraints for label in c.labels()})
    with pytest.raises(ValueError, match="satisfies these constraints together") as caught:
        compile(constraints, states)
    named = {k for k, c in enumerate(constraints) if f"  {c!r}" in str(caught.value)}
    assert named == conflict


def test_a_conflict_among_a_hundred():
    states = [f"s{i}" for i in range(30)]
    chain = [C.Precedence(a, b) for a, b in pairwise(states)]
    others = [C.ForbiddenEdges([(a, states[0])]) for a in states[1:]] * 2
    constraints = [*chain, *others, C.StartsIn("s3")]
    controllers = [c.controller(states) for c in constraints]
    assert smallest_conflict(controllers) == [2, len(constraints) - 1]


def test_a_hundred_constraints_with_a_small_controller():
    states = [f"s{i:02}" for i in range(30)]
    chain = list(pairwise(states))
    edges = {(a, b) for a in states for b in states} - set(chain) - {(a, a) for a in states}
    constraints = [
        *[C.Precedence(a, b) for a, b in chain],
        *[C.ExactVisits(a, 1) for a in states],
        *[C.NoReentry(a) for a in states],
        C.ForbiddenEdges(sorted(edges)),
        C.StageMonotone(states),
        C.StartsIn(states[0]),
        C.EndsIn(states[-1]),
        *[C.AtLeastVisits({a, b}, 1) for a, b in chain[:10]],
    ]
    assert len(constraints) > 100
    controller = compile(constraints, states)
    # One automaton state per label, one before the first; the label alone tells what may follow.
    assert controller.tables.shape == (1, 31, 30)
    assert controller.n_states == 2
    assert controller.accepts([s for s in states for _ in range(3)])
    assert not controller.accepts(states[:-1])


def test_a_hundred_loose_constraints():
    # No edge restricts anything: the order has to come out of the visits and precedences alone.
    states = [f"s{i:02}" for i in range(30)]
    constraints = [
        *[C.NoReentry(a) for a in states],
        *[C.Precedence(a, b) for a, b in pairwise(states)],
        *[C.AtLeastVisits(a, 1) for a in states],
        *[C.ForbiddenEdges([(b, a)]) for a, b in pairwise(states)],
    ]
    assert len(constraints) > 100
    controller = compile([*constraints, C.Segments(30)], states)
    assert controller.tables.shape == (1, 31, 30)


def test_too_large_names_the_constraints_and_their_sizes():
    states = [f"s{i:02}" for i in range(12)]
    constraints = [C.ExactVisits(state, 5) for state in states]
    with pytest.raises(ControllerTooLargeError) as caught:
        compile(constraints, states, max_nodes=20_000)
    for constraint in constraints:
        assert f"{constraint!r}: 6" in str(caught.value)
    assert "20000" in str(caught.value) or "20,000" in str(caught.value)


def test_satisfies_needs_no_product():
    states = [f"s{i:02}" for i in range(12)]
    constraints = [C.ExactVisits(state, 5) for state in states]
    assert satisfies(states * 5, constraints)
    assert not satisfies(states * 4, constraints)
