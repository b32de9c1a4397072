"""Which constraints have a meaning on jump paths, and what parameters must be."""

from itertools import product

import numpy as np
import pytest

from skchmm import CTConstrainedHMM, compile
from skchmm.constraints import (
    AllDifferent,
    AtLeastVisits,
    AtMostVisits,
    CoolDown,
    EndsIn,
    ExactVisits,
    ForbiddenEdges,
    LTLf,
    MaxDuration,
    MinDuration,
    NoDwell,
    NoReentry,
    Occupancy,
    Precedence,
    Regex,
    Segments,
    StageMonotone,
    StartsIn,
    Transitions,
    VisitBy,
    Window,
)
from skchmm.continuous.semantics import counts_jumps

STATES = ["a", "b", "c"]
JUMP_RULES = [
    Precedence("a", "b"), ForbiddenEdges([("a", "b")]), StageMonotone(["a", "b", "c"]),
    AtLeastVisits("a", 2), AtMostVisits("a", 2), ExactVisits(["a", "b"], 2), Transitions(3),
    Segments(2), NoReentry("a"), StartsIn("a"), EndsIn("a"), Regex("a+ b+ c*"), CoolDown("a", 0),
    MinDuration("a", 1), ~Precedence("a", "b"), NoReentry("a") | EndsIn("b"),
    LTLf("G(a -> F b)"),
]  # fmt: skip
STEP_RULES = [
    CoolDown("a", 1), MinDuration("a", 2), MaxDuration("a", 2), Occupancy("a", at_most=2),
    Window("a", 0, 3), VisitBy("a", 2), NoDwell("a"), AllDifferent(), Regex("a b c"),
    ForbiddenEdges([("a", "a")]), LTLf("X a"),
]  # fmt: skip


@pytest.mark.parametrize("rule", JUMP_RULES + STEP_RULES, ids=repr)
def test_counting_jumps_is_not_noticing_repeats(rule):
    """By definition: no path changes sides when one of its labels is repeated."""
    controller = compile(rule, STATES)
    notices = any(
        controller.accepts(path) != controller.accepts(path[: t + 1] + path[t:])
        for n in range(1, 6)
        for path in product(STATES, repeat=n)
        for t in range(n)
    )
    assert counts_jumps(controller) == (not notices)
    assert counts_jumps(controller) == (rule in JUMP_RULES)


@pytest.mark.parametrize("rule", STEP_RULES, ids=repr)
def test_rules_that_count_steps(rule):
    rates = np.ones((3, 3)) - 3 * np.eye(3)
    start = np.ones(3) / 3
    with pytest.raises(ValueError, match="counts steps") as error:
        CTConstrainedHMM.from_parameters(
            start, rates, states=STATES, constraints=[NoReentry("b"), rule]
        )
    assert type(rule).__name__ in str(error.value) and "NoReentry('b')" not in str(error.value)
    model = CTConstrainedHMM.from_parameters(
        start, rates, states=STATES, constraints=rule, semantics="observed"
    )
    assert np.isfinite(model.log_likelihood(np.zeros((3, 3)), [0.0, 1.0, 2.0])[0])


def test_parameters():
    start, rates = [0.5, 0.5], [[-1.0, 1.0], [2.0, -2.0]]
    bare = CTConstrainedHMM.from_parameters(start, [[0.0, 1.0], [2.0, 0.0]])
    np.testing.assert_array_equal(bare.generator_, rates)
    with pytest.raises(ValueError, match="sum to 0"):
        CTConstrainedHMM.from_parameters(start, [[-1.0, 2.0], [2.0, -2.0]])
    with pytest.raises(ValueError, match="not negative"):
        CTConstrainedHMM.from_parameters(start, [[1.0, -1.0], [2.0, -2.0]])
    with pytest.raises(ValueError, match="shape"):
        CTConstrainedHMM.from_parameters(start, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="semantics must be one of"):
        CTConstrainedHMM.from_parameters(start, rates, semantics="jump")
    with pytest.raises(ValueError, match="times is missing"):
        bare.predict(np.zeros((2, 2)))


def test_a_forbidden_edge_may_show_between_observations():
    """Under "path" a third state can lie between; under "observed" it cannot show."""
    rates = np.full((3, 3), 2.0) - 6 * np.eye(3)
    X = np.full((2, 3), -20.0)
    X[0, 0] = X[1, 2] = 0.0
    rule = ForbiddenEdges([("a", "c")])
    models = {
        s: CTConstrainedHMM.from_parameters(
            np.ones(3) / 3, rates, states=STATES, constraints=rule, semantics=s
        )
        for s in ("path", "observed")
    }
    assert models["path"].predict(X, [0, 1]).tolist() == ["a", "c"]
    assert models["path"].decode_path(X, [0, 1]).states.tolist() == ["a", "b", "c"]
    assert models["observed"].predict(X, [0, 1]).tolist() != ["a", "c"]
