"""Eight sequences at a time: the same answers as one at a time, whatever is in the other lanes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skchmm
from skchmm import ConstrainedHMM
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, EndsIn, ExactVisits, Precedence, StartsIn
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.inference import schedule, sums
from skchmm.inference.chain import Chain
from skchmm.inference.settings import settings as sizes
from tests.oracles.strategies import compositions

STATES = ["A", "B", "C", "D"]


def in_log_space(chain, frames, offsets, weights=None):
    with pytest.MonkeyPatch.context() as patch:
        for way in ("lanes", "two_ended", "blocks", "lanes_again"):
            patch.setattr(sums.Sums, way, lambda self, chosen, *_: chosen)
        return chain.smooth(frames, offsets, seq_weights=weights, counts=True)


def one_at_a_time(chain, frames, offsets):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "lanes_fill", 9)
        return chain.decode(frames, offsets)


def in_lanes(chain, frames, offsets, weights=None, n_jobs=None):
    """Everything that lanes answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "lanes_fill", 0)
        patch.setattr(sizes, "lanes_bytes", 1 << 26)
        if chain.graph.n_edges > 0:
            patch.setattr(sums.Sums, "blocks", None)  # they leave nothing
        args = {"n_jobs": n_jobs}
        path, log_prob = chain.decode(frames, offsets, **args)
        smoothed = chain.smooth(frames, offsets, seq_weights=weights, counts=True, **args)
        without = chain.smooth(frames, offsets, **args)
        log_z = chain.log_likelihood(frames, offsets, **args)
    np.testing.assert_array_equal(without.posteriors, smoothed.posteriors)
    np.testing.assert_allclose(log_z, smoothed.log_z, rtol=1e-12)
    return path, log_prob, smoothed


def in_chunks(chain, frames, offsets, chunk, weights=None):
    """What lanes answer where only some steps are kept and the others computed twice."""
    with pytest.MonkeyPatch.context() as patch:
        for way in ("lanes", "two_ended", "blocks"):
            patch.setattr(sums.Sums, way, lambda self, chosen: chosen)
        patch.setattr(sums, "_lanes_chunk", lambda *_: chunk)
        if chain.graph.n_edges > 0:
            patch.setattr(sums.Sums, "log_space", None)  # nothing is left for it
        return chain.smooth(frames, offsets, seq_weights=weights, counts=True)


def check_smoothed(found, truth, rtol=1e-8):
    np.testing.assert_allclose(found.log_z, truth.log_z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.posteriors, truth.posteriors, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(
        found.counts.transitions, truth.counts.transitions, rtol=rtol, atol=1e-12
    )
    known = truth.posteriors[~np.isnan(truth.posteriors)]
    seen = found.posteriors[~np.isnan(found.posteriors)]
    # Below 1e-100 a marginal may be an upper bound.
    assert seen[known == 0.0].max(initial=0.0) < 1e-100


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_problems(data):
    S = data.draw(st.integers(1, 4))
    states = STATES[:S]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    lengths = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=20))
    scale = data.draw(st.sampled_from([0.1, 1.0, 10.0, 40.0, 200.0, 5000.0]))
    start = data.draw(st.sampled_from([1.0, 0.01]))  # 0.01: some are 1e-100
    zeros = data.draw(st.sampled_from([0.0, 0.05, 0.3]))
    constraints = data.draw(st.lists(compositions(states, depth=1), max_size=2))
    try:
        model = ConstrainedHMM.from_parameters(
            rng.dirichlet(np.full(S, start)), rng.dirichlet(np.ones(S), size=S), states=states,
            constraints=constraints,
        )  # fmt: skip
    except ValueError as error:
        assert "no path" in str(error).lower()
        return
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], S)) * scale
    table[rng.random(table.shape) < zeros] = -np.inf
    frames = Frames(table)
    if data.draw(st.booleans()):
        frames = Frames(table[:7], rng.integers(0, min(7, len(table)), offsets[-1]))
    chain, weights = model._chain(), rng.random(len(lengths))
    truth = in_log_space(chain, frames, offsets, weights)
    best, best_prob = one_at_a_time(chain, frames, offsets)
    path, log_prob, found = in_lanes(chain, frames, offsets, weights)
    check_smoothed(found, truth)
    chunk = data.draw(st.integers(1, 45))
    check_smoothed(in_chunks(chain, frames, offsets, chunk, weights), truth)
    np.testing.assert_array_equal(log_prob, best_prob)
    feasible = np.repeat(np.isfinite(best_prob), lengths)
    np.testing.assert_array_equal(path[feasible], best[feasible])


