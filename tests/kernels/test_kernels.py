"""Kernels: every instruction set gives the same paths and the same probabilities."""

import numpy as np
import pytest

import skchmm
from skchmm._kernels.data.normal import diagonal_log_densities, full_log_densities
from skchmm._kernels.data.statistics import diagonal_moments, outer_moments
from skchmm._kernels.data.symbols import cells_in_context, code_letters, code_run
from skchmm._kernels.discrete.two_ended import two_ended
from skchmm._kernels.shared.layout import taken_together
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, CoolDown, ExactVisits, Segments, VisitBy
from skchmm.emissions import Frames
from skchmm.graph import AugmentedGraph
from skchmm.graph.augmented import WIDTH, Blocks
from skchmm.inference import chain as chains
from skchmm.inference import sums
from skchmm.inference.chain import Chain
from skchmm.inference.settings import settings as sizes

PROBLEMS = {
    "one state": (1, None),
    "five states": (5, None),
    "nine states": (9, None),
    "twenty states": (20, None),
    "thirty states": (30, None),
    "fifty states": (50, None),
    "counter": (4, ExactVisits(0, 9)),
    "long counter": (3, AtMostVisits(1, 60)),
    "segments": (3, Segments(14)),
    "timer": (6, CoolDown(2, 5)),
    "epochs": (5, [VisitBy(1, 20), CoolDown(0, 2)]),
}


def problem(name, ties=False):
    S, constraints = PROBLEMS[name]
    rng = np.random.default_rng(S)
    startprob, transmat = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S)
    if ties:
        startprob, transmat = np.full(S, 1 / S), np.full((S, S), 1 / S)
    controller = skchmm.compile(constraints, list(range(S)))
    graph = AugmentedGraph(controller, startprob > 0, transmat > 0)
    lengths = [40, 1, 300, 65, 64, 63]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.integers(-3, 0, (7, S)) * 1.0 if ties else np.log(rng.random((7, S)))
    index = rng.integers(0, 7, offsets[-1]).astype(np.int32)
    return Chain(graph, startprob, transmat), Frames(table, index), offsets


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("ties", [False, True])
def test_all_ways_to_compute_agree(name, ties, instruction_sets, monkeypatch):
    chain, frames, offsets = problem(name, ties)
    dense = Frames(frames.dense())
    answers = []
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        for form in (frames, dense):
            for bytes_, fill in ((1, 9), (1 << 20, 9), (1 << 20, 0)):
                for n_jobs in (1, 2):
                    monkeypatch.setattr(sizes, "table_bytes", bytes_)
                    monkeypatch.setattr(sizes, "lanes_fill", fill)
                    path, log_prob = chain.decode(form, offsets, n_jobs=n_jobs)
                    smoothed = chain.smooth(form, offsets, counts=True, n_jobs=n_jobs)
                    answers.append((path, log_prob, smoothed))
    feasible = np.isfinite(answers[0][1])
    steps = np.repeat(feasible, np.diff(offsets))
    for path, log_prob, smoothed in answers[1:]:
        np.testing.assert_array_equal(path[steps], answers[0][0][steps])
        np.testing.assert_array_equal(log_prob, answers[0][1])
        np.testing.assert_allclose(smoothed.log_z, answers[0][2].log_z, rtol=1e-12)
        np.testing.assert_allclose(
            smoothed.posteriors, answers[0][2].posteriors, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(
            smoothed.counts.transitions, answers[0][2].counts.transitions, rtol=1e-9, atol=1e-12
        )


def small_chain(S, rng, sparse):
    """A chain without constraints, with zeros where it is sparse; every state keeps an exit."""
    startprob, transmat = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S)
    if sparse:
        startprob[1:] = 0.0
        transmat *= (rng.random((S, S)) < 0.6) | np.eye(S, k=1, dtype=bool)
        transmat[-1, 0] = 1.0
    transmat /= transmat.sum(axis=1, keepdims=True)
    controller = skchmm.compile(None, list(range(S)))
    graph = AugmentedGraph(controller, startprob > 0, transmat > 0)
    return Chain(graph, startprob / startprob.sum(), transmat)


