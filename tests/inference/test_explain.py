from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM, InfeasibleSequenceError
from skchmm.constraints import (
    AtLeastVisits,
    AtMostVisits,
    EndsIn,
    NoReentry,
    Occupancy,
    Precedence,
    StartsIn,
    Transitions,
    VisitBy,
    Window,
)
from skchmm.controller.conflicts import irreducible, smallest_conflict
from tests.oracles.chains import feasible_paths, random_chain, random_scores
from tests.oracles.predicates import holds
from tests.oracles.strategies import constraint_lists

STATES = ["a", "b", "c"]


def model_of(chain, constraints):
    try:
        return ConstrainedHMM.from_parameters(*chain, states=STATES, constraints=constraints)
    except ValueError:  # no path of any length
        return None


def exists(rules, zero_starts, zero_transitions, allowed):
    """Whether some path obeys the rules and avoids these zeros."""
    T = len(allowed)
    for path in product(range(3), repeat=T):
        if (
            path[0] not in zero_starts
            and not any(edge in zero_transitions for edge in zip(path, path[1:]))
            and all(allowed[t, i] for t, i in enumerate(path))
            and holds(rules, [STATES[i] for i in path])
        ):
            return True
    return False


def first_smallest(n, feasible):
    return next(
        list(chosen)
        for size in range(n + 1)
        for chosen in combinations(range(n), size)
        if not feasible(list(chosen))
    )


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=4, max_k=2),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.4]),
    st.sampled_from([0.0, 0.4]),
)
def test_smallest_conflict_by_brute_force(seed, constraints, n_steps, zeros, impossible):
    rng = np.random.default_rng(seed)
    startprob, transmat = random_chain(rng, 3, zeros)
    X = random_scores(rng, n_steps, 3, impossible)
    model = model_of((startprob, transmat), constraints)
    if model is None:
        return
    explanation = model.explain(X)
    every = feasible_paths(startprob, transmat, X, STATES, constraints)
    assert explanation.feasible == bool(every)
    assert isinstance(str(explanation), str) and isinstance(repr(explanation), str)
    if every:
        return
    allowed = ~np.isneginf(X)
    all_zeros = {
        "start": [i for i in range(3) if startprob[i] == 0],
        "transitions": [(i, j) for i in range(3) for j in range(3) if transmat[i, j] == 0],
        "observations": [t for t in range(n_steps) if not allowed[t].all()],
    }
    rules = model.constraints_
    items = [("rule", rule) for rule in rules]
    items += [(part, None) for part, found in all_zeros.items() if found]

    def feasible(picked, details=all_zeros):
        chosen = [items[k] for k in picked]
        parts = {part: details[part] if (part, None) in chosen else [] for part in all_zeros}
        mask = np.ones_like(allowed)
        mask[parts["observations"]] = allowed[parts["observations"]]
        kept = [rule for kind, rule in chosen if kind == "rule"]
        return exists(kept, parts["start"], parts["transitions"], mask)

    expected = first_smallest(len(items), feasible)
    assert explanation.smallest
    assert explanation.constraints == [items[k][1] for k in expected if items[k][0] == "rule"]
    assert explanation.model_parts == [items[k][0] for k in expected if items[k][0] != "rule"]
    assert len(explanation.reasons) >= len(explanation.constraints)

    # What is named within the parts of the model suffices, and nothing of it can be spared.
    details = {
        "start": [STATES.index(i) for i in explanation.starts],
        "transitions": [(STATES.index(i), STATES.index(j)) for i, j in explanation.transitions],
        "observations": list(explanation.steps),
    }
    assert not feasible(expected, details)
    for part, found in details.items():
        for k in range(len(found)):
            assert feasible(expected, details | {part: found[:k] + found[k + 1 :]})
    for t, labels in explanation.steps.items():
        assert labels == [STATES[i] for i in np.flatnonzero(allowed[t])]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), constraint_lists(STATES, max_size=3, max_k=2), st.integers(1, 4))
def test_position_by_brute_force(seed, constraints, n_steps):
    rng = np.random.default_rng(seed)
    chain, X = random_chain(rng, 3, 0.2), random_scores(rng, n_steps, 3, 0.4)
    model = model_of(chain, constraints)
    if model is None or feasible_paths(*chain, X, STATES, constraints):
        return
    explanation = model.explain(X)
    for t in range(n_steps):
        seen = np.zeros_like(X)
        seen[: t + 1] = X[: t + 1]
        if not feasible_paths(*chain, seen, STATES, constraints):
            assert explanation.position == t
            break
    assert explanation.position <= explanation.forward_position <= n_steps


