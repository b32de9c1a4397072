"""Graphs in which no path comes back to a node but by its own loop: in lanes, node after node."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skchmm import ConstrainedHMM
from skchmm._kernels.shared.layout import one_way_order
from skchmm._kernels.simd import instructions
from skchmm.constraints import NoDwell, Regex, Soft, Window
from skchmm.emissions import Frames
from skchmm.inference import schedule
from skchmm.inference.settings import settings as sizes
from tests.inference.test_lanes import (
    check_smoothed,
    in_chunks,
    in_lanes,
    in_log_space,
    one_at_a_time,
)

# Each allows only one direction: two others at most, many of them, or no loops of their own.
PATTERNS = {
    "a row of stages": ("abcd", "a+b+c+d+"),
    "stages that may be left out": ("abcdef", "a*b*c*d*e*f*"),
    "a state twice": ("abc", "a+b+a+c*"),
    "single steps": ("abc", "a?bc*a?"),
    "two branches": ("abcd", "a+(b+|c+)d*"),
}


def make(name, seed, *more):
    letters, pattern = PATTERNS[name]
    rng = np.random.default_rng(seed)
    S = len(letters)
    transmat = rng.dirichlet(np.ones(S), size=S)
    rule = Regex(re.sub(r"([a-z])", r" \1", pattern))
    model = ConstrainedHMM.from_parameters(
        rng.dirichlet(np.ones(S)), transmat, states=list(letters), constraints=[rule, *more]
    )
    graph = model.graph_
    assert one_way_order(graph.n_nodes, graph.indptr, graph.sources) is not None
    return model, rng


def make_frames(rng, lengths, S, scale=2.0, zeros=0.0):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(offsets[-1], S)) * scale
    table[rng.random(table.shape) < zeros] = -np.inf
    return Frames(table), offsets


@pytest.mark.parametrize("name", PATTERNS)
def test_against_enumeration(name, instruction_sets):
    letters, pattern = PATTERNS[name]
    model, rng = make(name, 3)
    chain = model._chain()
    S = len(letters)
    lengths = [6, 5, 4, 4, 3, 2, 1, 6, 5, 3] if S <= 4 else [5, 4, 3, 3, 2, 1, 5, 4, 3]
    frames, offsets = make_frames(rng, lengths, S, zeros=0.02)
    table = frames.table
    log_z = np.full(len(lengths), -np.inf)
    gamma = np.full((offsets[-1], S), np.nan)
    counts, best = np.zeros((S, S)), [None] * len(lengths)
    for s, (begin, T) in enumerate(zip(offsets, lengths)):
        paths = [
            path
            for path in product(range(S), repeat=T)
            if re.fullmatch(pattern, "".join(letters[i] for i in path))
        ]
        mass = np.array(
            [
                model.startprob_[path[0]]
                * np.prod(model.transmat_[list(path[:-1]), list(path[1:])])
                * np.exp(table[begin + np.arange(T), list(path)].sum())
                for path in paths
            ]
        )
        if mass.sum() == 0.0:
            continue
        log_z[s] = np.log(mass.sum())
        best[s] = paths[mass.argmax()]
        gamma[begin : begin + T] = 0.0
        for path, p in zip(paths, mass / mass.sum()):
            gamma[begin + np.arange(T), list(path)] += p
            np.add.at(counts, (list(path[:-1]), list(path[1:])), p)
    assert np.isfinite(log_z).sum() >= 4
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path, _, found = in_lanes(chain, frames, offsets)
        np.testing.assert_allclose(found.log_z, log_z, rtol=1e-12)
        np.testing.assert_allclose(found.posteriors, gamma, rtol=0, atol=1e-13)
        np.testing.assert_allclose(found.counts.transitions, counts, rtol=0, atol=1e-12)
        for s, (begin, T) in enumerate(zip(offsets, lengths)):
            if best[s] is not None:
                assert tuple(path[begin : begin + T]) == best[s]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("scale", [0.5, 8.0, 60.0, 1000.0])
def test_against_log_space(name, scale, instruction_sets):
    """Lengths around those of the runs that a node does at once; numbers that drift far apart."""
    S = len(PATTERNS[name][0])
    model, rng = make(name, 5)
    chain = model._chain()
    lengths = [7, 8, 9, 10, 15, 16, 17, 18, 33, 64, 65, 150, 1, 2, 40, 41, 300]
    frames, offsets = make_frames(rng, lengths, S, scale, zeros=0.01)
    weights = rng.random(len(lengths))
    truth = in_log_space(chain, frames, offsets, weights)
    best, best_prob = one_at_a_time(chain, frames, offsets)
    feasible = np.repeat(np.isfinite(best_prob), lengths)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path, log_prob, found = in_lanes(chain, frames, offsets, weights)
        check_smoothed(found, truth)
        check_smoothed(in_chunks(chain, frames, offsets, 20, weights), truth)
        sums = found.posteriors[feasible].sum(axis=1)
        np.testing.assert_allclose(sums, 1.0, rtol=0, atol=2e-15)
        np.testing.assert_array_equal(log_prob, best_prob)
        np.testing.assert_array_equal(path[feasible], best[feasible])


@pytest.mark.parametrize("seed", [113, 129, 130, 149])
def test_infinity_within_a_run(seed):
    """Numbers that overflow and vanish again within the steps that a node takes at once."""
    model, rng = make("single steps", seed)
    chain = model._chain()
    lengths = rng.integers(1, 260, 16)
    frames, offsets = make_frames(rng, lengths, 3, 150.0, rng.choice([0, 0.01, 0.05]))
    check_smoothed(in_lanes(chain, frames, offsets)[2], in_log_space(chain, frames, offsets))


def test_epochs_and_costs(instruction_sets):
    """Edges that change with time, and soft rules, whose edges have weights of their own."""
    more = Window("b", 3, 40), Soft(NoDwell("c"), 0.7, each=True)
    model, rng = make("stages that may be left out", 1, *more)
    assert len(model.graph_.epochs) > 1
    lengths = [60, 41, 40, 39, 12, 5, 4, 3, 2, 1]
    frames, offsets = make_frames(rng, lengths, 6)
    chain = model._chain()
    truth = in_log_space(chain, frames, offsets)
    best, best_prob = one_at_a_time(chain, frames, offsets)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path, log_prob, found = in_lanes(chain, frames, offsets)
        check_smoothed(found, truth)
        np.testing.assert_array_equal(log_prob, best_prob)
        np.testing.assert_array_equal(path, best)


def test_ties_go_to_the_lowest_label(instruction_sets):
    """All paths are equally good: of each step, going back, the lowest label."""
    S = 3
    model = ConstrainedHMM.from_parameters(
        np.full(S, 1 / S), np.full((S, S), 1 / S), states=list("abc"),
        constraints=[Regex("a* c* b* c*")],
    )  # fmt: skip
    lengths = [20] * 9
    frames = Frames(np.zeros((180, S)))
    offsets = np.arange(0, 181, 20)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        path = in_lanes(model._chain(), frames, offsets)[0]
        np.testing.assert_array_equal(path, np.zeros(sum(lengths), dtype=int))


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(sorted(PATTERNS)),
    seed=st.integers(0, 1000),
    lengths=st.lists(st.integers(1, 70), min_size=1, max_size=50),
    longest=st.integers(1, 70),
    n_threads=st.integers(1, 3),
)
def test_groups_two_at_a_time(name, seed, lengths, longest, n_threads):
    """Whatever stands beside a sequence, and whichever ends first, its best path is its own."""
    model, rng = make(name, seed)
    chain = model._chain()
    lengths = np.minimum(lengths, longest)
    frames, offsets = make_frames(rng, lengths, len(PATTERNS[name][0]), zeros=0.01)
    frames.table[:] = np.round(frames.table)  # ties
    path, log_prob = one_at_a_time(chain, frames, offsets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "lanes_fill", 0)
        patch.setattr(schedule, "threads_of", lambda *_: n_threads)
        found, found_prob = chain.decode(frames, offsets)
    np.testing.assert_array_equal(found_prob, log_prob)
    feasible = np.repeat(np.isfinite(log_prob), lengths)
    np.testing.assert_array_equal(found[feasible], path[feasible])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_order(data):
    n = data.draw(st.integers(1, 8))
    edges = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    into = [sorted(a for a, b in edges if b == m) for m in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in into])]).astype(np.int32)
    sources = np.array([a for row in into for a in row], dtype=np.int32)
    order = one_way_order(n, indptr[None], sources)
    reach = np.zeros((n, n), dtype=bool)
    for a, b in edges:
        reach[a, b] = a != b
    for k in range(n):
        reach |= reach[:, [k]] & reach[[k]]
    if reach.diagonal().any():
        assert order is None
        return
    place = np.argsort(order[0])
    assert sorted(order[0]) == list(range(n))
    assert all(place[a] < place[b] for a, b in edges if a != b)
