"""What a compiled set of constraints says about itself: what is redundant, what conflicts."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import constraints as C
from skchmm.constraints.compile import compile, smallest_conflict
from skchmm.controller import intersection
from tests.oracles.paths import all_paths
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraints as any_constraint

STATES = ["A", "B", "C"]


def compiled(constraints, states=STATES):
    """The controller, or None where the constraints contradict each other (or themselves)."""
    try:
        return compile(constraints, states)
    except ValueError as error:
        assert "o path over the states" in str(error)
        return None


def without(constraints, left_out):
    return [c for c in constraints if not any(c is each for each in left_out)]


@settings(max_examples=100, deadline=None)
@given(constraints=st.lists(any_constraint(STATES, max_k=2), min_size=1, max_size=5))
def test_redundant_constraints_by_definition(constraints):
    whole = compiled(constraints)
    if whole is None:
        return
    assert whole.constraints_ == list(dict.fromkeys(constraints))
    redundant = whole.redundant_
    kept = without(whole.constraints_, redundant)
    # What is left implies what is redundant, on all short paths.
    for path in all_paths(STATES, 5):
        if holds(kept, path):
            assert holds(redundant, path)
    # Of what is left nothing is implied: there is a path that only this one forbids.
    for each in kept:
        others = without(kept, [each])
        witness = compiled([*others, ~each]).shortest_path()
        assert holds(others, witness) and not holds(each, witness)


@pytest.mark.parametrize(
    "constraints, redundant",
    [
        ([C.Segments(3), C.Transitions(2)], [1]),
        ([C.Transitions(2), C.Segments(3)], [1]),
        ([C.StartsIn(["A", "B"]), C.StartsIn("A")], [0]),
        ([C.StartsIn("A"), C.StartsIn(["A", "B"]), C.VisitBy("A", 7)], [1, 2]),
        ([C.Precedence("A", "B"), C.Precedence("B", "C"), C.Precedence("A", "C")], [2]),
        ([C.NoReentry("A"), C.AtMostVisits("A", 1), C.LTLf("!F(A & F(!A & F A))")], [1, 2]),
        ([C.Regex("A+ B+ C+"), C.StageMonotone(STATES), C.EndsIn("C"), C.NoReentry("B")],
         [1, 2, 3]),
        ([C.StartsIn("A"), C.EndsIn("A")], []),
        ([C.AtLeastVisits("A", 0)], [0]),
        ([C.StartsIn("A"), C.MinDuration("B", 1)], [1]),
    ],
)  # fmt: skip
def test_what_is_redundant(constraints, redundant):
    assert compile(constraints, STATES).redundant_ == [constraints[k] for k in redundant]


def test_of_controllers_and_of_nothing():
    assert compile(None, STATES).constraints_ == compile(None, STATES).redundant_ == []
    starts = C.StartsIn("A").controller(STATES)
    both = compile([C.StartsIn("A"), starts], STATES)
    assert both.redundant_ == [starts]
    # Derived controllers were not compiled from constraints.
    assert (~both).constraints_ == both.minimal().redundant_ == []


@settings(max_examples=60, deadline=None)
@given(constraints=st.lists(any_constraint(STATES, max_k=2), min_size=4, max_size=7, unique=True))
def test_conflicts_are_smallest_by_brute_force(constraints):
    possible = [c for c in constraints if compiled(c) is not None]
    if not possible or compiled(possible) is not None:
        return
    controllers = [c.controller(STATES) for c in possible]
    found = smallest_conflict(controllers)

    def conflicting(chosen):
        return intersection([controllers[k] for k in chosen]).is_empty()

    assert conflicting(found)
    assert not any(conflicting(chosen)
                   for size in range(1, len(found))
                   for chosen in combinations(range(len(possible)), size))  # fmt: skip
    with pytest.raises(ValueError) as caught:
        compile(possible, STATES)
    assert str(caught.value).split("\n")[1:] == [f"  {possible[k]!r}" for k in found]


def test_a_conflict_of_five_behind_one_of_six():
    # In a circle of precedences no state can be the first; a circle of four makes five with the
    # demand that one of them comes.
    def circle(labels):
        return [C.Precedence(a, b) for a, b in zip(labels, labels[1:] + labels[0])]

    rules = [*circle("ABCDE"), C.LTLf("F {A B C D E}"), *circle("FGHI"), C.LTLf("F {F G H I}")]
    for order in (rules, rules[::-1]):
        conflict = smallest_conflict([rule.controller(list("ABCDEFGHI")) for rule in order])
        assert {order[k] for k in conflict} == set(rules[6:])


@pytest.mark.parametrize(
    "rule",
    [C.MinDuration(STATES, 3), C.CoolDown(STATES, 2), C.NoReentry(STATES), C.ForbiddenEdges([]),
     C.AtLeastVisits("A", 0), C.Occupancy("A", at_least=0), C.StartsIn(STATES),
     C.LTLf("F A | !F A")],
    ids=repr,
)  # fmt: skip
def test_a_rule_that_excludes_nothing(rule):
    for others in ([], [C.StartsIn("A")]):
        whole = compile([rule, *others], STATES)
        assert whole.redundant_ == [rule]
        (reason,) = whole.redundant_reasons_
        assert reason.startswith(f"{rule!r} excludes no path.")
    assert holds_everywhere(rule)


def holds_everywhere(rule):
    controller = compile(rule, STATES)
    return all(controller.accepts(path) for path in all_paths(STATES, 4))


def test_a_duration_of_all_states_together():
    """Its author meant each state, and is told how to write that."""
    (reason,) = compile(C.MinDuration(STATES, 3), STATES).redundant_reasons_
    assert "[MinDuration(state, k=3) for state in states]" in reason
    assert compile(C.StartsIn("A"), STATES).redundant_reasons_ == []
    both = compile([C.StartsIn("A"), C.StartsIn(["A", "B"])], STATES)
    assert both.redundant_reasons_ == ["StartsIn(['A', 'B']) is implied by the other constraints."]
