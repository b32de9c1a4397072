"""Chains in continuous time, on the nodes of an augmented graph, observed at irregular times."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ._gapped_log import LogExponential, smooth_log
from ._generator import LIMIT, Generator
from ._kernels.forward_backward import scale_rows
from ._kernels.gapped import Steps, feasible_steps, forward_backward
from ._kernels.gapped_viterbi import best_steps
from ._times import TimedFrames
from .graph import AugmentedGraph
from .inference import _spread as spread
from .inference import longest

# What is left out of a sum, and the smallest alpha . beta for which that is negligible.
LEVELS = ((1e-30, 1e-14), (1e-100, 1e-84), (1e-280, 1e-262))
MATRIX_BYTES = 1 << 28


class Smoothed(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray  # (n_steps, S) P(x_t | Y, Acc)
    jumps: np.ndarray | None  # (S, S) expected numbers, weighted by sequence
    stays: np.ndarray | None  # (S,) expected times spent


class Gaps:
    """The distinct gaps before steps, and which of them is before each."""

    def __init__(self, gaps, offsets):
        inside = np.ones(len(gaps), dtype=bool)
        inside[offsets[:-1]] = False
        self.lengths, index, self.counts = np.unique(
            gaps[inside], return_inverse=True, return_counts=True
        )
        self.index = np.zeros(len(gaps), dtype=np.int32)
        self.index[inside] = index
        if len(self.lengths) == 0:
            self.lengths, self.counts = np.zeros(1), np.zeros(1, dtype=np.int64)

    def __len__(self):
        return len(self.lengths)


class GappedChain:
    """What the two readings of a constraint in continuous time share.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : float64 (S,)
    generator : float64 (S, S)
    """

    base_edges = None  # of the graph, where matrices are between states

    def __init__(self, graph, startprob, generator):
        self.graph = graph
        self.start = np.array(startprob, dtype=np.float64)
        self.generator = np.array(generator, dtype=np.float64)
        with np.errstate(divide="ignore"):
            self.log_start = np.log(self.start)

    def has(self, startprob, generator):
        """Whether these are the chain's parameters."""
        return np.array_equal(self.start, startprob) and np.array_equal(self.generator, generator)

    # ------------------------------------------------------- likelihood, marginals
    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._forward_backward(frames, offsets, None, n_jobs, False, False).log_z

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected jumps and times spent."""
        return self._forward_backward(frames, offsets, seq_weights, n_jobs, True, counts)

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        self.graph.controller.check_length(longest(offsets))
        numbered = Gaps(frames.gaps, offsets)
        scaled = scale_rows(frames.table)
        index = _index(frames)
        n_sequences = len(offsets) - 1
        log_z = np.full(n_sequences, -np.inf)
        redo = np.zeros(n_sequences, dtype=np.uint8)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None
        totals = self._no_counts() if counts else None
        todo = np.arange(n_sequences)
        for level, (floor, check) in enumerate(LEVELS):
            plan = self.plan(numbered, floor, counts)

            def run(begin, end, plan=plan, check=check, chosen=todo):
                mine = np.ascontiguousarray(chosen[begin:end])
                room = plan.room() if counts else (None, None, None)
                forward_backward(
                    plan.steps, self.start, *scaled, index, offsets, numbered.index,
                    seq_weights, mine, check, log_z, redo, posteriors, *room,
                )  # fmt: skip
                return room

            parts = spread(run, _offsets_of(offsets, todo), n_jobs)
            if counts:
                plan.collect([_total(each) for each in zip(*parts)], totals)
            todo = np.flatnonzero(redo)
            if level == 0:
                todo = self._drop_infeasible(todo, plan.steps, frames, offsets, numbered, log_z)
            if len(todo) == 0:
                break
            redo[:] = 0
        for s in todo if self.graph.n_nodes else ():
            weight = 1.0 if seq_weights is None else seq_weights[s]
            part = slice(offsets[s], offsets[s + 1])
            log_z[s] = self._in_logs(frames, part, frames.gaps[part], weight, posteriors, totals)
        if marginals:
            for s in np.flatnonzero(np.isneginf(log_z)):
                posteriors[offsets[s] : offsets[s + 1]] = np.nan
        return Smoothed(log_z, posteriors, *(totals if counts else (None, None)))

    def _no_counts(self):
        S = self.graph.n_states
        return np.zeros((S, S)), np.zeros(S)

    def _drop_infeasible(self, chosen, steps, frames, offsets, numbered, log_z):
        """The chosen sequences that are not impossible; log_z is -inf for the others."""
        left = []
        for s in chosen:
            alive = self._alive(steps, frames, offsets, numbered, s)
            if alive > offsets[s + 1] - offsets[s]:
                left.append(s)
            else:
                log_z[s] = -np.inf
        return np.array(left, dtype=np.int64)

    def _alive(self, steps, frames, offsets, numbered, s):
        return feasible_steps(
            steps, self.start, frames.table, _index(frames), numbered.lengths, numbered.index,
            offsets[s], offsets[s + 1] - offsets[s],
        )  # fmt: skip

    def alive_steps(self, frames, offsets, s):
        """Steps of sequence s until the last path dies; its length + 1 if some are accepted."""
        numbered = Gaps(frames.gaps, offsets)
        return self._alive(self.plan(numbered, 1e-1, False).steps, frames, offsets, numbered, s)

    def log_first(self):
        first = np.full(self.graph.n_nodes, -np.inf)
        able = self.graph.start_nodes >= 0
        first[self.graph.start_nodes[able]] = self.log_start[able]
        return first

    def log_frames(self, frames):
        """Log-likelihoods (T, N) of steps under the states of nodes."""
        return frames.dense()[:, self.graph.node_states]

    def _in_logs(self, frames, part, gaps, weight, posteriors, totals):
        """One sequence in log space: fills its posteriors, adds its counts, returns log Z."""
        exponentials = self._log_exponentials(gaps[1:])
        log_z, gamma, between = smooth_log(
            self.log_first(),
            lambda t: self.log_nodes(exponentials[gaps[t]].matrix, t),
            self.log_frames(frames.part(part.start, part.stop)),
            self.graph.accept,
        )
        if log_z > -np.inf and posteriors is not None:
            posteriors[part] = 0.0
            rows = posteriors[part]
            for m, state in enumerate(self.graph.node_states):
                rows[:, state] += np.exp(gamma[:, m])
        if log_z > -np.inf and totals is not None:
            outer = {}
            for t in range(1, len(gaps)):
                new = self._log_outer(between[t], t)
                old = outer.get(gaps[t])
                outer[gaps[t]] = new if old is None else np.logaddexp(old, new)
            for gap, log_outer in outer.items():
                if gap > 0:
                    self._add_counts(
                        weight * np.exp(exponentials[gap].integral(log_outer) + self._log_rates()),
                        totals,
                    )
        return log_z

    def _log_exponentials(self, gaps):
        return {gap: LogExponential(self.rates, gap) for gap in np.unique(gaps)}

    def _log_rates(self):
        """log of what turns an integral into expected jumps (off) and times (on the diagonal)."""
        rates = np.zeros((self.rates.n_nodes,) * 2)
        rates[self.rates.sources, self.rates.targets] = self.rates.rates
        np.fill_diagonal(rates, 1.0)
        with np.errstate(divide="ignore"):
            return np.log(rates)

    def _add_counts(self, matrix, totals):
        """Add expected jumps (off the diagonal) and times (on it) between nodes."""
        states = self._states
        np.add.at(totals[1], states, np.diag(matrix))
        matrix = matrix - np.diag(np.diag(matrix))
        np.add.at(totals[0], (states[:, None], states), matrix)

    # -------------------------------------------------------------- decoding
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
        if fixed is None and len(numbered) * size * size * 8 <= MATRIX_BYTES:
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
        part = slice(offsets[s], offsets[s + 1])
        N, index = graph.n_nodes, _index(frames)
        if N == 0:
            path[part] = 0
            return
        row = offsets[s] if index is None else index[offsets[s]]
        value = first + frames.table[row][graph.node_states]
        came_from = np.zeros((max(T - 1, 1), N), dtype=np.int32)
        work = np.empty((3, N))
        chunk = T if fixed is not None else max(1, MATRIX_BYTES // (8 * self.rates.n_nodes**2))
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


class _PairGraph(AugmentedGraph):
    """All live pairs as they are."""

    def _merge(self, tables, live, states, accept):
        return np.arange(len(states))


class PathChain(GappedChain):
    """The constraint binds the jump path: a killed generator on the live nodes."""

    def __init__(self, graph, startprob, generator):
        super().__init__(graph, startprob, generator)
        self.rates = Generator.of_graph(graph, self.generator)
        self._states = graph.node_states
        self._decoder = None

    @property
    def decoder(self):
        """The chain on all live pairs of a state and a state of the controller.

        Pairs with the same future are one node of the graph where the chain has zeros. For sums
        that makes no difference. But the best pairs at the observations should not depend on it.
        """
        if self._decoder is None:
            graph = self.graph
            pairs = _PairGraph(graph.controller, graph.start_support, graph.support)
            same = pairs.n_nodes == graph.n_nodes
            self._decoder = self if same else PathChain(pairs, self.start, self.generator)
        return self._decoder

    def plan(self, numbered, floor, counts):
        return _PathPlan(self.graph, self.rates, numbered, floor, counts)

    def log_nodes(self, matrix, t):
        return matrix

    def _log_outer(self, between, t):
        return between

    def marginals_at(self, frames, times, grid):
        """P(state at the times of a grid | Y, Acc), (n, S); the times are those of the steps.

        The grid joins the observations as steps at which nothing was observed.
        """
        T = len(times)
        order = np.argsort(np.concatenate([times, grid]), kind="stable")
        index = np.arange(T) if frames.index is None else frames.index
        index = np.concatenate([index, np.full(len(grid), len(frames.table))])[order]
        table = np.concatenate([frames.table, np.zeros((1, frames.n_states))])
        gaps = np.diff(np.concatenate([times, grid])[order], prepend=times[0])
        smoothed = self.smooth(TimedFrames(table, index, gaps), np.array([0, len(order)]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return smoothed.posteriors[place[T:]]

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


class _PathPlan:
    """Which gaps become matrices of their own, which are put together from a ladder."""

    def __init__(self, graph, rates, numbered, floor, counts):
        self.graph, self.rates = graph, rates
        N = rates.n_nodes
        lams = numbered.lengths * rates.rate
        # A matrix costs about as much as a few vectors; its integral as much as N^2 / 10 more.
        often = 8 + N * N // max(len(rates.rates), 1)
        often = max(often, N * N // 10) if counts else often
        own = np.flatnonzero((numbered.counts >= often) & (lams <= LIMIT) & (lams > 0))
        own = own[np.argsort(-numbered.counts[own], kind="stable")]
        own = own[: MATRIX_BYTES // max(8 * N * N, 1)]
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
            floor=floor,
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
        S = self.graph.n_states
        jumps = np.bincount(self.graph.base_edges, weights=edges, minlength=S * S)
        totals[0][:] += jumps.reshape(S, S)
        totals[1][:] += np.bincount(self.graph.node_states, weights=stays, minlength=S)


class ObservedChain(GappedChain):
    """The constraint binds the states at the observations; between them the chain is free."""

    def __init__(self, graph, startprob, generator):
        super().__init__(graph, startprob, generator)
        self.rates = Generator.of_states(self.generator)
        self._states = np.arange(graph.n_states)
        self.base_edges = graph.base_edges

    def plan(self, numbered, floor, counts):
        return _ObservedPlan(self.graph, self.rates, numbered)

    def _edges(self, t):
        """Edges into step t: sources, targets and base edges."""
        graph = self.graph
        e = int(np.searchsorted(graph.epochs, t, side="right")) - 1
        part = slice(graph.indptr[e, 0], graph.indptr[e, -1])
        targets = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr[e]))
        return graph.sources[part], targets, graph.base_edges[part]

    def marginals_at(self, frames, times, grid):
        """P(state at the times of a grid | Y, Acc), (n, S); the times are those of the steps.

        Given the states at both ends of a gap the chain is free within it.
        """
        numbered = Gaps(frames.gaps, np.array([0, len(times)]))
        log_matrices = self._logs(numbered.lengths)
        _, gamma, between = smooth_log(
            self.log_first(),
            lambda t: self.log_nodes(log_matrices[numbered.index[t]], t),
            self.log_frames(frames),
            self.graph.accept,
        )
        before = np.searchsorted(times, grid, side="right") - 1
        inside = (times[before] < grid) & (before < len(times) - 1)
        out = np.zeros((len(grid), self.graph.n_states))
        for row in np.flatnonzero(~inside):
            np.add.at(out[row], self.graph.node_states, np.exp(gamma[before[row]]))
        left = self._logs(grid[inside] - times[before[inside]])
        right = self._logs(times[before[inside] + 1] - grid[inside])
        for k, row in enumerate(np.flatnonzero(inside)):
            t = before[row] + 1
            terms = self._log_outer(between[t], t)[:, None, :] + left[k][:, :, None] + right[k]
            out[row] = np.exp(logsumexp(terms, axis=(0, 2)))
            out[row] /= out[row].sum()
        return out

    def _logs(self, lengths):
        matrices, log_scales = self.rates.matrices(lengths)
        with np.errstate(divide="ignore"):
            return np.log(matrices) + log_scales[:, None, None]

    def columns(self, matrix, t, nodes):
        sources, targets, base = self._edges(t)
        out = np.zeros((len(nodes), self.graph.n_nodes))
        for row, node in enumerate(nodes):
            into = targets == node
            out[row, sources[into]] = matrix.ravel()[base[into]]
        return out

    def edges(self, log_matrix, t):
        sources, targets, base = self._edges(t)
        weights = log_matrix.ravel()[base]
        possible = weights > -np.inf
        return sources[possible], targets[possible], weights[possible]

    def log_nodes(self, matrix, t):
        sources, targets, base = self._edges(t)
        out = np.full((self.graph.n_nodes,) * 2, -np.inf)
        out[sources, targets] = matrix.ravel()[base]
        return out

    def _log_outer(self, between, t):
        sources, targets, base = self._edges(t)
        S = self.graph.n_states
        out = np.full(S * S, -np.inf)
        for edge in np.unique(base):
            which = base == edge
            out[edge] = logsumexp(between[sources[which], targets[which]])
        return out.reshape(S, S)

    def _possible(self, positive):
        S = self.graph.n_states
        return np.zeros((S, S)) if positive else np.where(np.eye(S, dtype=bool), 0.0, -np.inf)


class _ObservedPlan:
    """One matrix between states for each distinct gap."""

    def __init__(self, graph, rates, numbered):
        self.rates, self.gaps = rates, numbered.lengths
        self.matrices, log_scales = rates.matrices(numbered.lengths)
        self.scales = np.exp(log_scales)[:, None, None]
        self.matrices *= self.scales
        reach = graph.support | np.eye(graph.n_states, dtype=bool)
        small = ((self.matrices < 1e-270) & reach).any(axis=(1, 2)) & (self.gaps > 0)
        self.steps = Steps(
            graph.layout, base_edges=graph.base_edges, matrices=self.matrices, rest=small
        )

    def room(self):
        return None, None, np.zeros_like(self.matrices)

    def collect(self, parts, totals):
        pairs = parts[2]
        used = (pairs > 0).any(axis=(1, 2)) & (self.gaps > 0)
        matrices = self.matrices[used]
        outer = np.divide(pairs[used], matrices, out=np.zeros_like(matrices), where=matrices > 0)
        integral = self.rates.integrals(self.gaps[used], outer * self.scales[used])
        totals[1][:] += np.diag(integral)
        totals[0][self.rates.sources, self.rates.targets] += (
            integral[self.rates.sources, self.rates.targets] * self.rates.rates
        )


def _index(frames):
    return None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)


def _offsets_of(offsets, chosen):
    """Offsets of the chosen sequences, as if they were the only ones."""
    return np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])


def _total(parts):
    return None if parts[0] is None else sum(parts)