def forms(table, index):
    """The same frames as symbols, dense, and with a large table in another order."""
    order = np.random.default_rng(0).permutation(len(index))
    yield Frames(table, index)
    yield Frames(table[index])
    yield Frames(table[index][np.argsort(order)], order)


def left_over(chain, frames, offsets):
    """Which sequences the two-ended kernel leaves to the general one."""
    left = np.full(len(offsets) - 1, 7, dtype=np.uint8)
    everything = np.arange(len(left))
    index = None if frames.index is None else frames.index.astype(np.int32)
    posteriors = np.empty((frames.n_steps, frames.n_states))
    two_ended(
        chain.graph.layout, chain.weights, chain.smallest_weight, chain.start, frames.table, index,
        offsets, None, everything, np.empty(len(left)), left, posteriors,
    )  # fmt: skip
    return left.tolist()


def check_two_ended(chain, table, index, offsets, monkeypatch, instruction_sets, expected_left):
    """From both ends or not, on any instruction set: the answers are the same."""
    weights = np.random.default_rng(1).random(len(offsets) - 1)
    monkeypatch.setattr(sizes, "lanes_fill", 9)
    with monkeypatch.context() as patch:
        patch.setattr(chains, "handles", lambda layout: False)
        patch.setattr(sums, "handles", lambda layout: False)
        expected = chain.smooth(Frames(table, index), offsets, seq_weights=weights, counts=True)
    for name, k in instruction_sets.items():
        instructions.use_instruction_set(k)
        assert chains.handles(chain.graph.layout) == (name != "plain")
        for frames in forms(table, index):
            if name != "plain":
                assert left_over(chain, frames, offsets) == expected_left
            for n_jobs in (1, 2):
                args = {"seq_weights": weights, "n_jobs": n_jobs}
                counted = chain.smooth(frames, offsets, counts=True, **args)
                plain = chain.smooth(frames, offsets, **args)
                log_z = chain.log_likelihood(frames, offsets, n_jobs=n_jobs)
                for each in (counted.log_z, plain.log_z, log_z):
                    np.testing.assert_allclose(each, expected.log_z, rtol=1e-12, atol=1e-12)
                for each in (counted, plain):
                    np.testing.assert_allclose(each.posteriors, expected.posteriors, atol=1e-12)
                np.testing.assert_allclose(
                    counted.counts.transitions, expected.counts.transitions, rtol=1e-10
                )


@pytest.mark.parametrize("S", range(1, 9))
@pytest.mark.parametrize("sparse", [False, True])
def test_both_ends_at_once(S, sparse, instruction_sets, monkeypatch):
    rng = np.random.default_rng(S)
    chain = small_chain(S, rng, sparse)
    lengths = [1, 2, 3, 4, 17, 31, 128, 129, 130, 131, 500]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = np.log(rng.random((7, S))) * 5 - 20
    if sparse and S > 2:
        table[1, ::3] = -np.inf
    index = rng.integers(0, 7, offsets[-1]).astype(np.int32)
    index[offsets[:-1]] = 3  # where all states are possible
    feasible = chain.log_likelihood(Frames(table, index), offsets) > -np.inf
    assert feasible.sum() > 5
    check_two_ended(
        chain, table, index, offsets, monkeypatch, instruction_sets, (~feasible * 1).tolist()
    )


