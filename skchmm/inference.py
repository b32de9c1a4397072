"""Exact inference on an augmented graph: kernels, and threads over sequences."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ._blocks import WIDTH
from ._kernels.forward_backward import forward_backward, scale_rows
from ._kernels.log_space import forward_backward_log
from ._kernels.two_ended import handles, two_ended
from ._kernels.viterbi import viterbi

# A larger table over all steps is replaced by blocks of it that are filled again on the way back:
# what does not fit the cache costs more to store than to compute.
TABLE_BYTES = 1 << 19


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
        check_frames(frames, self.graph.n_states)
        layout, index = self.graph.layout, _index(frames)
        n_sequences = len(offsets) - 1
        log_z = np.empty(n_sequences)
        redo = np.zeros(n_sequences, dtype=np.uint8)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None
        edges = np.zeros(len(self.weights)) if counts else None
        left = np.ones(n_sequences, dtype=np.uint8)
        if handles(layout):
            self._two_ended(frames, offsets, seq_weights, n_jobs, log_z, left, posteriors, edges)
        if left.any():
            table, row_max, row_lossy = scale_rows(frames.table, self._smallest)
            table, by_node = _by_node(self.graph, table, frames)

            def run(begin, end):
                entries = np.zeros(len(self._sum_entries)) if counts else None
                for first, stop in _stretches(left, begin, end):
                    forward_backward(
                        layout, self.weights, self._sum_entries, self._back_entries, self.start,
                        table, by_node, row_max, row_lossy, index, offsets, seq_weights,
                        first, stop, TABLE_BYTES, log_z, redo, posteriors, entries,
                    )  # fmt: skip
                return entries

            parts = _spread(run, offsets, n_jobs)
            if counts:
                edges += sum(parts)[self.graph.ahead.slot]
        again = np.flatnonzero(redo)
        if len(again):
            forward_backward_log(
                layout, self.log_weights, self.log_start, frames.table, index, offsets,
                seq_weights, again, TABLE_BYTES, log_z, posteriors, edges,
            )  # fmt: skip
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                posteriors[offsets[s] : offsets[s + 1]] = np.nan
        return log_z, posteriors, edges

    def _two_ended(self, frames, offsets, seq_weights, n_jobs, log_z, left, posteriors, edges):
        """Few states and no memory: fills what it can, and marks the sequences that are left."""
        S, index = self.graph.n_states, _index(frames)

        def run(begin, end):
            pairs = None if edges is None else np.zeros((S, S))
            two_ended(
                self.graph.layout, self.weights, self._smallest, self.start, frames.table, index,
                offsets, seq_weights, begin, end, log_z, left, posteriors, pairs,
            )  # fmt: skip
            return pairs

        parts = _spread(run, offsets, n_jobs)
        if edges is not None:
            edges += sum(parts).ravel()[self.graph.base_edges]


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
    index = _index(frames)
    table, by_node = _by_node(graph, frames.table, frames)
    path = np.empty(frames.n_steps, dtype=np.int32)
    log_prob = np.empty(len(offsets) - 1)

    def run(begin, end):
        viterbi(
            graph.layout, log_weights, entries, log_start, table, by_node, index, offsets,
            begin, end, TABLE_BYTES, path, log_prob,
        )  # fmt: skip

    _spread(run, offsets, n_jobs)
    return path, log_prob


def _by_node(graph, table, frames):
    """A table that few rows serve many steps with has one column a node; then nothing is gathered.

    Returns the table, and whether its columns are nodes.
    """
    check_frames(frames, graph.n_states)
    if frames.index is None or 4 * len(table) > frames.n_steps:
        return table, False
    wide = np.zeros((len(table), WIDTH * graph.ahead.n_blocks))
    wide[:, : graph.n_nodes] = table[:, graph.node_states]
    return wide, True


def _index(frames):
    return None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)


def _stretches(marked, begin, end):
    """Neighbours among begin..end-1 that are marked, as pairs (first, stop)."""
    changes = np.diff(marked[begin:end], prepend=0, append=0)
    return (begin + np.flatnonzero(changes).reshape(-1, 2)).tolist()


def _spread(run, offsets, n_jobs):
    """Run over ranges of sequences of about equal numbers of steps, one a thread."""
    n_sequences = len(offsets) - 1
    n_threads = 1 if n_jobs in (None, 1) else min(effective_n_jobs(n_jobs), n_sequences)
    if n_threads == 1:
        return [run(0, n_sequences)]
    share = np.linspace(0, offsets[-1], n_threads + 1)
    cuts = np.searchsorted(offsets, share)
    cuts[0], cuts[-1] = 0, n_sequences
    ranges = [(a, b) for a, b in pairwise(cuts.tolist()) if a < b]
    with ThreadPoolExecutor(len(ranges)) as pool:
        return list(pool.map(lambda part: run(*part), ranges))
