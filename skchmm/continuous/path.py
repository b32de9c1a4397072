"""Constraints on the jump path: a killed generator on the live nodes."""

import numpy as np

from .._kernels.continuous.steps import Steps
from ..emissions.base import Frames
from ..graph import AugmentedGraph
from ..inference.settings import settings
from .chain import ContinuousChain
from .draws import filtered
from .entries import Entries, is_marked, lengths_of, mark
from .generator import LIMIT, Generator
from .log_vectors import LogVectors
from .rows import FLOORS, RowSearch, RowTable
from .search import Search


class _PairGraph(AugmentedGraph):
    """All reachable pairs as they are."""

    def _merge(self, tables, live, states, accept):
        return np.arange(len(states))


class PathChain(ContinuousChain):
    """The constraint binds the jump path: a killed generator on the live nodes."""

    floors = (1e-30, 1e-100, None)

    def __init__(self, graph, startprob, generator, exact=None):
        super().__init__(graph, startprob, generator, exact)
        self.rates = Generator.of_graph(graph, self.generator)
        if exact is not None:
            self.entries = Entries(self.rates, exact[graph.node_states])
        self._decoder = self._row_table = None

    @property
    def decoder(self):
        """The chain on all reachable pairs of a state and a controller state.

        Pairs with the same future are one node of the graph where the chain has zeros. For sums
        that makes no difference. But the best pairs at the observations should not depend on it.
        """
        if self._decoder is None:
            graph = self.graph
            pairs = _PairGraph(graph.controller, graph.start_support, graph.support)
            same = pairs.n_nodes == graph.n_nodes
            self._decoder = self
            if not same:
                self._decoder = PathChain(pairs, self.start, self.generator, self.exact)
        return self._decoder

    def _searches(self, *problem):
        floors = self._row_floors(*problem[:2])
        for floor in floors:
            yield RowSearch(self, self._row_table, *problem, floor)
        if floors:
            yield Search(self, *problem, self.matrices)
        else:
            yield from super()._searches(*problem)

    def _row_floors(self, numbered, frames):
        """What series may leave out, in turn, where rows are computed as needed; empty: not here.

        It is better if gaps are so many, or so different, that matrices would not be used again.
        """
        N = self.rates.n_nodes
        many = 2 * len(numbered) > frames.n_steps
        large = 8 * N * N * len(numbered) > settings.matrix_bytes
        if not (many or large) or settings.row_nodes < N or numbered.marked.any():
            return []
        if self._row_table is None:
            self._row_table = RowTable(self.rates)
        return [floor for floor in FLOORS if self._row_table.limit(floor) > 0]

    def plan(self, numbered, floor, counts):
        return _PathPlan(self, numbered, floor, counts)

    def log_nodes(self, matrix, t):
        return matrix

    def in_logs(self, gaps):
        return _LogSteps(self, gaps)

    def marginals_at(self, frames, times, grid):
        """P(state at the times of a grid | Y, Acc), (n, S); the times are those of the steps.

        The grid joins the observations as steps at which nothing was observed. After the last
        observation, every time is the end of a path of its own.
        """
        later = grid > times[-1]
        if later.any():
            out = np.empty((len(grid), frames.n_states))
            out[~later] = self.marginals_at(frames, times, grid[~later])
            out[later] = self._marginals_after(frames, grid[later] - times[-1])
            return out
        T = len(times)
        order = np.argsort(np.concatenate([times, grid]), kind="stable")
        index = np.arange(T) if frames.index is None else frames.index
        index = np.concatenate([index, np.full(len(grid), len(frames.table))])[order]
        table = np.concatenate([frames.table, np.zeros((1, frames.n_states))])
        gaps = np.diff(np.concatenate([times, grid])[order], prepend=times[0])
        marked = np.concatenate([is_marked(frames.gaps), np.zeros(len(grid), dtype=bool)])
        gaps = mark(gaps, marked[order])
        smoothed = self.smooth(Frames(table, index, gaps=gaps), np.array([0, len(order)]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return smoothed.posteriors[place[T:]]

    def _marginals_after(self, frames, since):
        """P(state | Y, the path that ends there obeys the rules), so long after the last step."""
        order = np.argsort(since, kind="stable")
        index = np.arange(frames.n_steps) if frames.index is None else frames.index
        index = np.concatenate([index, np.full(len(since), len(frames.table))])
        table = np.concatenate([frames.table, np.zeros((1, frames.n_states))])
        gaps = np.concatenate([frames.gaps, np.diff(since[order], prepend=0.0)])
        ends = filtered(self, Frames(table, index, gaps=gaps))[frames.n_steps :]
        ends = ends + self.graph.log_final
        ends = np.exp(ends - ends.max(axis=1, keepdims=True))
        out = np.zeros((len(since), frames.n_states))
        np.add.at(out.T, self.graph.node_states, ends.T)
        found = np.empty_like(out)
        found[order] = out / out.sum(axis=1, keepdims=True)
        return found

    def ahead(self, matrix, t, v):
        """A vector over the nodes after the gap before step t, whose matrix this is."""
        return v @ matrix

    def reaches(self, positive):
        """What can follow what over a gap, as a matrix of ones and zeros."""
        return (self._possible(positive) == 0.0).astype(np.float64)

    def columns(self, matrix, t, nodes):
        """Into each of some nodes at step t, (n, N)."""
        return matrix[:, nodes].T

    def edges(self, log_matrix, t):
        """Sources, targets and log weights of what can happen before step t."""
        sources, targets = np.nonzero(log_matrix > -np.inf)
        return sources, targets, log_matrix[sources, targets]

    def _possible(self, positive):
        N = self.graph.n_nodes
        reach = np.eye(N, dtype=bool)
        reach[self.rates.sources, self.rates.targets] |= self.rates.rates > 0
        known = 0 if positive else -1
        reach = reach if positive else np.eye(N, dtype=bool)
        while known not in (-1, reach.sum()):
            known = reach.sum()
            reach = (reach.astype(np.float32) @ reach) > 0
        return np.where(reach, 0.0, -np.inf)


class _LogSteps:
    """What happens between the observations of a sequence, in log space."""

    def __init__(self, chain, gaps):
        self.chain, self.gaps, self.marked = chain, lengths_of(gaps), is_marked(gaps)
        self.vectors = LogVectors(chain.rates)
        self.edges, self.stays = np.zeros(len(chain.rates.rates)), np.zeros(chain.rates.n_nodes)

    def ahead(self, t, v):
        v = self.vectors.ahead(v, self.gaps[t])
        return self.chain.entries.ahead(v) if self.marked[t] else v

    def back(self, t, v):
        v = self.chain.entries.back(v) if self.marked[t] else v
        return self.vectors.back(v, self.gaps[t])

    def between(self, t, left, right, log_mass, weight):
        if self.marked[t]:
            entries, before = self.chain.entries, self.vectors.ahead(left, self.gaps[t])
            terms = before[entries.sources] + entries.log_rates + right[entries.targets]
            self.edges[entries.is_entry] += weight * np.exp(terms - log_mass)
            right = entries.back(right)
        self.vectors.count(left, right, self.gaps[t], log_mass, weight, self.edges, self.stays)

    def finish(self, totals):
        self.vectors.finish(self.edges, self.stays)
        _add_by_state(self.chain.graph, self.edges, self.stays, totals)


class _PathPlan:
    """Which gaps become matrices of their own, which are put together from a ladder."""

    def __init__(self, chain, numbered, floor, counts):
        graph, rates = self.graph, self.rates = chain.graph, chain.rates
        N = rates.n_nodes
        lams = numbered.lengths * rates.rate
        # A matrix costs about as much as a few vectors; its integral as much as N^2 / 10 more.
        often = 8 + N * N // max(len(rates.rates), 1)
        often = max(often, N * N // 10) if counts else often
        own = np.flatnonzero((numbered.counts >= often) & (lams <= LIMIT) & (lams > 0))
        own = own[np.argsort(-numbered.counts[own], kind="stable")]
        own = own[: settings.matrix_bytes // max(8 * N * N, 1)]
        self.own_gaps = numbered.lengths[own]
        factor_of = np.full(len(lams), -1)
        factor_of[own] = np.arange(len(own))
        splits = [rates.split(lam) if k < 0 else ([], 0.0) for lam, k in zip(lams, factor_of)]
        self.first_rung = min((min(r) for r, _ in splits if r), default=0)
        self.n_rungs = max((max(r) + 1 for r, _ in splits if r), default=self.first_rung)
        rungs = range(self.first_rung, self.n_rungs)
        factors = [
            [k] if k >= 0 else [len(own) + r - self.first_rung for r in chosen]
            for k, (chosen, _) in zip(factor_of, splits)
        ]
        matrices = np.empty((len(own) + len(rungs), N, N))
        matrices[: len(own)] = rates.matrices(self.own_gaps)[0]
        for place, rung in enumerate(rungs, len(own)):
            matrices[place] = rates.ladder.matrix(rung)
        self.n_factors = len(matrices)
        self.steps = Steps(
            graph.layout,
            matrices=matrices,
            weights=rates.weights,
            diagonal=rates.diagonal,
            log_scales=[0.0] * len(own) + [rates.ladder.log_scale(r) for r in rungs],
            indptr=np.concatenate([[0], np.cumsum([len(f) for f in factors])]),
            factors=[f for each in factors for f in each],
            rest=[rest for _, rest in splits],
            order=rates.sinks_first[0],
            component=rates.sinks_first[1],
            floor=floor,
            enters=numbered.marked,
            entries=None if chain.entries is None else chain.entries.of_edges(),
            rate=rates.rate,
        )

    def room(self):
        N = self.rates.n_nodes
        return np.zeros(len(self.rates.rates)), np.zeros(N), np.zeros((self.n_factors, N, N))

    def collect(self, parts, totals):
        edges, stays, outer = parts
        rates, own = self.rates, len(self.own_gaps)
        edges, stays = edges * rates.weights, stays / rates.rate
        integral = np.zeros((rates.n_nodes, rates.n_nodes))
        if own:
            integral += rates.integrals(self.own_gaps, outer[:own])
        if self.n_factors > own:
            rungs = np.zeros((self.n_rungs, *integral.shape))
            rungs[self.first_rung :] = outer[own:]
            integral += rates.ladder.integral(rungs)
        edges += integral[rates.sources, rates.targets] * rates.rates
        stays += np.diag(integral)
        _add_by_state(self.graph, edges, stays, totals)


def _add_by_state(graph, edges, stays, totals):
    """Add jumps along edges and times at nodes to those between and in states."""
    S = graph.n_states
    jumps = np.bincount(graph.base_edges, weights=edges, minlength=S * S)
    totals[0][:] += jumps.reshape(S, S)
    totals[1][:] += np.bincount(graph.node_states, weights=stays, minlength=S)
