"""Constraints on the states at the observations: the chain is free between them."""

import numpy as np
from scipy.special import logsumexp

from .._kernels.continuous.steps import Steps
from .chain import ContinuousChain
from .entries import Entries, is_marked, lengths_of
from .generator import Generator
from .log_space import LogExponential, product, smooth_log, sum_rows
from .semantics import reachable


class ObservedChain(ContinuousChain):
    """The constraint binds the states at the observations; between them the chain is free."""

    def __init__(self, graph, startprob, generator, exact=None):
        super().__init__(graph, startprob, generator, exact)
        self.rates = Generator.of_states(self.generator)
        if exact is not None:
            self.entries = Entries(self.rates, exact)
        self.base_edges, self._costs = graph.base_edges, np.zeros(1)
        if graph.breaks is not None:
            # One matrix for each cost of an edge, below each other.
            self._costs, which = np.unique(graph.edge_costs, return_inverse=True)
            self.base_edges = (graph.base_edges + which * graph.n_states**2).astype(np.int32)

    def plan(self, numbered, floor, counts):
        return _ObservedPlan(self, numbered)

    def spread(self, matrices):
        """Matrices (n, S, S) times what each cost of an edge leaves, (n, n_costs * S, S)."""
        if self.graph.breaks is None:
            return matrices
        return np.concatenate([matrices * np.exp(-cost) for cost in self._costs], axis=1)

    def _bounded(self, floor):
        def matrices(lengths, marked):
            found, log_scales = self.matrices(lengths, marked)
            return self.spread(found), log_scales

        return matrices

    def exact_log_matrices(self, lengths, marked):
        """Logarithms of exponentials, however small."""
        logs = super().exact_log_matrices(lengths, marked)[0]
        return np.concatenate([logs - cost for cost in self._costs], axis=1), None

    def _edges(self, t):
        """Edges into step t: sources, targets and where their weights are in `spread`."""
        graph = self.graph
        e = int(np.searchsorted(graph.epochs, t, side="right")) - 1
        part = slice(graph.indptr[e, 0], graph.indptr[e, -1])
        targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr[e]))
        return graph.sources[part], targets, self.base_edges[part]

    def step_cost(self, t, source, target):
        if self.graph.breaks is None:
            return 0.0
        sources, targets, base = self._edges(t)
        edge = np.flatnonzero((sources == source) & (targets == target))[0]
        return self._costs[base[edge] // self.graph.n_states**2]

    def _log_spread(self, log_matrix):
        """Logarithms of one matrix, if they are not spread already, by cost of an edge."""
        if log_matrix.shape[0] > self.graph.n_states:
            return log_matrix.ravel()
        return np.concatenate([log_matrix.ravel() - cost for cost in self._costs])

    def marginals_at(self, frames, times, grid):
        """P(state at the times of a grid | Y, Acc), (n, S); the times are those of the steps.

        Given the states at both ends of a gap the chain is free within it, and after the last
        observation.
        """
        steps, pairs = self.in_logs(frames.gaps), {}

        def between(t, left, right, log_mass):
            pairs[t] = self.log_pairs(left, right, t) - log_mass

        _, gamma = smooth_log(
            self.log_first(), steps.ahead, steps.back, self.log_frames(frames),
            self.graph.log_final,
            between,
        )  # fmt: skip
        before = np.searchsorted(times, grid, side="right") - 1
        inside = (times[before] < grid) & (before < len(times) - 1)
        out = np.zeros((len(grid), self.graph.n_states))
        for row in np.flatnonzero(~inside):
            np.add.at(out[row], self.graph.node_states, np.exp(gamma[before[row]]))
        later = np.flatnonzero(grid > times[-1])
        if len(later):
            onwards = np.exp(self._logs(grid[later] - times[-1]))
            out[later] = (out[later][:, None] @ onwards)[:, 0]
        left = self._logs(grid[inside] - times[before[inside]])
        right = self._logs(times[before[inside] + 1] - grid[inside])
        marked = is_marked(frames.gaps)
        for k, row in enumerate(np.flatnonzero(inside)):
            t = before[row] + 1
            arrive = product(right[k], self.entries.log_matrix) if marked[t] else right[k]
            terms = pairs[t][:, None, :] + left[k][:, :, None] + arrive
            out[row] = np.exp(logsumexp(terms, axis=(0, 2)))
            out[row] /= out[row].sum()
        return out

    def _logs(self, lengths):
        matrices, log_scales = self.rates.matrices(lengths)
        with np.errstate(divide="ignore"):
            return np.log(matrices) + log_scales[:, None, None]

    def ahead(self, matrix, t, v):
        sources, targets, base = self._edges(t)
        return np.bincount(targets, v[sources] * matrix.ravel()[base], len(v))

    def reaches(self, positive):
        """Which states follow which, spread by costs: however high, a cost excludes nothing."""
        found = np.eye(self.graph.n_states, dtype=bool)
        if positive:
            found = found | reachable(self.generator)
        return np.tile(found.astype(np.float64), (len(self._costs), 1))

    def columns(self, matrix, t, nodes):
        sources, targets, base = self._edges(t)
        out = np.zeros((len(nodes), self.graph.n_nodes))
        weights = self.spread(matrix[None]).ravel()
        for row, node in enumerate(nodes):
            into = targets == node
            out[row, sources[into]] = weights[base[into]]
        return out

    def edges(self, log_matrix, t):
        sources, targets, base = self._edges(t)
        weights = self._log_spread(log_matrix)[base]
        possible = weights > -np.inf
        return sources[possible], targets[possible], weights[possible]

    def log_nodes(self, matrix, t):
        sources, targets, base = self._edges(t)
        out = np.full((self.graph.n_nodes,) * 2, -np.inf)
        out[sources, targets] = self._log_spread(matrix)[base]
        return out

    def in_logs(self, gaps):
        return _LogSteps(self, gaps)

    def entries_of_edges(self):
        """The rates of edges that are entries, 0 for others; -1 for an entry by several jumps."""
        S, pairs = self.graph.n_states, self.graph.base_edges
        entered = self.exact[pairs % S] & ~self.exact[pairs // S]
        direct = self.generator.ravel()[pairs]
        return np.where(entered, np.where(direct > 0, direct, -1.0), 0.0)

    def log_pairs(self, left, right, t):
        """log of what comes before a gap times what comes after it, by their states (S, S)."""
        sources, targets, base = self._edges(t)
        S = self.graph.n_states
        terms, out = left[sources] + right[targets], np.full(S * S, -np.inf)
        terms, base = terms - self._costs[base // S**2], base % S**2
        for edge in np.unique(base):
            out[edge] = logsumexp(terms[base == edge])
        return out.reshape(S, S)

    def _possible(self, positive):
        S = self.graph.n_states
        possible = np.zeros((S, S)) if positive else np.where(np.eye(S) > 0, 0.0, -np.inf)
        return np.tile(possible, (len(self._costs), 1))

    def _possible_entry(self, positive):
        return np.tile(super()._possible_entry(positive), (len(self._costs), 1))


class _LogSteps:
    """What happens between the observations of a sequence, in log space."""

    def __init__(self, chain, gaps):
        self.chain, self.gaps, self.marked = chain, lengths_of(gaps), is_marked(gaps)
        self.pairs, self.exponentials, self.matrices = {}, {}, {}
        for gap, marked in set(zip(self.gaps[1:].tolist(), self.marked[1:].tolist())):
            if gap not in self.exponentials:
                self.exponentials[gap] = LogExponential(chain.rates, gap)
            matrix = self.exponentials[gap].matrix
            self.matrices[gap, marked] = (
                product(matrix, chain.entries.log_matrix) if marked else matrix
            )

    def ahead(self, t, v):
        matrix = self.matrices[self.gaps[t], self.marked[t]]
        return sum_rows(v[:, None] + self.chain.log_nodes(matrix, t))

    def back(self, t, v):
        matrix = self.matrices[self.gaps[t], self.marked[t]]
        return sum_rows((self.chain.log_nodes(matrix, t) + v).T)

    def between(self, t, left, right, log_mass, weight):
        new = self.chain.log_pairs(left, right, t) - log_mass + np.log(weight)
        old = self.pairs.get((self.gaps[t], self.marked[t]))
        self.pairs[self.gaps[t], self.marked[t]] = new if old is None else np.logaddexp(old, new)

    def finish(self, totals):
        for (gap, marked), log_outer in self.pairs.items():
            if marked:
                log_entries = self.chain.entries.log_matrix
                before = product(self.exponentials[gap].matrix.T, log_outer)
                totals[0][:] += np.exp(before + log_entries)
                log_outer = product(log_outer, log_entries.T)
            if gap > 0:
                integral = np.exp(self.exponentials[gap].integral(log_outer))
                _add_integral(self.chain.rates, integral, totals)


class _ObservedPlan:
    """One matrix between states for each distinct gap."""

    def __init__(self, chain, numbered):
        graph, self.rates, self.gaps = chain.graph, chain.rates, numbered.lengths
        self.entries, self.marked, rates = chain.entries, numbered.marked, self.rates
        self.matrices, log_scales = rates.matrices(numbered.lengths)
        self.scales = np.exp(log_scales)[:, None, None]
        self.matrices *= self.scales
        self.plain = self.matrices[self.marked]  # without the entries after them
        if self.marked.any():
            self.matrices[self.marked] = self.plain @ np.exp(self.entries.log_matrix)
        reach = graph.support | np.eye(graph.n_states, dtype=bool)
        if self.marked.any():
            entered = reach @ (self.entries.matrix > 0)
            reach = np.where(self.marked[:, None, None], entered, reach)
        small = ((self.matrices < 1e-270) & reach).any(axis=(1, 2)) & (self.gaps > 0)
        spread = chain.spread(self.matrices)
        self.shape = spread.shape
        self.steps = Steps(
            graph.layout, base_edges=chain.base_edges, matrices=spread, rest=small,
            width=spread[0].size if len(spread) else 0, enters=self.marked,
            entries=None if chain.entries is None else chain.entries_of_edges(),
        )  # fmt: skip

    def room(self):
        return None, None, np.zeros(self.shape)

    def collect(self, parts, totals):
        pairs = parts[2].reshape(len(self.matrices), -1, *self.matrices.shape[1:]).sum(axis=1)
        used = (pairs > 0).any(axis=(1, 2)) & (self.gaps > 0)
        outer = np.divide(pairs, self.matrices, out=np.zeros_like(pairs), where=self.matrices > 0)
        if self.marked.any():
            rates = np.exp(self.entries.log_matrix)
            totals[0][:] += (self.plain.transpose(0, 2, 1) @ outer[self.marked]).sum(axis=0) * rates
            outer[self.marked] = outer[self.marked] @ rates.T
        integral = self.rates.integrals(self.gaps[used], outer[used] * self.scales[used])
        _add_integral(self.rates, integral, totals)


def _add_integral(rates, integral, totals):
    totals[1][:] += np.diag(integral)
    totals[0][rates.sources, rates.targets] += integral[rates.sources, rates.targets] * rates.rates
