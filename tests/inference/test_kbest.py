from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM, InfeasibleSequenceError, InfeasibleSequenceWarning
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtLeastVisits, NoDwell, StartsIn, Window
from skchmm.emissions import Frames
from skchmm.inference.kbest import iterate_paths
from tests.oracles.chains import feasible_paths, random_chain, random_scores
from tests.oracles.strategies import constraint_lists

STATES = ["a", "b", "c"]


def feasible_model(chain, constraints, **params):
    """The model, None where no path of any length is feasible."""
    try:
        return ConstrainedHMM.from_parameters(
            *chain, states=STATES, constraints=constraints, **params
        )
    except ValueError:
        return None


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 10**6),
    constraint_lists(STATES, max_size=3),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.3]),
)
def test_all_paths_in_order(seed, constraints, n_steps, zeros):
    rng = np.random.default_rng(seed)
    chain, X = random_chain(rng, 3, zeros), random_scores(rng, n_steps, 3, zeros / 2)
    model = feasible_model(chain, constraints)
    if model is None:
        return
    expected = feasible_paths(*chain, X, STATES, constraints)
    if not expected:
        why = "explain" if constraints else "probability zero"
        with pytest.raises(InfeasibleSequenceError, match=why):
            model.kbest(X, 3)
        return
    found = model.kbest(X, len(expected) + 5)
    paths = [tuple(path.tolist()) for _, path in found]
    assert len(set(paths)) == len(paths)
    assert set(paths) == set(expected)
    values = [value for value, _ in found]
    assert all(a >= b for a, b in zip(values, values[1:]))
    np.testing.assert_allclose(values, [expected[path] for path in paths], atol=1e-10)
    log_prob, path = model.decode(X)
    assert log_prob == values[0] and tuple(path.tolist()) == paths[0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([None, NoDwell("a")]))
def test_equally_good_paths_come_in_the_order_of_their_last_labels(seed, n_steps, constraint):
    # Powers of two, so that equal products are equal numbers.
    scores = np.random.default_rng(seed).integers(-2, 1, size=(n_steps, 2)) * 64.0
    model = ConstrainedHMM.from_parameters(
        [0.5, 0.5], np.full((2, 2), 0.5), states=["a", "b"], constraints=constraint
    )
    found = [(-value, *path[::-1]) for value, path in model.kbest(scores, 2**n_steps)]
    assert found == sorted(found)


def test_further_paths_are_found_only_when_asked_for():
    rng = np.random.default_rng(0)
    model = feasible_model(random_chain(rng, 3), [AtLeastVisits("a", 3)])
    scores = random_scores(rng, 300, 3)
    paths = iterate_paths(model._chain(), Frames(scores), 0, 300)
    first = list(islice(paths, 40))
    assert len({path.tobytes() for _, path in first}) == 40
    again = list(islice(iterate_paths(model._chain(), Frames(scores), 0, 300), 60))
    assert all((a[1] == b[1]).all() and a[0] == b[0] for a, b in zip(first, again))
    for value, path in again:
        labels = [STATES[i] for i in path]
        known = model.with_constraints(None)
        clamped = np.full(scores.shape, -np.inf)
        clamped[np.arange(300), path] = scores[np.arange(300), path]
        assert known.decode(clamped)[0] == pytest.approx(value, abs=1e-9)
        assert model.controller_.accepts(labels)


def test_forms():
    rng = np.random.default_rng(1)
    model = feasible_model(random_chain(rng, 3), [Window("b", 1, 3)])
    A, B = random_scores(rng, 4, 3), random_scores(rng, 2, 3)
    alone = model.kbest(A, 2), model.kbest(B, 2)
    stacked = model.kbest(np.concatenate([A, B]), 2, lengths=[4, 2])
    grouped = model.kbest(np.concatenate([A, B]), 2, groups=[7] * 4 + [8] * 2)
    for several in (stacked, grouped, model.kbest([A, B], 2)):
        for found, expected in zip(several, alone, strict=True):
            for (value, path), (other_value, other_path) in zip(found, expected, strict=True):
                assert value == other_value
                assert (path == other_path).all()
    assert len(model.kbest([A], 2)) == 1
    with pytest.raises(ValueError, match="k must be"):
        model.kbest(A, 0)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("levels", [1, 10**6])
def test_many_sequences_get_what_each_gets_alone(k, levels):
    """With one level of scores most paths are tied; huge ones are answered apart."""
    rng = np.random.default_rng(3)
    model = feasible_model(
        ([0.5, 0.25, 0.25], [[0.5, 0.25, 0.25]] * 3), [AtLeastVisits("a", 2), NoDwell("b")]
    )
    X = [rng.integers(levels, size=(n, 3)) / 64 for n in (3, 40, 5, 4, 17, 30)]
    X[2] -= 1e12
    for found, alone in zip(model.kbest(X, k), X, strict=True):
        expected = list(islice(iterate_paths(model._chain(), Frames(alone), 0, len(alone)), k))
        assert [value for value, _ in found] == [value for value, _ in expected]
        for (_, path), (_, states) in zip(found, expected, strict=True):
            assert path.tolist() == [STATES[i] for i in states]


def test_infeasible_sequences_are_answered_without_the_constraints_if_one_says_so():
    rng = np.random.default_rng(2)
    chain, X = random_chain(rng, 3), random_scores(rng, 2, 3)
    model = feasible_model(chain, [AtLeastVisits("a", 2), StartsIn("a")], on_infeasible="warn")
    with pytest.warns(InfeasibleSequenceWarning, match="1 more"):
        found = model.kbest([X, X], 9)
    expected = feasible_paths(*chain, X, STATES)
    assert {tuple(path.tolist()) for _, path in found[0]} == set(expected)


RULES = [None, AtLeastVisits("a", 2), NoDwell("b"), [Window("c", 2, 4), AtLeastVisits("b", 1)]]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tied", [False, True])
def test_eight_sequences_at_a_time_are_as_one_by_one(rule, tied, instruction_sets):
    rng = np.random.default_rng(0)
    chain = random_chain(rng, 3, 0.2)
    table = rng.normal(size=(6, 3))
    if tied:
        chain, table = (np.full(3, 1 / 3), np.full((3, 3), 1 / 3)), rng.integers(-2, 1, (6, 3)) / 2
    table[0, 1] = -np.inf
    chain = ConstrainedHMM.from_parameters(*chain, states=STATES, constraints=rule)._chain()
    lengths = np.append(rng.integers(1, 40, 17), [70, 1, 2])
    offsets = np.append(0, lengths.cumsum())
    frames = Frames(table, rng.integers(6, size=offsets[-1]).astype(np.int32))
    labels, k = np.array(STATES), 12
    expected = [
        [(log_prob, labels[path].tolist()) for log_prob, path in islice(paths, k)]
        for paths in (iterate_paths(chain, frames, *steps) for steps in pairwise(offsets))
    ]
    assert k in map(len, expected)
    for instruction_set in instruction_sets.values():
        instructions.use_instruction_set(instruction_set)
        found = chain.best_paths(frames, offsets, k, labels)
        assert [[(p, path.tolist()) for p, path in paths] for paths in found] == expected


def test_more_paths_than_there_was_room_for():
    model = ConstrainedHMM.from_parameters(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), states=STATES)
    X = [np.zeros((n, 3)) for n in (5, 4, 1)]
    found = model.kbest(X, 500)
    assert [len(paths) for paths in found] == [3**5, 3**4, 3]
    assert all(len({tuple(path) for _, path in paths}) == len(paths) for paths in found)
