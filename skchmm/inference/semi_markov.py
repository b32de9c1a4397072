"""A semi-Markov chain on an augmented graph, with the methods of a `Chain`."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._kernels.data.finite import same_bits
from .._kernels.other.semi_layout import SemiLayout
from .._kernels.other.semi_markov import segment_posteriors, segment_viterbi
from ..emissions.base import check_size
from .chain import Smoothed, labelled
from .durations import survival
from .levels import add_levels, take_off_levels
from .schedule import spread
from .sums import mark_infeasible


class SegmentCounts(NamedTuple):
    """Expected counts of segments, weighted by sequence."""

    transitions: np.ndarray  # (S, S) changes of state
    complete: np.ndarray  # (S, D) segments of each duration
    cut: np.ndarray  # (S, D) the same of last segments, which lasted at least so long


class SemiMarkovChain:
    """A semi-Markov chain on the nodes of an augmented graph, ready for the kernels.

    Parameters
    ----------
    graph : AugmentedGraph
        With an edge from every state to itself: a segment of several steps takes it.
    startprob : array (S,)
    transmat : array (S, S)
        P(the next segment's state), zero on the diagonal.
    durations : array (S, D)
        P(a segment lasts 1, ..., D steps).
    """

    takes_parts = False  # whether frames may still have to be computed

    def __init__(self, graph, startprob, transmat, durations):
        self.graph = graph
        self.parameters = tuple(np.array(p, dtype=float) for p in (startprob, transmat, durations))
        start, transmat, durations = self.parameters
        self.layout = _lay_out(graph, start, transmat, durations, survival(durations))

    def _check(self, frames, offsets):
        """Kernels rely on the size of frames, and on tables that reach as far as a sequence."""
        check_size(frames, self.graph.n_states, offsets[-1])
        if self.graph.controller.horizon is not None:
            self.graph.controller.check_lengths(offsets)

    def has(self, *parameters):
        """Whether these are the chain's parameters."""
        return all(map(same_bits, self.parameters, parameters))

    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best paths: (labels, or state indices, (n_steps,), log P(path, Y) (n_sequences,))."""
        path, log_prob = self._decode(self.layout, frames, offsets, n_jobs)
        return labelled(path, labels), log_prob

    def best_feasible(self, frames, offsets, *, n_jobs=None):
        """The possible segmentations with the largest sums of frame scores: (states, sums)."""
        return self._decode(self._possible, frames, offsets, n_jobs)

    @cached_property
    def _possible(self):
        """The layout in which everything that is possible has the score 0."""
        start, transmat, durations = self.parameters
        chances = start, transmat, durations, survival(durations)
        return _lay_out(self.graph.free, *((each > 0).astype(float) for each in chances))

    def _decode(self, layout, frames, offsets, n_jobs):
        self._check(frames, offsets)
        frames, levels = take_off_levels(frames)
        rows = frames.index
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.empty(len(offsets) - 1)

        def run(begin, end):
            segment_viterbi(layout, frames.table, rows, offsets, begin, end, path, log_prob)

        spread(run, offsets, n_jobs)
        add_levels(log_prob, levels, frames, offsets)
        return path, log_prob

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected counts of segments."""
        return self._posteriors(frames, offsets, seq_weights, n_jobs, True, counts)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._posteriors(frames, offsets, None, n_jobs, False, False).log_z

    def _posteriors(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        self._check(frames, offsets)
        frames, levels = take_off_levels(frames)
        S, rows = self.graph.n_states, frames.index
        shape = self.parameters[2].shape
        log_z = np.empty(len(offsets) - 1)
        gamma = np.empty((frames.n_steps, S)) if marginals else None

        def run(begin, end):
            shapes = ((S, S), shape, shape) if counts else ()
            tables = tuple(map(np.zeros, shapes)) or (None, None, None)
            segment_posteriors(
                self.layout, frames.table, rows, offsets, seq_weights, begin, end, log_z, gamma,
                *tables,
            )  # fmt: skip
            return tables

        parts = spread(run, offsets, n_jobs)
        mark_infeasible(gamma, log_z, offsets)
        add_levels(log_z, levels, frames, offsets)
        expected = SegmentCounts(*map(sum, zip(*parts))) if counts else None
        return Smoothed(log_z, gamma, expected)


def _lay_out(graph, start, transmat, durations, lasting):
    """The layout of these chances; `lasting` are those of segments of at least so many steps."""
    stay, entry, indptr, targets, edges, stay_costs = _edges_by_source(graph)
    with np.errstate(divide="ignore"):
        log_start, log_weights = graph.scored(np.log(start), np.log(transmat))
        return SemiLayout(
            graph.node_states, graph.start_nodes, graph.log_final, entry, graph.epochs, stay,
            stay_costs, indptr, targets, graph.base_edges[edges], log_weights[edges], log_start,
            np.log(durations), np.log(lasting),
        )  # fmt: skip


def _edges_by_source(graph):
    """The graph's edges as the kernels want them: steps within a state, and changes of state.

    Returns
    -------
    stay : (n_epochs, n_nodes), the node after another step in the same state, -1 where none
    entry : (n_nodes,), whether a path can come from another state, or start there
    indptr (n_epochs, n_nodes + 1), targets, edges : changes of state, by source; their numbers
    stay_costs : (n_epochs, n_nodes) or None, what soft rules cost that another step breaks
    """
    S, N = graph.n_states, graph.n_nodes
    entry = np.zeros(N, dtype=bool)
    entry[graph.start_nodes[graph.start_nodes >= 0]] = True
    stay = np.full((len(graph.epochs), N), -1, dtype=np.int32)
    indptr = np.zeros((len(graph.epochs), N + 1), dtype=np.int32)
    stay_costs = None if graph.breaks is None else np.zeros(stay.shape)
    targets, numbers, offset = [], [], 0
    for e, ends in enumerate(graph.indptr):
        edges = slice(ends[0], ends[-1])
        source, base = graph.sources[edges], graph.base_edges[edges]
        number = np.arange(ends[0], ends[-1])
        target = np.repeat(np.arange(N), np.diff(ends))
        same = base // S == base % S
        stay[e, source[same]] = target[same]
        if stay_costs is not None:
            stay_costs[e, source[same]] = graph.edge_costs[number[same]]
        source, number, target = source[~same], number[~same], target[~same]
        entry[target] = True
        order = np.lexsort((target, source))
        targets.append(target[order])
        numbers.append(number[order])
        counts = np.bincount(source, minlength=N)
        indptr[e] = offset + np.concatenate([[0], np.cumsum(counts)])
        offset += len(source)
    return stay, entry, indptr, np.concatenate(targets), np.concatenate(numbers), stay_costs