@pytest.mark.parametrize("scale", [3.0, 18.0, 100.0, 3000.0])
@pytest.mark.parametrize("ordered", [False, True])
def test_nodes_that_drift_apart(ordered, scale, instruction_sets):
    """Rules that only lead forward: rows span hundreds of orders of magnitude that all count."""
    rng = np.random.default_rng(0)
    rules = [ExactVisits(k, 1) for k in range(6)]
    if ordered:
        rules += [Precedence(k, k + 1) for k in range(5)]
    controller = skchmm.compile(rules, list(range(6)))
    transmat = 0.8 * np.eye(6) + 0.2 / 6
    graph = AugmentedGraph(controller, np.ones(6) > 0, transmat > 0)
    chain = Chain(graph, np.ones(6) / 6, transmat)
    lengths = [400, 300, 7, 300, 380, 6, 350, 290, 310, 6, 200]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    logs = [rng.normal(size=(n, 6)) * scale for n in lengths]
    for k, log_b in enumerate(logs):  # each follows its own order of the states, but not strictly
        order = np.arange(6) if ordered else rng.permutation(6)
        log_b[np.arange(len(log_b)), order[np.arange(len(log_b)) * 6 // len(log_b)]] += 2 * scale
        log_b[rng.random(log_b.shape) < 0.02 * (k % 2)] = -np.inf
    frames = Frames(np.concatenate(logs))
    truth = in_log_space(chain, frames, offsets)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        for n_jobs in (1, 2):
            check_smoothed(in_lanes(chain, frames, offsets, n_jobs=n_jobs)[2], truth)
        for chunk in (1, 7, 100, 350):
            check_smoothed(in_chunks(chain, frames, offsets, chunk), truth)


def test_an_extreme_lane_does_not_touch_the_others():
    rng = np.random.default_rng(0)
    lengths = [50] * 9
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], 3))
    free = ConstrainedHMM.from_parameters(np.full(3, 1 / 3), np.full((3, 3), 1 / 3))
    chain = free._chain()
    calm = in_lanes(chain, Frames(table), offsets)[2]
    table[offsets[2] + 10, 1] = -4000.0
    table[offsets[4] + 3] = -np.inf  # impossible
    found = in_lanes(chain, Frames(table), offsets)[2]
    assert np.isneginf(found.log_z).tolist() == [s == 4 for s in range(9)]
    check_smoothed(found, in_log_space(chain, Frames(table), offsets))
    others = np.repeat([s not in (2, 4) for s in range(9)], 50)
    np.testing.assert_allclose(found.posteriors[others], calm.posteriors[others], rtol=1e-13)


def test_a_forced_path_through_the_worst_of_all():
    """The end is reached only through a state that a step makes e^-3000 times less likely."""
    transmat = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    model = ConstrainedHMM.from_parameters([1.0, 0.0, 0.0], transmat, constraints=EndsIn(2))
    chain, offsets = model._chain(), np.array([0, 3, 6])
    table = np.zeros((6, 3))
    table[1, 1] = -3000.0
    found = in_lanes(chain, Frames(table), offsets)[2]
    np.testing.assert_allclose(found.log_z, np.log(0.25) - np.array([3000.0, 0.0]))
    np.testing.assert_allclose(found.posteriors[:3], np.eye(3), atol=1e-15)


def test_what_the_rules_forbid_has_probability_zero():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) * 5 for n in (30, 40, 25, 30, 31)]
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), constraints=[StartsIn(1), AtMostVisits(1, 1)]
    )
    for posteriors in model.predict_proba(X):
        assert posteriors[0, [0, 2]].tolist() == [0.0, 0.0]
        np.testing.assert_allclose(posteriors[0, 1], 1.0, rtol=1e-15)
        assert np.all(np.diff(posteriors[:, 1]) <= 1e-12)  # once left, it is not come back to


def test_lanes_are_used_where_they_pay():
    def order(*lengths):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return schedule.lanes_order(offsets, 24)

    assert order(100) is None
    assert order(100, 1, 1, 1) is None
    assert order(100, 10**6) is None
    found = order(*[10] * 9, 30, 28)
    assert found.tolist() == [9, 10, *range(9)]  # longest first, else in order


def test_long_sequences_under_counting_rules_stay_out_of_log_space(monkeypatch):
    """Memory that grows with the square root of the steps, not with the steps."""
    monkeypatch.setattr(sums.Sums, "log_space", None)
    monkeypatch.setattr(sizes, "lanes_bytes_at_most", 1 << 23)
    rng = np.random.default_rng(0)
    model = ConstrainedHMM.from_parameters(
        np.full(3, 1 / 3), np.full((3, 3), 1 / 3), constraints=[ExactVisits(0, 40)]
    )
    n = 6000
    assert 64 * 5 * model.graph_.n_nodes * n > 1 << 27
    assert sums._lanes_chunk(n, model.graph_.n_nodes, 3) < 100
    posteriors = model.predict_proba(rng.normal(size=(n, 3)) - [3, 0, 0])
    # 40 separate visits at least, whatever the observations say
    assert posteriors[:, 0].sum() >= 40 - 1e-9
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0, rtol=1e-10)
    assert sums._lanes_chunk(10**6, 10**6, 3) is None
    assert sums._lanes_chunk(10**3, 10, 10**4) == 1
