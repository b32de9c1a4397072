"""Log-likelihoods as probabilities that doubles can hold."""

import numpy as np
import pytest

import skchmm
from skchmm._kernels.shared.scaling import scale_rows
from skchmm._kernels.simd import instructions
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.inference.chain import Chain


@pytest.mark.parametrize("n_states", [1, 3, 8, 11, 16, 20])
@pytest.mark.parametrize("in_place", [False, True])
def test_rows_divided_by_their_largest(n_states, in_place, instruction_sets):
    rng = np.random.default_rng(n_states)
    logs = rng.normal(scale=10.0 ** rng.integers(0, 3, (2000, 1)), size=(2000, n_states))
    logs[rng.random(logs.shape) < 0.1] = -np.inf
    logs[rng.random(logs.shape) < 0.02] -= 720.0  # what is left of these is no normal number
    logs[7] = -np.inf
    top = logs.max(axis=1)
    ratios = logs - np.where(np.isfinite(top), top, 0.0)[:, None]
    for level in instruction_sets.values():
        instructions.use_instruction_set(level)
        room = np.full(logs.shape, np.nan) if in_place else None
        table, row_max, lossy = scale_rows(logs, 1e-3, room)
        assert not in_place or table is room
        np.testing.assert_array_equal(row_max, top)
        np.testing.assert_allclose(table, np.exp(ratios), rtol=1e-15, atol=1e-323)
        small = (ratios < -230.0) & (ratios > -np.inf)
        np.testing.assert_array_equal(lossy, small.any(axis=1))


@pytest.mark.parametrize("n_sequences", [3, 9, 20])
def test_marginals_stay_where_another_kernel_takes_over(n_sequences):
    """Scores that lanes cannot hold go on to the next kernel; the other rows are left alone."""
    S, T = 20, 70
    rng = np.random.default_rng(n_sequences)
    controller = skchmm.compile(None, list(range(S)))
    graph = AugmentedGraph(controller, np.full(S, True), np.full((S, S), True))
    chain = Chain(graph, rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S))
    logs = np.log(rng.random((n_sequences * T, S)))
    logs[T + 5, 3] = -3e8
    together = chain.smooth(Frames(logs), np.arange(n_sequences + 1) * T)
    for s in range(n_sequences):
        alone = chain.smooth(Frames(logs[s * T : (s + 1) * T]), np.array([0, T]))
        np.testing.assert_allclose(
            together.posteriors[s * T : (s + 1) * T], alone.posteriors, rtol=0, atol=1e-12
        )
