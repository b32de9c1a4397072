"""The best states at irregular observation times."""

import numpy as np

from . import _gaps
from ._gapped_log import LogExponential
from ._gaps import Gaps, index_of
from ._kernels.continuous.viterbi import best_steps
from ._threads import spread
from .inference import labelled

# An entry this much above the floor is right.
CERTAIN = 1e12


class DecodingMixin:
    """Viterbi, for chains with a graph and rates.

    Matrices are computed up to a floor, below which their entries are bounds from above. A best
    path that needs none of these is best whatever they are; otherwise the floor is lowered.
    """

    floors = (None,)

    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best labels, or state indices, at the observations, and log P (n_sequences,)."""
        nodes, log_prob = self.decoder.decode_nodes(frames, offsets, n_jobs=n_jobs)
        return labelled(self.decoder.states_of(nodes), labels), log_prob

    @property
    def decoder(self):
        """The chain among whose nodes the best are looked for."""
        return self

    def states_of(self, nodes):
        """The states of nodes; of sequences without any, anything."""
        return self.graph.node_states[nodes] if self.graph.n_nodes else nodes

    def decode_nodes(self, frames, offsets, *, n_jobs=None):
        """Most probable nodes at the observations: (nodes int32 (n,), log P (n_sequences,))."""
        self.graph.controller.check_lengths(offsets)
        if self.graph.n_nodes == 0:
            nodes = np.zeros(frames.n_steps, dtype=np.int32)
            return nodes, np.full(len(offsets) - 1, -np.inf)
        numbered = Gaps(frames.gaps, offsets)
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.full(len(offsets) - 1, -np.inf)
        todo = np.arange(len(offsets) - 1)
        for floor in self.floors:
            search = _Search(self, numbered, frames, offsets, self._bounded(floor), path, log_prob)
            search.weak = 0.0 if floor is None else CERTAIN * floor
            todo = search.run(todo, n_jobs)
            if len(todo) == 0:
                break
        else:  # where no double can hold a probability
            steps = self.plan(numbered, 1e-1, False).steps
            todo = [
                s
                for s in todo
                if self._alive(steps, frames, offsets, numbered, s) > offsets[s + 1] - offsets[s]
            ]
            _Search(self, numbered, frames, offsets, self.exact_log_matrices, path, log_prob).run(
                todo, n_jobs
            )
        return path, log_prob

    def _bounded(self, floor):
        """A function from gaps to matrices; below a floor, entries are upper bounds."""
        if floor is None:
            return self.rates.matrices
        possible = {True: self._possible(True) == 0.0, False: np.eye(self.rates.n_nodes) > 0}

        def matrices(lengths):
            out, log_scales = self.rates.matrices(lengths, floor)
            for matrix, length in zip(out, lengths):
                least = np.where(possible[bool(length > 0)], CERTAIN * floor, 0.0)
                np.maximum(matrix, least, out=matrix)
            return out, log_scales

        return matrices

    def best_feasible(self, frames, offsets, *, n_jobs=None):
        """The feasible nodes with the largest sum of frame scores, probabilities set aside."""
        kinds = Gaps((frames.gaps > 0).astype(np.float64), offsets)
        possible = np.array([self._possible(length > 0) for length in kinds.lengths])
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.full(len(offsets) - 1, -np.inf)
        search = _Search(self, kinds, frames, offsets, None, path, log_prob)
        search.fixed = (possible, None)
        search.first = np.where(search.first > -np.inf, 0.0, -np.inf)
        search.run(np.arange(len(log_prob)), n_jobs)
        return path, log_prob

    def exact_log_matrices(self, lengths):
        """Logarithms of exponentials, however small."""
        return np.array([LogExponential(self.rates, gap).matrix for gap in lengths]), None


class _Search:
    """Viterbi over some sequences with given matrices.

    Parameters
    ----------
    chain : GappedChain
    numbered : Gaps
    frames : TimedFrames
    offsets : int64 array
    matrices_of : callable
        Lengths of gaps -> matrices, and the logarithms of their scales, or None: the matrices
        are logarithms themselves.
    path, log_prob : arrays to fill
    """

    weak = 0.0  # matrix entries up to this are only upper bounds

    def __init__(self, chain, numbered, frames, offsets, matrices_of, path, log_prob):
        self.chain, self.numbered, self.frames = chain, numbered, frames
        self.offsets, self.matrices_of = offsets, matrices_of
        self.path, self.log_prob = path, log_prob
        self.first, self.fixed = chain.log_first(), None
        self.size = 8 * chain.rates.n_nodes**2

    def run(self, chosen, n_jobs):
        """Decode the chosen sequences; those that found no path, or none for certain."""
        if self.fixed is None and len(self.numbered) * self.size <= _gaps.MATRIX_BYTES:
            self.fixed = self.matrices_of(self.numbered.lengths)
        parts = spread(
            lambda begin, end: [s for s in chosen[begin:end] if not self.decode(s)],
            self.offsets[: len(chosen) + 1],
            n_jobs,
        )
        return np.array([s for part in parts for s in part], dtype=np.int64)

    def decode(self, s):
        """Decode one sequence; matrices as they are needed where they are not fixed."""
        graph, begin, end = self.chain.graph, self.offsets[s], self.offsets[s + 1]
        frames, T, index = self.frames, end - begin, index_of(self.frames)
        value = (
            self.first + frames.table[begin if index is None else index[begin]][graph.node_states]
        )
        came_from = np.zeros((max(T - 1, 1), graph.n_nodes), dtype=np.int32)
        work = np.empty((3, graph.n_nodes))
        room = max(1, _gaps.MATRIX_BYTES // (4 * self.size))
        for start in range(1, T, T if self.fixed is not None else room):
            stop = T if self.fixed is not None else min(start + room, T)
            matrices, scales, which = self._matrices(begin + start, begin + stop)
            best_steps(
                graph.layout, self.chain.base_edges, matrices, scales, self.weak, which,
                frames.table, index, begin, start, stop, value, came_from, work,
            )  # fmt: skip
        value = np.where(graph.accept, value, -np.inf)
        node, certain = int(np.argmax(value)), True
        self.log_prob[s] = value[node]
        for t in range(T - 1, -1, -1):
            self.path[begin + t] = node
            if t:
                node = came_from[t - 1, node]
                if node < 0:
                    node, certain = -1 - node, False
        return certain and self.log_prob[s] > -np.inf

    def _matrices(self, start, stop):
        """Matrices for steps start..stop-1 of the data, and which of them each step has."""
        if self.fixed is not None:
            return *self.fixed, self.numbered.index
        numbers, inverse = np.unique(self.numbered.index[start:stop], return_inverse=True)
        which = np.zeros(len(self.numbered.index), dtype=np.int32)
        which[start:stop] = inverse
        return *self.matrices_of(self.numbered.lengths[numbers]), which
