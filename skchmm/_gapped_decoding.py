"""The best states at irregular observation times."""

import numpy as np

from . import _gaps
from ._gapped_log import LogExponential
from ._gaps import Gaps, index_of
from ._kernels.gapped_viterbi import best_steps
from .inference import _spread as spread
from .inference import longest


class DecodingMixin:
    """Viterbi, for chains with a graph and rates."""

    def decode(self, frames, offsets, *, n_jobs=None):
        """Best states at the observations: (indices int32 (n_steps,), log P (n_sequences,))."""
        nodes, log_prob = self.decoder.decode_nodes(frames, offsets, n_jobs=n_jobs)
        return self.decoder.states_of(nodes), log_prob

    @property
    def decoder(self):
        """The chain among whose nodes the best are looked for."""
        return self

    def states_of(self, nodes):
        """The states of nodes; of sequences without any, anything."""
        return self.graph.node_states[nodes] if self.graph.n_nodes else nodes

    def decode_nodes(self, frames, offsets, *, n_jobs=None):
        """Most probable nodes at the observations: (nodes int32 (n,), log P (n_sequences,))."""
        self.graph.controller.check_length(longest(offsets))
        if self.graph.n_nodes == 0:
            nodes = np.zeros(frames.n_steps, dtype=np.int32)
            return nodes, np.full(len(offsets) - 1, -np.inf)
        numbered = Gaps(frames.gaps, offsets)
        path, log_prob = self._best(numbered, self.rates.matrices, frames, offsets, n_jobs)
        for s in np.flatnonzero(np.isneginf(log_prob)):
            steps = self.plan(numbered, 1e-1, False).steps
            T = offsets[s + 1] - offsets[s]
            if self._alive(steps, frames, offsets, numbered, s) == T + 1:
                self._best_of(
                    s, numbered, self.exact_log_matrices, frames, offsets, None,
                    self.log_first(), path, log_prob,
                )  # fmt: skip
        return path, log_prob

    def best_feasible(self, frames, offsets, *, n_jobs=None):
        """The feasible nodes with the largest sum of frame scores, probabilities set aside."""
        kinds = Gaps((frames.gaps > 0).astype(np.float64), offsets)
        possible = np.array([self._possible(length > 0) for length in kinds.lengths])
        first = np.where(self.log_first() > -np.inf, 0.0, -np.inf)
        return self._best(kinds, None, frames, offsets, n_jobs, (possible, None), first)

    def _best(self, numbered, matrices_of, frames, offsets, n_jobs, fixed=None, first=None):
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.full(len(offsets) - 1, -np.inf)
        size = self.rates.n_nodes
        first = self.log_first() if first is None else first
        if fixed is None and len(numbered) * size * size * 8 <= _gaps.MATRIX_BYTES:
            fixed = matrices_of(numbered.lengths)

        def run(begin, end):
            for s in range(begin, end):
                self._best_of(
                    s, numbered, matrices_of, frames, offsets, fixed, first, path, log_prob
                )

        spread(run, offsets, n_jobs)
        return path, log_prob

    def _best_of(self, s, numbered, matrices_of, frames, offsets, fixed, first, path, log_prob):
        """Viterbi on one sequence; matrices as they are needed where they are not `fixed`."""
        graph, T = self.graph, offsets[s + 1] - offsets[s]
        N, index = graph.n_nodes, index_of(frames)
        row = offsets[s] if index is None else index[offsets[s]]
        value = first + frames.table[row][graph.node_states]
        came_from = np.zeros((max(T - 1, 1), N), dtype=np.int32)
        work = np.empty((3, N))
        chunk = (
            T if fixed is not None else max(1, _gaps.MATRIX_BYTES // (8 * self.rates.n_nodes**2))
        )
        for begin in range(1, T, chunk):
            end = min(begin + chunk, T)
            pair, which = fixed, numbered.index
            if fixed is None:
                used = numbered.index[offsets[s] + begin : offsets[s] + end]
                numbers, inverse = np.unique(used, return_inverse=True)
                pair = matrices_of(numbered.lengths[numbers])
                which = np.zeros(len(numbered.index), dtype=np.int32)
                which[offsets[s] + begin : offsets[s] + end] = inverse
            best_steps(
                graph.layout, self.base_edges, *pair, which,
                frames.table, index, offsets[s], begin, end, value, came_from, work,
            )  # fmt: skip
        value = np.where(graph.accept, value, -np.inf)
        node = int(np.argmax(value))
        log_prob[s] = value[node]
        for t in range(T - 1, -1, -1):
            path[offsets[s] + t] = node
            if t:
                node = came_from[t - 1, node]

    def exact_log_matrices(self, lengths):
        return np.array([LogExponential(self.rates, gap).matrix for gap in lengths]), None
