"""Chains in continuous time, on the nodes of an augmented graph, observed at irregular times."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._kernels.continuous.forward_backward import feasible_steps, forward_backward
from .._kernels.data.finite import same_bits
from .._kernels.shared.scaling import scale_rows
from ..emissions.base import Frames, check_size
from ..inference.chain import Smoothed
from ..inference.levels import add_levels, sum_of_levels, take_off_levels
from ..inference.schedule import spread
from ..inference.settings import settings
from ..inference.sums import mark_infeasible
from .draws import draw_nodes
from .entries import is_marked, lengths_of, mark, with_entries
from .filtering import filter_marginals
from .generator import Gaps
from .kbest import best_distinct_paths
from .log_space import LogExponential, product, smooth_log
from .quadrature import time_off_clock
from .search import Search

# An entry this much above the floor is right.
CERTAIN = 1e12


class JumpCounts(NamedTuple):
    """Expected counts in continuous time, weighted by sequence."""

    jumps: np.ndarray  # (S, S) numbers of jumps
    stays: np.ndarray  # (S,) times spent


class ContinuousChain:
    """What the two readings of a constraint in continuous time share.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : float64 (S,)
    generator : float64 (S, S)
    exact : bool (S,), optional
        States whose entry is observed when it happens; they are never left.
    """

    base_edges = None  # of the graph, where matrices are between states
    takes_parts = False  # whether frames may still have to be computed
    # Decoding computes matrices up to a floor, below which their entries are bounds from above. A
    # best path that needs none of these is best whatever they are; otherwise the floor is lowered.
    floors: tuple[float | None, ...] = (None,)

    def __init__(self, graph, startprob, generator, exact=None):
        self.graph, self.exact = graph, exact
        self.entries = None
        self.start = np.array(startprob, dtype=np.float64)
        self.generator = np.array(generator, dtype=np.float64)
        self.first = self.start
        with np.errstate(divide="ignore"):
            self.log_start = np.log(self.start)
        if graph.breaks is not None:
            self.first = self.start * np.exp(-graph.start_costs)
            self.log_start = self.log_start - graph.start_costs

    def spread(self, matrices):
        """Matrices as `ahead` takes them: of nodes, or of states where costs are in them."""
        return matrices

    def has(self, startprob, generator):
        """Whether these are the chain's parameters."""
        return same_bits(self.start, startprob) and same_bits(self.generator, generator)

    def _check(self, frames, offsets):
        """Kernels rely on the size of frames, and on tables that reach as far as a sequence."""
        check_size(frames, self.graph.n_states, offsets[-1])
        if self.graph.controller.horizon is not None:
            self.graph.controller.check_lengths(offsets)

    def under(self, graph):
        """The chain with the same parameters on another graph."""
        return type(self)(graph, self.start, self.generator, self.exact)

    def with_entries(self, frames, offsets):
        """The frames of observations, with the gaps before entries marked."""
        return frames if self.exact is None else with_entries(frames, offsets, self.exact)

    def matrices(self, lengths, marked, floor=None):
        """What happens in gaps, and in entries after those that are marked; see `Generator`."""
        found = self.rates.matrices(lengths, floor)
        return found if self.entries is None else self.entries.after(*found, marked)

    # ------------------------------------------------------- likelihood, marginals
    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._forward_backward(frames, offsets, None, n_jobs, False, False).log_z

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected jumps and times spent."""
        return self._forward_backward(frames, offsets, seq_weights, n_jobs, True, counts)

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        self._check(frames, offsets)
        numbered = Gaps(frames.gaps, offsets)
        scaled = scale_rows(frames.table)
        index = frames.index
        n_sequences = len(offsets) - 1
        log_z = np.full(n_sequences, -np.inf)
        redo = np.zeros(n_sequences, dtype=np.uint8)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None
        totals = self._no_counts() if counts else None
        todo = np.arange(n_sequences if self.graph.n_nodes else 0)
        for level, floor in enumerate(settings.negligible if len(todo) else ()):
            plan = self.plan(numbered, floor, counts)

            def run(begin, end, plan=plan, chosen=todo):
                mine = np.ascontiguousarray(chosen[begin:end])
                room = plan.room() if counts else (None, None, None)
                forward_backward(
                    plan.steps, self.first, *scaled, index, offsets, numbered.index,
                    seq_weights, mine, log_z, redo, posteriors, *room,
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
        for s in todo:
            weight = 1.0 if seq_weights is None else seq_weights[s]
            part = slice(offsets[s], offsets[s + 1])
            log_z[s] = self._in_logs(frames, part, weight, posteriors, totals)
        mark_infeasible(posteriors, log_z, offsets)
        return Smoothed(log_z, posteriors, totals)

    def _no_counts(self):
        S = self.graph.n_states
        return JumpCounts(np.zeros((S, S)), np.zeros(S))

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
        possible = (self.log_start > -np.inf).astype(np.float64)
        return feasible_steps(
            steps, possible, frames.table, frames.index, numbered.lengths, numbered.index,
            offsets[s], offsets[s + 1] - offsets[s],
        )  # fmt: skip

    def alive_steps(self, frames):
        """Steps of one sequence until the last path dies; its length + 1 if some are accepted."""
        if self.graph.n_nodes == 0:
            return 0
        offsets = np.array([0, frames.n_steps])
        numbered = Gaps(frames.gaps, offsets)
        return self._alive(self.plan(numbered, 1e-1, False).steps, frames, offsets, numbered, 0)

    def completes(self, frames):
        """Whether one sequence has a feasible path."""
        return self.alive_steps(frames) == frames.n_steps + 1

    def death(self, frames):
        """Where the last path of a sequence without a feasible one dies; see `Explanation`.

        Returns
        -------
        position, forward_position : int
        """
        dense = np.where(frames.dense() > -np.inf, 0.0, -np.inf)
        low, high = 0, frames.n_steps - 1
        while low < high:  # the first step whose observations, with those before, leave nothing
            middle = (low + high) // 2
            seen = dense.copy()
            seen[middle + 1 :] = 0.0
            if self.completes(Frames(seen, gaps=frames.gaps)):
                low = middle + 1
            else:
                high = middle
        return low, min(self.alive_steps(frames), frames.n_steps)

    # --------------------------------------------------------------- decoding
    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best labels, or state indices, at the observations, and log P (n_sequences,)."""
        nodes, log_prob = self.decoder.decode_nodes(frames, offsets, n_jobs=n_jobs)
        states = self.decoder.states_of(nodes)
        return states if labels is None else labels.take(states, mode="clip"), log_prob

    @property
    def decoder(self):
        """The chain among whose nodes the best are looked for."""
        return self

    def states_of(self, nodes):
        """The states of nodes; of sequences without any, anything."""
        return self.graph.node_states[nodes] if self.graph.n_nodes else nodes

    def decode_nodes(self, frames, offsets, *, n_jobs=None):
        """Most probable nodes at the observations: (nodes int32 (n,), log P (n_sequences,))."""
        self._check(frames, offsets)
        if self.graph.n_nodes == 0:
            nodes = np.zeros(frames.n_steps, dtype=np.int32)
            return nodes, np.full(len(offsets) - 1, -np.inf)
        levels = None
        if frames.huge:
            frames, levels = take_off_levels(frames)
        numbered = Gaps(frames.gaps, offsets)
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.full(len(offsets) - 1, -np.inf)
        todo = np.arange(len(offsets) - 1)
        for search in self._searches(numbered, frames, offsets, path, log_prob):
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
            if len(todo):
                search = Search(
                    self, numbered, frames, offsets, path, log_prob, self.exact_log_matrices
                )
                search.run(todo, n_jobs)
        if levels is not None:
            add_levels(log_prob, levels, frames, offsets)
        return path, log_prob

    def _searches(self, *problem):
        """Ways to look for best paths, in turn, until they are certain."""
        for floor in self.floors:
            weak = 0.0 if floor is None else CERTAIN * floor
            yield Search(self, *problem, self._bounded(floor), weak=weak)

    def _bounded(self, floor):
        """A function from gaps to matrices; below a floor, entries are upper bounds."""
        if floor is None:
            return self.matrices
        possible = {True: self._possible(True) == 0.0, False: np.eye(self.rates.n_nodes) > 0}

        def matrices(lengths, marked):
            out, log_scales = self.matrices(lengths, marked, floor)
            for k, length in enumerate(lengths):
                able = possible[bool(length > 0)]
                if marked[k]:
                    able = able @ (self.entries.matrix > 0)
                np.maximum(out[k], np.where(able, CERTAIN * floor, 0.0), out=out[k])
            return out, log_scales

        return matrices

    def best_feasible(self, frames, offsets, *, n_jobs=None):
        """The feasible paths with the largest sums of frame scores: (state indices, sums)."""
        positive = (lengths_of(frames.gaps) > 0).astype(np.float64)
        kinds = Gaps(mark(positive, is_marked(frames.gaps)), offsets)
        possible = np.array(
            [
                self._possible_entry(length > 0) if marked else self._possible(length > 0)
                for length, marked in zip(kinds.lengths, kinds.marked)
            ]
        )
        path = np.empty(frames.n_steps, dtype=np.int32)
        log_prob = np.full(len(offsets) - 1, -np.inf)
        first = np.where(self.log_first() > -np.inf, 0.0, -np.inf)
        search = Search(
            self, kinds, frames, offsets, path, log_prob, fixed=(possible, None), first=first,
            final=np.where(self.graph.accept, 0.0, -np.inf),
        )  # fmt: skip
        search.run(np.arange(len(log_prob)), n_jobs)
        return self.states_of(path), log_prob

    def _possible_entry(self, positive):
        """What can follow what over a gap that ends with an entry: 0, or -inf."""
        able = (self.reaches(positive) > 0) @ (self.entries.matrix > 0)
        return np.where(able, 0.0, -np.inf)

    def exact_log_matrices(self, lengths, marked):
        """Logarithms of exponentials, however small."""
        found = [LogExponential(self.rates, gap).matrix for gap in lengths]
        return np.array(
            [product(m, self.entries.log_matrix) if k else m for m, k in zip(found, marked)]
        ), None

    # ------------------------------------------------- answers about one sequence
    def best_paths(self, frames, offsets, k, labels, *, n_jobs=None):
        """The k best paths of each sequence that differ in their states, as (log P, labels)."""
        found = [
            best_distinct_paths(self.decoder, frames.part(*steps), k)
            for steps in pairwise(offsets.tolist())
        ]
        return [[(log_prob, labels[path]) for log_prob, path in paths] for paths in found]

    def draw_paths(self, frames, n_paths, random_state):
        """Draws of feasible states at the observations, (n_paths, T); see `draw_nodes`."""
        return self.states_of(draw_nodes(self, frames, n_paths, random_state))

    def durations(self, frames, members, gap_map=None):
        """Expected time in the states marked in `members`, entries into them, time per entry.

        With the map of a clock, the time is the user's. Empty if there is no feasible path.
        """
        smoothed = self.smooth(frames, np.array([0, frames.n_steps]), counts=True)
        if np.isneginf(smoothed.log_z[0]):
            return ()
        jumps, stays = smoothed.counts
        time = stays[members].sum()
        if gap_map is not None:
            time = time_off_clock(self, frames, members, gap_map)
        visits = smoothed.posteriors[0, members].sum() + jumps[~members][:, members].sum()
        return time, visits, time / visits if visits > 0 else np.nan

    def step_cost(self, t, source, target):
        """What soft rules cost that the step to t breaks, besides what the rates say."""
        return 0.0

    def filter(self, frames, offsets, *, n_jobs=None):
        """P(x_t | y_0..y_t, a completion is feasible), (n_steps, S); NaN once no path is left."""
        self._check(frames, offsets)
        return filter_marginals(self, frames, offsets)

    def log_first(self):
        first = np.full(self.graph.n_nodes, -np.inf)
        able = self.graph.start_nodes >= 0
        first[self.graph.start_nodes[able]] = self.log_start[able]
        return first

    def log_frames(self, frames):
        """Log-likelihoods (T, N) of steps under the states of nodes, without huge levels."""
        return take_off_levels(frames)[0].dense()[:, self.graph.node_states]

    def _in_logs(self, frames, part, weight, posteriors, totals):
        """One sequence in log space: fills its posteriors, adds its counts, returns log Z."""
        frames = frames.part(part.start, part.stop)
        steps = self.in_logs(frames.gaps)
        counting = totals is not None and weight > 0
        log_z, gamma = smooth_log(
            self.log_first(), steps.ahead, steps.back, self.log_frames(frames),
            self.graph.log_final,
            (lambda *gap: steps.between(*gap, weight)) if counting else None,
        )  # fmt: skip
        if log_z > -np.inf and posteriors is not None:
            posteriors[part] = 0.0
            for m, state in enumerate(self.graph.node_states):
                posteriors[part, state] += np.exp(gamma[:, m])
        if log_z > -np.inf and counting:
            steps.finish(totals)
        return log_z + sum_of_levels(frames)


def _offsets_of(offsets, chosen):
    """Offsets of the chosen sequences, as if they were the only ones."""
    return np.concatenate([[0], np.cumsum(offsets[chosen + 1] - offsets[chosen])])


def _total(parts):
    return None if parts[0] is None else sum(parts)
