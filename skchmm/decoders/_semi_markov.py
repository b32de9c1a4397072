"""A semi-Markov chain on an augmented graph, with the methods of a `Chain`."""

from typing import NamedTuple

import numpy as np

from .._kernels.other.semi_layout import SemiLayout
from .._kernels.other.semi_markov import segment_posteriors, segment_viterbi
from .._threads import spread
from ..inference import labelled
from ._durations import survival


class Segments(NamedTuple):
    """How segments follow each other, and how long they last."""

    transmat: np.ndarray  # (S, S), zero on the diagonal
    durations: np.ndarray  # (S, D): P(a segment lasts 1, ..., D steps)


class SmoothedSegments(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray | None  # (n_steps, S)
    transitions: np.ndarray | None  # (S, S) expected changes of state
    complete: np.ndarray | None  # (S, D) expected segments of each duration
    cut: np.ndarray | None  # (S, D) the same of last segments, which lasted at least so long


class SemiMarkovChain:
    """A semi-Markov chain on the nodes of an augmented graph, ready for the kernels.

    Parameters
    ----------
    graph : AugmentedGraph
        With an edge from every state to itself: a segment of several steps takes it.
    startprob : array (S,)
    segments : Segments
    """

    def __init__(self, graph, startprob, segments):
        self.graph = graph
        self.start = np.array(startprob, dtype=np.float64)
        self.segments = segments
        self.shape = np.shape(segments.durations)
        stay, entry, indptr, targets, base_edges = _edges_by_source(graph)
        with np.errstate(divide="ignore"):
            self.layout = SemiLayout(
                graph.node_states, graph.start_nodes, graph.accept, entry, graph.epochs, stay,
                indptr, targets, base_edges, np.log(segments.transmat.ravel()[base_edges]),
                np.log(self.start), np.log(segments.durations),
                np.log(survival(segments.durations)),
            )  # fmt: skip

    def has(self, startprob, segments):
        """Whether these are the chain's parameters."""
        mine = self.segments
        return (
            np.array_equal(self.start, startprob)
            and np.array_equal(mine.transmat, segments.transmat)
            and np.array_equal(mine.durations, segments.durations)
        )

    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best paths: (labels, or state indices, (n_steps,), log P(path, Y) (n_sequences,))."""
        self.graph.controller.check_lengths(offsets)
        rows = _rows(frames)
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.empty(len(offsets) - 1)

        def run(begin, end):
            segment_viterbi(self.layout, frames.table, rows, offsets, begin, end, path, log_prob)

        spread(run, offsets, n_jobs)
        return labelled(path, labels), log_prob

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected counts of segments."""
        return self._posteriors(frames, offsets, seq_weights, n_jobs, True, counts)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._posteriors(frames, offsets, None, n_jobs, False, False).log_z

    def _posteriors(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        self.graph.controller.check_lengths(offsets)
        S, rows = self.graph.n_states, _rows(frames)
        log_z = np.empty(len(offsets) - 1)
        gamma = np.empty((frames.n_steps, S)) if marginals else None

        def run(begin, end):
            shapes = ((S, S), self.shape, self.shape) if counts else ()
            tables = tuple(map(np.zeros, shapes)) or (None, None, None)
            segment_posteriors(
                self.layout, frames.table, rows, offsets, seq_weights, begin, end, log_z, gamma,
                *tables,
            )  # fmt: skip
            return tables

        parts = spread(run, offsets, n_jobs)
        tables = [sum(each) if counts else None for each in zip(*parts)]
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                gamma[offsets[s] : offsets[s + 1]] = np.nan
        return SmoothedSegments(log_z, gamma, *tables)


def _rows(frames):
    return None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)


def _edges_by_source(graph):
    """The graph's edges as the kernels want them: steps within a state, and changes of state.

    Returns
    -------
    stay : (n_epochs, n_nodes), the node after another step in the same state, -1 where none
    entry : (n_nodes,), whether a path can come from another state, or start there
    indptr (n_epochs, n_nodes + 1), targets, base_edges : changes of state, by source
    """
    S, N = graph.n_states, graph.n_nodes
    entry = np.zeros(N, dtype=bool)
    entry[graph.start_nodes[graph.start_nodes >= 0]] = True
    stay = np.full((len(graph.epochs), N), -1, dtype=np.int32)
    indptr = np.zeros((len(graph.epochs), N + 1), dtype=np.int32)
    targets, base_edges, offset = [], [], 0
    for e, ends in enumerate(graph.indptr):
        edges = slice(ends[0], ends[-1])
        source, base = graph.sources[edges], graph.base_edges[edges]
        target = np.repeat(np.arange(N), np.diff(ends))
        same = base // S == base % S
        stay[e, source[same]] = target[same]
        source, base, target = source[~same], base[~same], target[~same]
        entry[target] = True
        order = np.lexsort((target, source))
        targets.append(target[order])
        base_edges.append(base[order])
        counts = np.bincount(source, minlength=N)
        indptr[e] = offset + np.concatenate([[0], np.cumsum(counts)])
        offset += len(source)
    return stay, entry, indptr, np.concatenate(targets), np.concatenate(base_edges)
