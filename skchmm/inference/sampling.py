"""Exact draws of paths from a Markov chain given that they satisfy the constraints.

With beta_t(m) the probability that a path at node m at step t goes on to be accepted at the last
step, the next node m' of a path at m has probability P(m, m') beta_{t+1}(m') / beta_t(m), and the
first has probability proportional to startprob(m) beta_0(m). No draw is ever rejected. The
masses are kept as logarithms, because those of neighbouring nodes can be any factor apart: what is
negligible at one node may be all there is at another.
"""

from math import isqrt

import numpy as np
from sklearn.utils import check_random_state

from ..exceptions import InfeasibleSequenceError


def draw_constrained_paths(graph, startprob, transmat, n_steps, n_sequences=1, random_state=None):
    """Draw paths of `n_steps` states from the constrained prior.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : array of shape (n_states,)
    transmat : array of shape (n_states, n_states)
    n_steps : int
        Length of each path.
    n_sequences : int, default=1
        How many paths.
    random_state : None, int or RandomState

    Returns
    -------
    ndarray of int32, shape (n_sequences, n_steps)
        State numbers.

    Raises
    ------
    InfeasibleSequenceError
        If no path of that length satisfies the constraints with positive probability.

    Notes
    -----
    Takes O(n_steps (edges + n_sequences log edges)) time, and memory for about sqrt(n_steps) masses
    a node besides the paths.
    """
    random_state = check_random_state(random_state)
    if n_steps < 1:
        raise ValueError(f"A path has at least one step, got {n_steps}.")
    graph.controller.check_length(n_steps)
    with np.errstate(divide="ignore"):
        log_start, log_weights = graph.scored(
            np.log(np.asarray(startprob, dtype=np.float64)),
            np.log(np.asarray(transmat, dtype=np.float64)),
        )
    masses = _Masses(graph, log_weights, n_steps)
    possible = np.flatnonzero(graph.start_nodes >= 0)
    first = log_start[possible] + masses[0][graph.start_nodes[possible]]
    top = first.max(initial=-np.inf)
    if top == -np.inf:
        raise InfeasibleSequenceError(
            f"No path of {n_steps} steps satisfies the constraints with positive probability."
        )

    paths = np.empty((n_sequences, n_steps), dtype=np.int32)
    chosen = _choose(np.exp(first - top), np.zeros(1, int), random_state.random_sample(n_sequences))
    nodes = graph.start_nodes[possible[chosen]]
    paths[:, 0] = graph.node_states[nodes]
    for t in range(1, n_steps):
        edges = masses.edges[masses.epoch(t)]
        log_mass = masses[t][edges.targets] + edges.log_weights
        tops = np.maximum.reduceat(log_mass, edges.indptr)
        # Nodes that lead nowhere from here are never where a path is.
        tops[tops == -np.inf] = 0.0
        weights = np.exp(log_mass - np.repeat(tops, edges.counts))
        which = _choose(
            weights, edges.indptr, random_state.random_sample(n_sequences), edges.row[nodes]
        )
        nodes = edges.targets[which]
        paths[:, t] = graph.node_states[nodes]
    return paths


def _choose(weights, indptr, uniform, rows=0):
    """One entry a uniform number, out of the row of entries from ``indptr[row]``, by weight."""
    total = np.cumsum(weights)
    stops = np.append(indptr[1:], len(weights))
    low = np.where(indptr > 0, total[indptr - 1], 0.0)[rows]
    high = total[stops - 1][rows]
    point = np.minimum(low + uniform * (high - low), np.nextafter(high, low))
    return np.searchsorted(total, point, side="right")


class _Edges:
    """The edges of an epoch ordered by source; only nodes with edges have a row."""

    def __init__(self, graph, log_weights, epoch):
        begin, end = graph.indptr[epoch, 0], graph.indptr[epoch, -1]
        targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr[epoch]))
        sources = graph.sources[begin:end]
        order = np.argsort(sources, kind="stable")
        self.targets = targets[order]
        self.log_weights = log_weights[begin:end][order]
        self.nodes, self.indptr, self.counts = np.unique(
            sources[order], return_index=True, return_counts=True
        )
        self.row = np.full(graph.n_nodes, -1)
        self.row[self.nodes] = np.arange(len(self.nodes))

    def before(self, log_mass):
        """Log masses one step earlier, up to a constant."""
        result = np.full(len(self.row), -np.inf)
        if len(self.nodes) == 0:
            return result
        terms = log_mass[self.targets] + self.log_weights
        tops = np.maximum.reduceat(terms, self.indptr)
        shifts = np.where(tops > -np.inf, tops, 0.0)
        sums = np.add.reduceat(np.exp(terms - np.repeat(shifts, self.counts)), self.indptr)
        with np.errstate(divide="ignore"):
            result[self.nodes] = np.log(sums) + shifts
        top = result.max()
        return result - top if top > -np.inf else result


class _Masses:
    """Log beta_t for t = 0, 1, ..., each up to a constant; one chunk of steps is held at a time."""

    def __init__(self, graph, log_weights, n_steps):
        self._epochs = np.asarray(graph.epochs)
        self.edges = [_Edges(graph, log_weights, e) for e in range(len(self._epochs))]
        self._size = isqrt(n_steps - 1) + 1
        last = graph.log_final
        self._ends = {n_steps - 1: last}
        for t in range(n_steps - 1, 0, -1):
            last = self.edges[self.epoch(t)].before(last)
            if t % self._size == 0:
                self._ends[t - 1] = last
        self._chunk = (None, None)

    def epoch(self, t):
        return int(np.searchsorted(self._epochs, t, side="right")) - 1

    def __getitem__(self, t):
        number = t // self._size
        if self._chunk[0] != number:
            begin = number * self._size
            end = min(begin + self._size, max(self._ends) + 1)
            chunk = [self._ends[end - 1]]
            for s in range(end - 1, begin, -1):
                chunk.append(self.edges[self.epoch(s)].before(chunk[-1]))
            self._chunk = (number, chunk[::-1])
        return self._chunk[1][t - number * self._size]
