"""Exact inference on an augmented graph: which kernel does what."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ._blocks import WIDTH
from ._kernels.forward_backward import forward_backward, scale_rows
from ._kernels.lanes_sums import lanes_sums
from ._kernels.lanes_viterbi import lanes_viterbi
from ._kernels.log_space import forward_backward_log
from ._kernels.two_ended import handles, two_ended
from ._kernels.viterbi import viterbi
from ._threads import spread

# A larger table over all steps is replaced by blocks of it that are filled again on the way back:
# what does not fit the cache costs more to store than to compute.
TABLE_BYTES = 1 << 19
# Sequences are worked on 8 at a time while their rows fit the cache and edges, not whole rows of a
# matrix, are what a step costs.
LANES_BYTES = 1 << 22
LANES_EDGES = 3000
LANES_WEIGHT = 1e-100  # a smaller one, twice, is no double
LANES_FILL = 2  # of the 8 lanes, so many must be of use on average
# What nothing else holds goes there anyway; log space takes thirty times as long.
LANES_BYTES_AT_MOST = 1 << 27


class Smoothed(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray  # (n_steps, S) P(x_t | Y, Acc)
    transitions: np.ndarray | None  # (S, S) expected counts, weighted by sequence


class Chain:
    """A Markov chain on the nodes of an augmented graph, ready for the kernels.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : float64 (S,)
    transmat : float64 (S, S)
        Never renormalised: what the graph leaves out is the constraint.
    """

    def __init__(self, graph, startprob, transmat):
        self.graph = graph
        self.start = np.array(startprob, dtype=np.float64)
        self.transmat = np.array(transmat, dtype=np.float64)
        self.weights = self.transmat.ravel()[graph.base_edges]
        with np.errstate(divide="ignore"):
            self.log_start = np.log(self.start)
            self.log_weights = np.log(self.weights)

    @cached_property
    def _smallest(self):
        return self.weights.min(initial=1.0, where=self.weights > 0)

    @cached_property
    def _max_entries(self):
        return self.graph.ahead.spread(self.log_weights, -np.inf)

    @cached_property
    def _sum_entries(self):
        return self.graph.ahead.spread(self.weights, 0.0)

    @cached_property
    def _back_entries(self):
        return self.graph.back.spread(self.weights, 0.0)

    def has(self, startprob, transmat):
        """Whether these are the chain's parameters."""
        return np.array_equal(self.start, startprob) and np.array_equal(self.transmat, transmat)

    def decode(self, frames, offsets, *, n_jobs=None):
        """Best paths: (state indices int32 (n_steps,), log P(path, Y) (n_sequences,))."""
        self.graph.controller.check_length(longest(offsets))
        return _decode(
            self.graph, self.log_weights, self._max_entries, self.log_start, frames, offsets, n_jobs
        )

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected transition counts."""
        graph = self.graph
        graph.controller.check_length(longest(offsets))
        log_z, posteriors, edges = self._forward_backward(
            frames, offsets, seq_weights, n_jobs, True, counts
        )
        transitions = None
        if counts:
            S = graph.n_states
            transitions = np.bincount(graph.base_edges, weights=edges, minlength=S * S)
            transitions = transitions.reshape(S, S)
        return Smoothed(log_z, posteriors, transitions)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        self.graph.controller.check_length(longest(offsets))
        return self._forward_backward(frames, offsets, None, n_jobs, False, False)[0]

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        graph, n_sequences = self.graph, len(offsets) - 1
        check_frames(frames, graph.n_states)
        log_z = np.empty(n_sequences)
        posteriors = np.empty((frames.n_steps, graph.n_states)) if marginals else None
        edges = np.zeros(len(self.weights)) if counts else None
        job = _Job(self, frames, offsets, seq_weights, n_jobs)
        # Each way hands on the sequences that it cannot hold.
        left = np.arange(n_sequences)
        for way in (job.lanes, job.two_ended, job.blocks, job.lanes_again, job.log_space):
            left = way(left, log_z, posteriors, edges)
            if len(left) == 0:
                break
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                posteriors[offsets[s] : offsets[s + 1]] = np.nan
        return log_z, posteriors, edges


class _Job:
    """Forward-backward of some sequences; the ways to do it, from the fastest to the safest.

    A way takes the numbers of sequences, fills in their likelihoods and marginals, adds to the
    counts of the edges, and returns the sequences that it could not hold.
    """

    def __init__(self, chain, frames, offsets, seq_weights, n_jobs):
        self.chain, self.graph = chain, chain.graph
        self.frames, self.index = frames, _index(frames)
        self.offsets, self.seq_weights = offsets, seq_weights
        self.n_jobs = n_jobs
        self.redo = np.zeros(len(offsets) - 1, dtype=np.uint8)

    @cached_property
    def scaled(self):
        return scale_rows(self.frames.table, self.chain._smallest)

    def lanes(self, chosen, log_z, posteriors, edges):
        groups = None
        if 0 < self.graph.n_edges <= LANES_EDGES:
            groups = _groups(self.offsets, chosen, self._row_bytes, LANES_BYTES, LANES_FILL)
        return self._lanes(groups, chosen, log_z, posteriors, edges)

    def lanes_again(self, chosen, log_z, posteriors, edges):
        """Lanes hold everything, even if most stay empty."""
        groups = None
        if self.graph.n_edges > 0:
            groups = _groups(self.offsets, chosen, self._row_bytes, LANES_BYTES_AT_MOST, 0)
        return self._lanes(groups, chosen, log_z, posteriors, edges)

    @property
    def _row_bytes(self):
        return WIDTH * (self.graph.n_nodes + self.graph.n_states)

    def _lanes(self, groups, chosen, log_z, posteriors, edges):
        graph, chain = self.graph, self.chain
        if groups is None or chain._smallest < LANES_WEIGHT:
            return chosen
        table, row_max = self.frames.table, None
        if self.index is not None and not self.scaled[2].any():
            table, row_max, _ = self.scaled

        def run(begin, end):
            found = None if edges is None else np.zeros(len(edges))
            lanes_sums(
                graph.layout, chain.weights, chain._smallest, chain.start, table, row_max,
                self.index, self.offsets, self.seq_weights, groups.order, begin, end, log_z,
                posteriors, found,
            )  # fmt: skip
            return found

        _add(edges, spread(run, groups.offsets, self.n_jobs))
        return chosen[:0]

    def two_ended(self, chosen, log_z, posteriors, edges):
        graph, chain = self.graph, self.chain
        if not handles(graph.layout):
            return chosen

        def run(begin, end):
            pairs = None if edges is None else np.zeros((graph.n_states, graph.n_states))
            two_ended(
                graph.layout, chain.weights, chain._smallest, chain.start, self.frames.table,
                self.index, self.offsets, self.seq_weights, chosen[begin:end], log_z, self.redo,
                posteriors, pairs,
            )  # fmt: skip
            return None if edges is None else pairs.ravel()[graph.base_edges]

        _add(edges, self._spread(run, chosen))
        return np.flatnonzero(self.redo)

    def blocks(self, chosen, log_z, posteriors, edges):
        graph, chain = self.graph, self.chain
        table, row_max, row_lossy = self.scaled
        table, by_node = _by_node(graph, table, self.frames)

        def run(begin, end):
            found = None if edges is None else np.zeros(len(chain._sum_entries))
            forward_backward(
                graph.layout, chain.weights, chain._sum_entries, chain._back_entries, chain.start,
                table, by_node, row_max, row_lossy, self.index, self.offsets, self.seq_weights,
                chosen[begin:end], TABLE_BYTES, log_z, self.redo, posteriors, found,
            )  # fmt: skip
            return None if edges is None else found[graph.ahead.slot]

        _add(edges, self._spread(run, chosen))
        return np.flatnonzero(self.redo)

    def log_space(self, chosen, log_z, posteriors, edges):
        chain = self.chain

        def run(begin, end):
            found = None if edges is None else np.zeros(len(edges))
            forward_backward_log(
                self.graph.layout, chain.log_weights, chain.log_start, self.frames.table,
                self.index, self.offsets, self.seq_weights, chosen[begin:end], TABLE_BYTES, log_z,
                posteriors, found,
            )  # fmt: skip
            return found

        _add(edges, self._spread(run, chosen))
        return chosen[:0]

    def _spread(self, run, chosen):
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]
        return spread(run, np.concatenate([[0], np.cumsum(lengths)]), self.n_jobs)


def _add(edges, parts):
    if edges is not None:
        for part in parts:
            edges += part


def best_feasible_path(graph, frames, offsets, *, n_jobs=None):
    """The path in the graph with the largest sum of frame scores, all edges weighing nothing."""
    weights = np.zeros(len(graph.base_edges))
    entries = graph.ahead.spread(weights, -np.inf)
    return _decode(graph, weights, entries, np.zeros(graph.n_states), frames, offsets, n_jobs)


def check_frames(frames, n_states):
    """Frames have one column a state; the kernels rely on it."""
    if frames.n_states != n_states:
        raise ValueError(
            f"The emission has {frames.n_states} states, but the chain has {n_states}."
        )
    return frames


def longest(offsets):
    return int(np.max(offsets[1:] - offsets[:-1]))


def _decode(graph, log_weights, entries, log_start, frames, offsets, n_jobs):
    check_frames(frames, graph.n_states)
    index = _index(frames)
    path = np.empty(frames.n_steps, dtype=np.int32)
    log_prob = np.empty(len(offsets) - 1)
    groups = None
    if graph.few_edges and graph.n_edges > 0:
        groups = _groups(offsets, np.arange(len(log_prob)), graph.n_nodes, LANES_BYTES, LANES_FILL)
    if groups is not None:

        def run_lanes(begin, end):
            lanes_viterbi(
                graph.layout, log_weights, log_start, frames.table, index, offsets, groups.order,
                begin, end, path, log_prob,
            )  # fmt: skip

        spread(run_lanes, groups.offsets, n_jobs)
        return path, log_prob

    table, by_node = _by_node(graph, frames.table, frames)

    def run(begin, end):
        viterbi(
            graph.layout, log_weights, entries, log_start, table, by_node, index, offsets,
            begin, end, TABLE_BYTES, path, log_prob,
        )  # fmt: skip

    spread(run, offsets, n_jobs)
    return path, log_prob


class _Groups(NamedTuple):
    """Sequences that are worked on 8 at a time."""

    order: np.ndarray  # the sequences, longest first
    offsets: np.ndarray  # sums of the longest of each group


def _groups(offsets, chosen, row_bytes, most_bytes, fill):
    """Groups of sequences for the lanes, or None where one at a time is better.

    `row_bytes` is what a step of one sequence takes.
    """
    if len(chosen) < fill:
        return None
    lengths = offsets[chosen + 1] - offsets[chosen]
    order = np.argsort(-lengths, kind="stable")
    tallest = lengths[order[::WIDTH]]
    if fill * tallest.sum() > lengths.sum() or tallest[0] * WIDTH * row_bytes > most_bytes:
        return None
    return _Groups(chosen[order], np.concatenate([[0], np.cumsum(tallest)]))


def _by_node(graph, table, frames):
    """A table that few rows serve many steps with has one column a node; then nothing is gathered.

    Returns the table, and whether its columns are nodes.
    """
    if frames.index is None or 4 * len(table) > frames.n_steps:
        return table, False
    wide = np.zeros((len(table), WIDTH * graph.ahead.n_blocks))
    wide[:, : graph.n_nodes] = table[:, graph.node_states]
    return wide, True


def _index(frames):
    return None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)