def test_both_ends_give_up_what_they_cannot_answer(instruction_sets, monkeypatch):
    """Impossible steps, ratios beyond any double, and states that fall behind for ever."""
    rng = np.random.default_rng(0)
    table = np.log(rng.random((7, 5)))
    table[1] = -np.inf
    table[2, 3] = -800.0
    table[3, 1:] = -150.0
    table[4] = [-np.inf, -5000.0, -5000.0, -np.inf, -5000.0]
    lengths = np.array([5, 40, 1, 90, 300, 2, 200, 1])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    index = np.full(offsets[-1], 5, dtype=np.int32)
    for s, symbol in ((1, 1), (2, 1), (3, 2), (4, 4)):
        index[offsets[s] + lengths[s] // 2] = symbol
    index[offsets[6] : offsets[7]] = 3
    mixing = small_chain(5, rng, False)
    stays = AugmentedGraph(mixing.graph.controller, mixing.start > 0, np.eye(5) > 0)
    staying = Chain(stays, mixing.start, np.eye(5))
    for chain, falls_behind in ((mixing, 0), (staying, 1)):
        left = [0, 1, 1, 1, 0, 0, falls_behind, 0]
        check_two_ended(chain, table, index, offsets, monkeypatch, instruction_sets, left)


def test_rare_transitions_make_ratios_lossy(instruction_sets, monkeypatch):
    rng = np.random.default_rng(0)
    chain = small_chain(3, rng, False)
    transmat = np.array([[1 - 1e-60, 1e-60, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    graph = AugmentedGraph(chain.graph.controller, chain.start > 0, transmat > 0)
    table = np.array([[0.0, -1.0, -2.0], [0.0, -150.0, -2.0], [0.0, -100.0, -2.0]])
    index = np.repeat([0, 1, 2], 30).astype(np.int32)
    chain = Chain(graph, chain.start, transmat)
    offsets = np.array([0, 30, 60, 90])
    check_two_ended(chain, table, index, offsets, monkeypatch, instruction_sets, [0, 1, 0])


def test_exponentials(instruction_sets):
    """One step and two states: the posterior of the second is e^-x / (1 + e^-x)."""
    x = np.concatenate([np.linspace(0, 2, 999), np.linspace(0, 229.9, 9999), [1e-300, np.inf]])
    chain = small_chain(2, np.random.default_rng(0), False)
    chain = Chain(chain.graph, [0.5, 0.5], chain.transmat)
    frames = Frames(np.column_stack([np.full(len(x), 7.0), 7.0 - x]))
    ratio = np.exp(frames.table[:, 1] - frames.table[:, 0])
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        answer = chain.smooth(frames, np.arange(len(x) + 1)).posteriors
        np.testing.assert_allclose(answer[:, 1], ratio / (1 + ratio), rtol=1e-15)


@pytest.mark.parametrize("fill", [0, 9])
def test_winners_noted_and_found_again_agree(fill, monkeypatch):
    """Small graphs note the winner of every step, large ones find it again."""
    monkeypatch.setattr(sizes, "lanes_fill", fill)
    for name in PROBLEMS:
        chain, frames, offsets = problem(name, ties=True)
        path, log_prob = chain.decode(frames, offsets)
        for s in np.flatnonzero(np.isfinite(log_prob)):
            values = table_of_values(chain, frames.dense()[offsets[s] : offsets[s + 1]])
            expected = trace_back(chain, values)
            np.testing.assert_array_equal(path[offsets[s] : offsets[s + 1]], expected)


def table_of_values(chain, log_b):
    g, rows = chain.graph, []
    for t, frame in enumerate(log_b):
        row = np.full(g.n_nodes, -np.inf)
        if t == 0:
            for i, m in enumerate(g.start_nodes):
                if m >= 0:
                    row[m] = chain.log_start[i]
        else:
            e = np.searchsorted(g.epochs, t, side="right") - 1
            for m in range(g.n_nodes):
                into = slice(g.indptr[e, m], g.indptr[e, m + 1])
                scores = rows[-1][g.sources[into]] + chain.log_weights[into]
                row[m] = scores.max(initial=-np.inf)
        rows.append(row + frame[g.node_states])
    return rows


def trace_back(chain, rows):
    """Of the nodes on best paths, those of the lowest state, and of the best ones before them."""
    g = chain.graph
    ends = np.where(g.accept, rows[-1], -np.inf)
    nodes = lowest(g, np.flatnonzero(ends == ends.max()))
    path = [g.node_states[nodes[0]]]
    for t in range(len(rows) - 1, 0, -1):
        e = np.searchsorted(g.epochs, t, side="right") - 1
        found = set()
        for m in nodes:
            into = slice(g.indptr[e, m], g.indptr[e, m + 1])
            values = rows[t - 1][g.sources[into]] + chain.log_weights[into]
            found |= set(g.sources[into][values == values.max()])
        nodes = lowest(g, np.array(sorted(found)))
        path.append(g.node_states[nodes[0]])
    return path[::-1]


def lowest(graph, nodes):
    return nodes[graph.node_states[nodes] == graph.node_states[nodes].min()]


def test_blocks_hold_every_edge_once():
    rng = np.random.default_rng(0)
    for n in (1, 7, 8, 9, 40):
        edges = np.argwhere(rng.random((n, n)) < 0.3)
        blocks = Blocks(n, [(edges[:, 0], edges[:, 1])])
        weights = blocks.spread(np.arange(1.0, len(edges) + 1), 0.0).reshape(-1, WIDTH)
        found = np.zeros((n, n))
        for i in range(blocks.n_blocks):
            for k in range(blocks.start[i], blocks.start[i + 1]):
                for lane in np.flatnonzero(weights[k]):
                    shift = lane if k >= blocks.shifted[i] else 0
                    found[blocks.source[k] + shift, WIDTH * i + lane] += weights[k, lane]
        expected = np.zeros((n, n))
        expected[edges[:, 0], edges[:, 1]] = np.arange(1.0, len(edges) + 1)
        np.testing.assert_array_equal(found, expected)


def together(n, epoch_edges):
    blocks = Blocks(n, epoch_edges)
    return taken_together(blocks.n_blocks, blocks.start, blocks.shifted, blocks.source).tolist()


def test_blocks_of_rows_from_the_same_sources_are_taken_together():
    everywhere = np.argwhere(np.ones((72, 72)))
    assert together(72, [everywhere.T, everywhere.T]) == 2 * (9 * [3])  # two epochs
    assert together(50, [everywhere[(everywhere < 50).all(axis=1)].T]) == 4 * [4] + 3 * [3]
    # A source that only the fourth block has, and diagonals in the sixth.
    some = np.ones((56, 56), dtype=bool)
    some[55, :24] = some[55, 32:] = some[:, 40:48] = False
    some[np.arange(40, 48), np.arange(40, 48)] = True
    assert together(56, [np.argwhere(some).T]) == [3, 3, 3, 1, 1, 1, 1]


def test_counters_become_diagonals_and_dense_graphs_rows():
    chain, *_ = problem("long counter")
    assert len(chain.graph.ahead.source) < len(chain.graph.sources) / 4
    chain, *_ = problem("thirty states")
    assert len(chain.graph.ahead.source) == 30 * 4


@pytest.mark.parametrize("shape", [(1, 1, 1), (50, 3, 5), (20, 2, 8), (9, 4, 17)])
def test_gaussian_densities(shape, instruction_sets):
    n, d, S = shape
    rng = np.random.default_rng(0)
    X, means = rng.normal(size=(n, d)), rng.normal(size=(S, d))
    variances = rng.random((S, d)) + 0.1
    X[rng.random((n, d)) < 0.2] = np.nan
    z = (X[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    expected = -0.5 * np.nansum(z, axis=2)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        np.testing.assert_allclose(diagonal_log_densities(X, means, variances), expected)


@pytest.mark.parametrize("shape", [(1, 1, 1), (50, 3, 5), (20, 16, 8), (9, 4, 17)])
def test_full_gaussian_densities(shape, instruction_sets):
    n, d, S = shape
    rng = np.random.default_rng(0)
    X, means = rng.normal(size=(n, d)), rng.normal(size=(S, d))
    factors = np.tril(rng.normal(size=(S, d, d))) + 3 * np.eye(d)
    covars = factors @ np.swapaxes(factors, 1, 2)
    whiten = np.linalg.inv(np.linalg.cholesky(covars))
    norms = np.linalg.slogdet(2 * np.pi * covars)[1]
    z = np.einsum("sij,tsj->tsi", whiten, X[:, None] - means)
    expected = -0.5 * (norms + (z**2).sum(axis=2))
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        found = full_log_densities(X, means, whiten, norms)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 2), (600, 3, 5), (300, 4, 8), (257, 5, 17)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_moments(shape, missing, instruction_sets):
    n, d, S = shape
    rng = np.random.default_rng(0)
    X, weights, shift = rng.normal(size=(n, d)) + 5, rng.random((n, S)), rng.normal(size=d) + 5
    X[rng.random((n, d)) < missing] = np.nan
    seen, centred = ~np.isnan(X) * 1.0, np.nan_to_num(X - shift)
    expected = weights.T @ seen, weights.T @ centred, weights.T @ centred**2
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        for found, right in zip(diagonal_moments(X, weights, shift), expected):
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12 * n)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 2), (600, 3, 5), (300, 4, 8), (129, 16, 17)])
def test_outer_moments(shape, instruction_sets):
    n, d, S = shape
    rng = np.random.default_rng(0)
    X, weights, shift = rng.normal(size=(n, d)) + 5, rng.random((n, S)), rng.normal(size=d) + 5
    centred = X - shift
    products = np.einsum("ts,ti,tj->sij", weights, centred, centred)
    expected = weights.sum(axis=0), weights.T @ centred, products
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        for found, right in zip(outer_moments(X, weights, shift), expected):
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12 * n)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_codes_of_whole_numbers(dtype):
    rng = np.random.default_rng(0)
    columns = rng.integers(-3, 5, (101, 2)).astype(dtype)
    columns.setflags(write=False)
    for column in (columns[:, 1], np.ascontiguousarray(columns[:, 0]), columns[:0, 0]):
        codes = code_run(column, -3, 8)
        assert codes.dtype == np.int32
        np.testing.assert_array_equal(codes, column + 3)
    info = np.iinfo(dtype)
    for stranger in (-4, 5, info.min, info.max):
        column = columns[:, 0].copy()
        column[57] = stranger
        assert code_run(column, -3, 8) is None
    assert code_run(np.array([info.max], dtype=dtype), int(info.min), 8) is None
    np.testing.assert_array_equal(code_run(np.array([info.max], dtype=dtype), info.max - 2, 3), [2])


