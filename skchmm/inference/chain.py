"""Exact inference on an augmented graph in discrete time: what can be asked.

Which kernel decodes is chosen here, which one sums in `sums.py`, by the thresholds in
`settings.py`; who works on which sequences is in `schedule.py`.
"""

from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._kernels.data.finite import same_bits
from .._kernels.discrete.draws import draw_paths
from .._kernels.discrete.log_space import forward_backward_log
from .._kernels.discrete.two_ended import handles
from .._kernels.discrete.viterbi import viterbi
from .._kernels.lanes.viterbi import lanes_viterbi
from ..emissions.base import HUGE, check_size
from ..graph.augmented import WIDTH
from ..graph.completion import Live, positions_of_death
from .delayed import decode_delayed, max_entries, products_of, sums_alone
from .filtering import filter_marginals
from .kbest import best_paths
from .levels import add_levels, take_off_levels
from .schedule import spread, threads_of, work_through
from .settings import settings
from .sums import Sums, mark_infeasible

FIRST = np.zeros(1, dtype=np.int64)  # the number of the first sequence
LOG_SMALLEST = -600.0  # well above the logarithm of the smallest double


class Smoothed(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray | None  # (n_steps, S) P(x_t | Y, Acc)
    counts: tuple | None  # expected counts, weighted by sequence; each kind of chain has its own


class TransitionCounts(NamedTuple):
    """Expected counts in discrete time."""

    transitions: np.ndarray  # (S, S)


class Durations(NamedTuple):
    """Expected time in a set of states, one value per sequence."""

    steps: np.ndarray  # expected number of steps
    visits: np.ndarray  # expected number of entries
    length: np.ndarray  # steps / visits, NaN without visits


class ScoredChain:
    """Paths on the nodes of an augmented graph, whose edges have scores of any size.

    Parameters
    ----------
    graph : AugmentedGraph
    log_start : float64 (S,)
    log_transmat : float64 (S, S)
        Scores of transitions.
    """

    def __init__(self, graph, log_start, log_transmat):
        self.graph = graph
        self.given = np.array(log_start, dtype=np.float64), np.array(log_transmat, dtype=np.float64)
        self.log_start, self.log_weights = graph.scored(*self.given)

    takes_parts = False  # whether frames may still have to be computed

    @cached_property
    def _max_entries(self):
        return self.graph.ahead.spread(self.log_weights, -np.inf)

    @property
    def delays(self):
        """The delay lines of its graph, where kernels gain by them; otherwise None.

        Graphs with several epochs or with soft rules have none: the edges of a line would differ.
        """
        delays = self.graph.delays
        return delays if delays is not None and delays.gain >= settings.delay_gain else None

    @cached_property
    def delay_entries(self):
        return max_entries(self)

    def _check(self, frames, offsets):
        """Kernels rely on the size of frames, and on tables that reach as far as a sequence."""
        check_size(frames, self.graph.n_states, offsets[-1])
        if self.graph.controller.horizon is not None:
            self.graph.controller.check_lengths(offsets)

    def by_node(self, table, frames):
        """A table that few rows serve many steps with has one column per node; nothing is gathered.

        Returns the table, and whether its columns are nodes.
        """
        index = frames.index
        if index is None or 4 * len(table) > len(index):
            return table, False
        return self.graph.layout.by_node(table), True

    def has(self, log_start, log_transmat):
        """Whether these are the chain's parameters."""
        return all(map(same_bits, self.given, (log_start, log_transmat)))

    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best paths: (labels, or state indices, (n_steps,), log scores (n_sequences,))."""
        self._check(frames, offsets)
        graph, delays = self.graph, self.delays
        whole_numbers = labels is None or labels.dtype.kind in "iu"
        of_states = graph.numbers
        if labels is not None and whole_numbers:
            of_states = labels.astype(np.int64, copy=False)
        path = np.empty(frames.n_steps, dtype=np.int64 if whole_numbers else labels.dtype)
        log_prob = np.empty(len(offsets) - 1)
        alone = len(offsets) == 2 <= settings.lanes_fill and delays is None
        if alone and threads_of(n_jobs, len(path)) == 1:
            # of a short sequence, what is said for many takes as long as the kernel
            whole = frames.whole()
            found = path if whole_numbers else np.empty(len(path), dtype=np.int64)
            viterbi(*_by_nodes(self, whole, offsets, of_states, found, log_prob))
            _decode_huge(self, whole, offsets, of_states, found, log_prob)
            if whole_numbers:
                return path if labels is None else path.astype(labels.dtype, copy=False), log_prob
            return labels.take(found, out=path, mode="clip"), log_prob

        def prepare(part, cut, order, begin, end):
            answer = path[offsets[begin] : offsets[end]]
            found = answer if whole_numbers else np.empty(len(answer), dtype=np.int64)
            decode = _decoding(self, part, cut, order, of_states, found, log_prob[begin:end])

            def run():
                decode()
                _decode_huge(self, part, cut, of_states, found, log_prob[begin:end])
                if not whole_numbers:
                    labels.take(found, out=answer, mode="clip")  # of an infeasible path, anything

            return run

        row_bytes = graph.n_nodes if graph.few_edges and graph.n_edges > 0 else None
        if delays is not None:
            row_bytes = delays.row_bytes
        work_through(prepare, frames, offsets, n_jobs, row_bytes)
        if labels is not None and whole_numbers:
            path = path.astype(labels.dtype, copy=False)
        return path, log_prob

    def best_feasible(self, frames, offsets, *, n_jobs=None):
        """The paths in the graph with the largest sums of frame scores: (state indices, sums)."""
        return self._weightless.decode(frames, offsets, n_jobs=n_jobs)

    @cached_property
    def _weightless(self):
        S = self.graph.n_states
        return ScoredChain(self.graph.free, np.zeros(S), np.zeros((S, S)))

    def completes(self, frames):
        """Whether one sequence has a feasible path, whatever its probability."""
        return self.best_feasible(frames, np.array([0, frames.n_steps]))[1][0] > -np.inf

    def death(self, frames):
        """Where the last path of a sequence without a feasible one dies; see `Explanation`."""
        return positions_of_death(self.graph, frames.dense() > -np.inf)

    def best_paths(self, frames, offsets, k, labels, *, n_jobs=None):
        """The k best paths of each sequence, a list of (score, labels), the best first."""
        if k > 1:
            self._check(frames, offsets)
            return best_paths(self, frames, offsets, k, labels)
        path, scores = self.decode(frames, offsets, labels=labels, n_jobs=n_jobs)
        return [
            [(score, path[begin:end])] if score > -np.inf else []
            for score, (begin, end) in zip(scores.tolist(), pairwise(offsets.tolist()))
        ]

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Normalisers and marginals, in log space."""
        return self._forward_backward(frames, offsets, True, n_jobs)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """Logarithm of the sum over all paths, for each sequence."""
        return self._forward_backward(frames, offsets, False, n_jobs).log_z

    def _forward_backward(self, frames, offsets, marginals, n_jobs):
        log_z = np.full(len(offsets) - 1, -np.inf)
        frames, levels = take_off_levels(frames)
        posteriors = np.empty((frames.n_steps, self.graph.n_states)) if marginals else None

        def run(begin, end):
            forward_backward_log(
                self.graph.layout, self.log_weights, self.log_start, frames.table, frames.index,
                offsets, None, np.arange(begin, end), settings.table_bytes, log_z, posteriors,
            )  # fmt: skip

        if self.graph.n_nodes > 0:
            spread(run, offsets, n_jobs)
        add_levels(log_z, levels, frames, offsets)
        mark_infeasible(posteriors, log_z, offsets)
        return Smoothed(log_z, posteriors, None)


class Chain(ScoredChain):
    """A Markov chain on the nodes of an augmented graph, ready for the kernels.

    Parameters
    ----------
    graph : AugmentedGraph
    startprob : float64 (S,)
    transmat : float64 (S, S)
        Never renormalised: what the graph leaves out is the constraint.
    """

    def __init__(self, graph, startprob, transmat):
        self.graph = graph
        self.start = np.array(startprob, dtype=np.float64)
        self.transmat = np.array(transmat, dtype=np.float64)
        self.first, self.weights = self.start, self.transmat.ravel()[graph.base_edges]
        if graph.breaks is not None:
            self.first = self.start * np.exp(-graph.start_costs)
            self.weights = self.weights * np.exp(-graph.edge_costs)

    takes_parts = True

    # EM makes a chain an iteration and seldom needs logarithms.
    @cached_property
    def given(self):
        with np.errstate(divide="ignore"):
            return np.log(self.start), np.log(self.transmat)

    @cached_property
    def _scored(self):
        return self.graph.scored(*self.given)

    @cached_property
    def log_start(self):
        return self._scored[0]

    @cached_property
    def log_weights(self):
        return self._scored[1]

    @cached_property
    def only_logs(self):
        """Whether soft rules weigh so much that a factor may be no double."""
        if self.graph.breaks is None:
            return False
        parts = self.log_start, self.log_weights, self.graph.log_final
        return min(part.min(initial=0.0, where=part > -np.inf) for part in parts) < LOG_SMALLEST

    @cached_property
    def smallest_weight(self):
        smallest = self.weights.min(initial=1.0)
        if not smallest > 0:
            smallest = self.weights.min(initial=1.0, where=self.weights > 0)
        if self.graph.breaks is None:
            return smallest
        final = np.exp(self.graph.log_final)
        return min(smallest, final.min(initial=1.0, where=final > 0))

    @cached_property
    def sum_entries(self):
        return self.graph.ahead.spread(self.weights, 0.0)

    @cached_property
    def back_entries(self):
        return self.graph.back.spread(self.weights, 0.0)

    @cached_property
    def delay_products(self):
        return products_of(self)

    @cached_property
    def live(self):
        """Which nodes are live at each step, at which steps all of them are, and whether always."""
        live = Live(self.graph).table
        all_live = live.all(axis=1)
        return live, all_live.astype(np.uint8), bool(all_live.all())

    def has(self, startprob, transmat):
        """Whether these are the chain's parameters."""
        return same_bits(self.start, startprob) and same_bits(self.transmat, transmat)

    def under(self, graph):
        """The chain with the same parameters on another graph."""
        return Chain(graph, self.start, self.transmat)

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected transition counts."""
        log_z, posteriors, edges = self._sums(frames, offsets, seq_weights, n_jobs, True, counts)
        if not counts:
            return Smoothed(log_z, posteriors, None)
        S = self.graph.n_states
        transitions = np.bincount(self.graph.base_edges, weights=edges, minlength=S * S)
        return Smoothed(log_z, posteriors, TransitionCounts(transitions.reshape(S, S)))

    def edge_counts(self, frames, offsets, *, seq_weights=None, n_jobs=None):
        """Likelihoods, marginals and the expected number of times that each edge is taken."""
        return self._sums(frames, offsets, seq_weights, n_jobs, True, True)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        return self._sums(frames, offsets, None, n_jobs, False, False)[0]

    def _sums(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        graph, S = self.graph, self.graph.n_states
        self._check(frames, offsets)
        log_z = np.empty(len(offsets) - 1)
        posteriors = np.empty((frames.n_steps, S)) if marginals else None
        if len(offsets) == 2 <= settings.lanes_fill and self.ends_meet:
            # of a short sequence, to choose among the ways would take longer than this one does
            whole = frames.whole()
            alone = Sums(self, whole, offsets, None, seq_weights, log_z, posteriors, counts)
            if len(alone.two_ended(FIRST)) == 0:
                mark_infeasible(posteriors, log_z, offsets)
                return log_z, posteriors, alone.edges

        def prepare(part, cut, order, begin, end):
            return Sums(
                self, part, cut, order, None if seq_weights is None else seq_weights[begin:end],
                log_z[begin:end], posteriors[offsets[begin] : offsets[end]] if marginals else None,
                counts,
            ).run  # fmt: skip

        row_bytes = alone = None
        several = len(offsets) > settings.lanes_fill
        if self.delays is not None and not (counts and graph.n_edges <= settings.delay_edges):
            row_bytes = None if counts else 2 * self.delays.row_bytes
            alone = partial(sums_alone, self.delays)
        elif several and 0 < graph.n_edges <= settings.lanes_edges and self.for_lanes:
            row_bytes = WIDTH * (graph.n_nodes + S)
        parts = work_through(
            prepare, frames, offsets, n_jobs, row_bytes, counts=counts, alone=alone
        )
        return log_z, posteriors, sum(parts) if counts else None

    @cached_property
    def ends_meet(self):
        """Whether `two_ended` is the first way for a single sequence."""
        return self.delays is None and not self.only_logs and handles(self.graph.layout)

    @property
    def for_lanes(self):
        """Whether lanes can hold its products."""
        return self.smallest_weight >= settings.lanes_smallest_weight and not self.only_logs

    def filter(self, frames, offsets, *, n_jobs=None):
        """P(x_t | y_0..y_t, a completion is feasible), (n_steps, S); NaN once no path is left."""
        self._check(frames, offsets)
        return filter_marginals(self, frames, offsets, n_jobs)

    def draw_paths(self, frames, n_paths, random_state):
        """Draws of feasible paths of one sequence, (n_paths, T) state indices.

        Without rows if there is no feasible path.
        """
        graph, T = self.graph, frames.n_steps
        graph.controller.check_length(T)
        frames, _ = take_off_levels(frames)
        paths = np.empty((n_paths, T), dtype=np.int32)
        possible = draw_paths(
            graph.layout, self.weights, self.log_weights, self.log_start, frames.table,
            frames.index, 0, settings.table_bytes, random_state.random_sample((T, n_paths)),
            paths,
        )  # fmt: skip
        return paths if possible else paths[:0]

    def durations(self, frames, members):
        """Expected steps in the states marked in `members`, entries into them, steps per entry.

        Of one sequence; empty if it has no feasible path.
        """
        smoothed = self.smooth(frames, np.array([0, frames.n_steps]), counts=True)
        if np.isneginf(smoothed.log_z[0]):
            return ()
        steps, transitions = smoothed.posteriors[:, members].sum(), smoothed.counts.transitions
        visits = smoothed.posteriors[0, members].sum() + transitions[~members][:, members].sum()
        return steps, visits, steps / visits if visits > 0 else np.nan


def _decoding(chain, frames, offsets, order, of_states, path, log_prob):
    """What decodes some sequences when it is called."""
    graph = chain.graph
    if chain.delays is not None:
        return partial(_decode_delayed, chain, frames, offsets, order, of_states, path, log_prob)
    if order is not None:
        return partial(
            lanes_viterbi, graph.layout, chain.log_weights, chain.log_start, frames.table,
            frames.index, offsets, order, of_states.take(graph.node_states), path, log_prob,
        )  # fmt: skip
    return partial(viterbi, *_by_nodes(chain, frames, offsets, of_states, path, log_prob))


def _by_nodes(chain, frames, offsets, of_states, path, log_prob):
    """What `viterbi` is called with."""
    table, by_node = chain.by_node(frames.table, frames)
    return (
        chain.graph.layout, chain.log_weights, chain._max_entries, chain.log_start, table,
        by_node, frames.index, offsets, of_states, settings.table_bytes, path, log_prob,
    )  # fmt: skip


def _decode_delayed(chain, frames, offsets, order, of_states, path, log_prob):
    for s in decode_delayed(chain, frames, offsets, order, of_states, path, log_prob):
        part, cut = frames.of_sequences(offsets, s, s + 1), offsets[s : s + 2] - offsets[s]
        answer = path[offsets[s] : offsets[s + 1]]
        viterbi(*_by_nodes(chain, part, cut, of_states, answer, log_prob[s : s + 1]))


def _decode_huge(chain, frames, offsets, of_states, path, log_prob):
    """Again, if scores are so large that sums of them may have lost their digits."""
    if len(log_prob) == 1:  # a short call is most of what numpy costs
        if not HUGE < abs(log_prob[0]) < np.inf:
            return
    elif abs(log_prob[log_prob.argmin()]) <= HUGE >= abs(log_prob[log_prob.argmax()]):
        return  # the usual case, at once
    elif not (np.abs(log_prob) > HUGE).any(where=log_prob > -np.inf):
        return
    frames, levels = take_off_levels(frames)
    if levels is not None:
        _decoding(chain, frames, offsets, None, of_states, path, log_prob)()
        add_levels(log_prob, levels, frames, offsets)


def labelled(path, labels):
    """The labels of state indices, if there are any."""
    return path if labels is None else labels.take(path, mode="clip")
