"""Viterbi with a matrix for every gap."""

import numpy as np

from .._kernels.continuous.viterbi import best_steps
from ..inference.schedule import spread
from ..inference.settings import settings


def trace(value, came_from, path):
    """Fill the path from its best end back: whether it meets no bound, and its value."""
    node, certain = int(np.argmax(value)), True
    best = value[node]
    for t in range(len(path) - 1, -1, -1):
        path[t] = node
        if t:
            node = came_from[t - 1, node]
            if node < 0:
                node, certain = -1 - node, False
    return certain, best


class Search:
    """Viterbi over some sequences with given matrices.

    Parameters
    ----------
    chain : ContinuousChain
    numbered : Gaps
    frames : Frames with gaps
    offsets : int64 array
    path, log_prob : arrays to fill
    matrices_of : callable, optional
        Lengths of gaps, and which end with an entry -> matrices, and the logarithms of their
        scales, or None: the matrices are logarithms themselves.
    fixed : (matrices, scales), optional
        The matrices of all gaps, in place of the callable.
    weak : float
        Matrix entries up to this are only upper bounds.
    first : array, optional
        Scores of the first nodes; by default those of the chain.
    final : array, optional
        Scores of ending in each node; by default those of the graph.
    """

    def __init__(
        self, chain, numbered, frames, offsets, path, log_prob, matrices_of=None, *, fixed=None,
        weak=0.0, first=None, final=None,
    ):  # fmt: skip
        self.chain, self.numbered, self.frames = chain, numbered, frames
        self.offsets, self.matrices_of, self.weak = offsets, matrices_of, weak
        self.path, self.log_prob = path, log_prob
        self.first = chain.log_first() if first is None else first
        self.final = chain.graph.log_final if final is None else final
        self.size = 8 * chain.rates.n_nodes**2
        if fixed is None and len(numbered) * self.size <= settings.matrix_bytes:
            fixed = matrices_of(numbered.lengths, numbered.marked)
        self.fixed = fixed

    def run(self, chosen, n_jobs):
        """Decode the chosen sequences; those that found no path, or none for certain."""
        parts = spread(
            lambda begin, end: [s for s in chosen[begin:end] if not self.decode(s)],
            self.offsets[: len(chosen) + 1],
            n_jobs,
        )
        return np.array([s for part in parts for s in part], dtype=np.int64)

    def decode(self, s):
        """Decode one sequence; matrices as they are needed where they are not fixed."""
        graph, begin, end = self.chain.graph, self.offsets[s], self.offsets[s + 1]
        frames, T, index = self.frames, end - begin, self.frames.index
        value = (
            self.first + frames.table[begin if index is None else index[begin]][graph.node_states]
        )
        came_from = np.zeros((max(T - 1, 1), graph.n_nodes), dtype=np.int32)
        work = np.empty((3, graph.n_nodes))
        room = max(1, settings.matrix_bytes // (4 * self.size))
        for start in range(1, T, T if self.fixed is not None else room):
            stop = T if self.fixed is not None else min(start + room, T)
            matrices, scales, which = self._matrices(begin + start, begin + stop)
            best_steps(
                graph.layout, self.chain.base_edges, matrices, scales, self.weak, which,
                frames.table, index, begin, start, stop, value, came_from, work,
            )  # fmt: skip
        certain, self.log_prob[s] = trace(value + self.final, came_from, self.path[begin:end])
        return certain and self.log_prob[s] > -np.inf

    def _matrices(self, start, stop):
        """Matrices for steps start..stop-1 of the data, and which of them each step has."""
        if self.fixed is not None:
            return *self.fixed, self.numbered.index
        numbers, inverse = np.unique(self.numbered.index[start:stop], return_inverse=True)
        which = np.zeros(len(self.numbered.index), dtype=np.int32)
        which[start:stop] = inverse
        lengths, marked = self.numbered.lengths[numbers], self.numbered.marked[numbers]
        return *self.matrices_of(lengths, marked), which