def test_codes_of_letters():
    table = np.full(0x1F601, -1, dtype=np.int32)
    table[[ord(letter) for letter in "ACGT\0\U0001f600"]] = range(6)
    known = np.array(["A", "C", "G", "T", "", "\U0001f600"])
    order = np.random.default_rng(0).integers(0, 6, (40_001, 2))
    columns = known[order]
    columns.setflags(write=False)
    for k in (0, 1):
        for column in (columns[:, k], np.ascontiguousarray(columns[:, k]), columns[::-3, k]):
            codes = code_letters(column, table)
            assert codes.dtype == np.int32
            np.testing.assert_array_equal(codes, order[:, k][:: -3 if len(column) < 40_000 else 1])
    for stranger in ("N", "\U0010ffff"):
        column = columns[:, 0].copy()
        column[-1] = stranger
        assert code_letters(column, table) is None
    assert len(code_letters(known[:0], table)) == 0
    with pytest.raises(ValueError, match="one character"):
        code_letters(np.array(["AC"]), table)
    with pytest.raises(ValueError, match="one character"):
        code_letters(columns, table)


@pytest.mark.parametrize("offsets", [[0, 2], [1, 3], [0, 4], [0, 5, 3], [0, -1, 3], [0], []])
def test_contexts_of_sequences_that_are_not_there(offsets):
    codes = np.array([0, 1, 0], dtype=np.int32)
    with pytest.raises(ValueError, match="offsets must rise from 0 to 3"):
        cells_in_context(codes, np.array(offsets, dtype=np.int64), 2, 1, 6)
