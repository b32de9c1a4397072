"""`filter_proba` in probabilities is what it is by logarithms, however small the numbers get."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skchmm import ConstrainedHMM
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, MinDuration, Precedence, Window
from skchmm.emissions.base import Frames
from skchmm.inference import filtering

RULES = [None, AtMostVisits(0, 2), Window(0, 0, 5)]
SCALES = [1, 30, 300, 3000, 1e14]


@pytest.mark.filterwarnings("ignore::skchmm.exceptions.InfeasibleSequenceWarning")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", RULES)
def test_probabilities_against_logarithms(rule, scale, monkeypatch):
    rng = np.random.default_rng(int(scale) % 97)
    for holes in (0.0, 0.05):
        S = int(rng.integers(2, 12))
        A = rng.dirichlet(np.full(S, 0.3), S)
        A[A < 1e-3] = 0
        A /= A.sum(axis=1, keepdims=True)
        X = [scale * rng.normal(size=(n, S)) for n in (1, 2, 150, *[40] * 9)]
        for x in X:
            x[rng.random(x.shape) < holes] = -np.inf
            x[np.isneginf(x).all(axis=1), 1] = 0.0

        def answers(S=S, A=A, X=X):
            model = ConstrainedHMM.from_parameters(
                np.full(S, 1 / S), A, constraints=rule, on_infeasible="warn"
            )
            try:
                return np.concatenate(model.filter_proba(X))
            except ValueError as error:  # where observations and transitions exclude all paths
                return str(error)

        found = answers()
        with monkeypatch.context() as patch:
            patch.setattr(filtering, "SMALLEST_IN_SUMS", 2.0)
            expected = answers()
        if isinstance(expected, str):
            assert found == expected
        else:
            assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_frames_by_symbol_and_by_step_agree():
    rng = np.random.default_rng(0)
    table = 40 * rng.normal(size=(7, 4))
    symbols = rng.integers(7, size=500)
    A = rng.dirichlet(np.ones(4), 4)
    model = ConstrainedHMM.from_parameters(A[0], A, constraints=AtMostVisits(0, 50))
    rows = model.filter_proba(table[symbols])
    by_symbol = model._chain().filter(Frames(table, symbols), np.array([0, 500]))
    assert_allclose(by_symbol, rows, rtol=0, atol=1e-12)
    assert_allclose(rows.sum(axis=1), 1)


def test_nodes_that_drift_apart_and_come_back(monkeypatch):
    """Rules keep nodes alive that are 1e-200 of the others, and that may be all that is left."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        S, T = int(rng.integers(2, 6)), int(rng.choice([40, 300]))
        A = rng.dirichlet(np.full(S, 0.3), S)
        A[A < 1e-3] = 0
        A /= A.sum(axis=1, keepdims=True)
        rule = [Precedence(0, 1), AtMostVisits(1, 3)] if seed % 2 else MinDuration(0, 3)
        table = 40 * rng.normal(size=(3 if seed % 3 else T, S))
        table[rng.random(table.shape) < 0.1] = -np.inf
        table[np.isneginf(table).all(axis=1), 0] = 0.0
        frames = Frames(table, rng.integers(len(table), size=T))
        chain = ConstrainedHMM.from_parameters(np.full(S, 1 / S), A, constraints=rule)._chain()
        found = chain.filter(frames, np.array([0, 7, T]))
        with monkeypatch.context() as patch:
            patch.setattr(filtering, "SMALLEST_IN_SUMS", 2.0)
            expected = chain.filter(frames, np.array([0, 7, T]))
        # logarithms of this size have lost some digits
        assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_definition():
    """P(x_t | y_0..y_t, some completion is feasible), by going through all paths."""
    rng = np.random.default_rng(0)
    for scale in (1, 100):
        S, T = 3, 6
        A, frames = rng.dirichlet(np.ones(S), S), scale * rng.normal(size=(T, S))
        rule = [AtMostVisits(0, 2), Precedence(0, 1)]
        model = ConstrainedHMM.from_parameters(A[0], A, constraints=rule)
        accepts, alive = model.controller_.accepts, set()
        for path in product(range(S), repeat=T):
            if accepts(path):
                alive.update(path[:t] for t in range(1, T + 1))
        expected = np.full((T, S), -np.inf)
        for path in alive:
            score = np.log(A[0, path[0]]) + sum(frames[t, i] for t, i in enumerate(path))
            score += sum(np.log(A[i, j]) for i, j in pairwise(path))
            t = len(path) - 1
            expected[t, path[-1]] = np.logaddexp(expected[t, path[-1]], score)
        expected = np.exp(expected - np.logaddexp.reduce(expected, axis=1, keepdims=True))
        assert_allclose(model.filter_proba(frames), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rule", [None, Precedence(0, 1), AtMostVisits(2, 4)])
def test_eight_sequences_at_a_time_are_as_one_by_one(rule, instruction_sets, monkeypatch):
    rng = np.random.default_rng(0)
    for S, longest in ((2, 70), (3, 40), (4, 40), (5, 3000), (6, 9), (7, 9), (8, 40), (9, 40),
                       (17, 33)):  # fmt: skip
        A = rng.dirichlet(np.ones(S), S)
        chain = ConstrainedHMM.from_parameters(
            A[0], A, constraints=rule if S > 2 else None
        )._chain()
        lengths = np.append(rng.integers(1, longest, 18), [longest, 1, 1])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        table = np.log(rng.dirichlet(np.ones(S), 6).clip(1e-9))
        table[0, 1:] = -np.inf  # only one state is possible
        frames = Frames(table, rng.integers(S > 2, 6, size=offsets[-1]).astype(np.int32))
        with monkeypatch.context() as patch:
            patch.setattr(filtering, "lanes_order", lambda *_: None)
            expected = chain.filter(frames, offsets)
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            for n_jobs, given in product((1, 2), (frames, Frames(frames.dense()))):
                found = chain.filter(given, offsets, n_jobs=n_jobs)
                assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gone", [[0], [2], [1, 4], [3, 4]])
def test_a_state_without_a_node_has_no_mass_in_lanes(gone, instruction_sets):
    rng = np.random.default_rng(0)
    for rule in (None, AtMostVisits([0, 2, 3], 2)):
        start, A = np.full(5, 0.2), rng.dirichlet(np.ones(5), 5)
        start[gone], A[:, gone] = 0, 0
        start, A = start / start.sum(), A / A.sum(axis=1, keepdims=True)
        chain = ConstrainedHMM.from_parameters(start, A, constraints=rule)._chain()
        table, index = rng.normal(size=(4, 5)), rng.integers(4, size=90).astype(np.int32)
        offsets = np.arange(0, 91, 5)
        expected = [chain.filter(Frames(table, index[a:b]), np.array([0, b - a]))
                    for a, b in pairwise(offsets)]  # fmt: skip
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            found = chain.filter(Frames(table, index), offsets)
            assert_allclose(found, np.concatenate(expected), rtol=0, atol=1e-12)
            assert (found[:, gone] == 0).all()


@pytest.mark.parametrize("by_symbol", [True, False])
def test_sequences_that_lanes_cannot_hold_are_done_again(by_symbol, monkeypatch):
    """Next to them, the others stay as they are; a sequence that is not possible is NaN."""
    A = np.array([[0.5, 0.5, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]])
    chain = ConstrainedHMM.from_parameters(A[0], A)._chain()
    table = np.log([[0.9, 0.1, 0.1], [1.0, 1e-9, 1e-9], [1.0, 1.0, 1.0]])
    table[2, :2] = -np.inf
    lengths = [400, 400, 30, 30, 30, 30, 30, 30, 30]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    index = np.zeros(offsets[-1], dtype=np.int32)
    index[offsets[0] : offsets[1]] = 1  # the first state stays, by far, and ends nowhere else
    index[offsets[1] - 1] = 2
    index[offsets[3]] = 2  # nothing starts there
    seen = []

    def one_by_one(*args, **params):
        seen.append(args[12])
        return causal_sums(*args, **params)

    causal_sums = filtering.causal_sums
    frames = Frames(table, index) if by_symbol else Frames(table[index])
    with monkeypatch.context() as patch:
        patch.setattr(filtering, "causal_sums", one_by_one)
        found = chain.filter(frames, offsets)
        patch.setattr(filtering, "SMALLEST_IN_SUMS", 2.0)
        expected = chain.filter(frames, offsets)
    assert 3 in seen
    assert 2 not in seen
    assert np.isnan(found[offsets[3] : offsets[4]]).all()
    assert_allclose(found, expected, rtol=0, atol=1e-12)