# Sets of constraints that, from wherever they can still be satisfied, are within two more steps.
SHORT = [
    [],
    [Precedence("a", "b")],
    [Precedence("a", "b"), EndsIn("b")],
    [NoReentry("a"), AtLeastVisits("b", 1)],
    [Window("a", 1, 2), VisitBy("c", 2)],
    [AtMostVisits("a", 1), Window("b", 0, 2)],
    [Window("a", 2, 3), VisitBy("a", 3)],
]


@pytest.mark.parametrize("constraints", SHORT, ids=str)
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
def test_forward_position_by_brute_force(constraints, n_steps):
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        chain, X = random_chain(rng, 3), random_scores(rng, n_steps, 3, 0.6)
        model = model_of(chain, constraints)
        if feasible_paths(*chain, X, STATES, constraints):
            continue
        found += 1

        def survivors(t, X=X, chain=chain):
            """Whether a feasible path of some length begins with x_0..x_t, given the data."""
            for length in range(t + 1, t + 4):
                seen = np.zeros((length, 3))
                seen[: t + 1] = X[: t + 1]
                if feasible_paths(*chain, seen, STATES, constraints):
                    return True
            return False

        expected = next((t for t in range(n_steps) if not survivors(t)), n_steps)
        assert model.explain(X).forward_position == expected
    assert found


def test_text():
    model = ConstrainedHMM.from_parameters(
        [0.0, 0.5, 0.5],
        [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5]],
        states=STATES,
        constraints=[Occupancy("a", at_most=3), EndsIn("c"), Transitions(1), Precedence("b", "c")],
    )
    X = np.zeros((6, 3))
    X[4] = [0.0, -np.inf, -np.inf]
    text = str(model.explain(X))
    assert "Sequence 0 (6 steps) has no feasible path" in text
    assert "'a' is never followed by 'c' (transition probability zero)" in text
    assert "EndsIn('c')" in text and "Transitions(1)" not in text
    assert "step 4: only 'a' can have produced the observation" in text
    assert "dies at step 4" in text
    X[4] = -np.inf
    explanation = model.explain(X)
    assert explanation.reasons == ["step 4: no state can have produced the observation"]
    assert explanation.model_parts == ["observations"] and explanation.constraints == []
    assert str(model.explain(np.zeros((3, 3)))) == "Sequence 0 (3 steps) has a feasible path."


def test_forms_and_names():
    model = ConstrainedHMM.from_parameters(
        [1.0, 0.0], [[0.5, 0.5], [0.5, 0.5]], states=["a", "b"], constraints=[AtLeastVisits("b", 2)]
    )
    X = np.zeros((6, 2))
    explanations = model.explain(X, groups=["long"] * 4 + ["short"] * 2)
    assert [e.sequence for e in explanations] == ["long", "short"]
    assert [e.feasible for e in explanations] == [True, False]
    assert "Sequence 'short' (2 steps)" in str(explanations[1])
    assert [e.sequence for e in model.explain([X, X[:2]])] == [0, 1]
    assert model.explain(X[:3]).constraints == [AtLeastVisits("b", 2)]
    with pytest.raises(InfeasibleSequenceError, match="explain"):
        model.predict(X[:2])


def test_many_constraints():
    rules = [AtLeastVisits("a", k) for k in range(1, 20)]
    rules += [StartsIn("b"), AtMostVisits("b", 2), AtMostVisits("c", 1)]
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), states=STATES, constraints=rules[:1] + rules[19:]
    )
    assert model.explain(np.zeros((5, 3))).feasible
    model = model.with_constraints(rules[:19])
    explanation = model.explain(np.zeros((5, 3)))
    assert explanation.constraints == [AtLeastVisits("a", 4)] and explanation.smallest


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 7).flatmap(lambda n: st.tuples(
    st.just(n),
    st.lists(st.sets(st.integers(0, n - 1), min_size=1), min_size=1, max_size=5),
)))  # fmt: skip
def test_conflict_search(case):
    n, conflicts = case

    def feasible(items):
        return not any(conflict <= set(items) for conflict in conflicts)

    found, smallest = smallest_conflict(n, feasible)
    assert smallest and found == first_smallest(n, feasible)
    for budget in (0, 1, 3):
        cut, _ = smallest_conflict(n, feasible, max_tests=budget)
        assert not feasible(cut)
        assert all(feasible([k for k in cut if k != left]) for left in cut)
    part = irreducible(list(range(n)), feasible)
    assert set(part) in conflicts
