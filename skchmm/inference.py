"""Exact inference on an augmented graph: which kernel does what."""

from functools import cached_property, partial
from itertools import chain as joined
from typing import NamedTuple

import numpy as np

from ._blocks import WIDTH
from ._kernels.discrete.forward_backward import forward_backward
from ._kernels.discrete.log_space import forward_backward_log
from ._kernels.discrete.two_ended import handles, two_ended
from ._kernels.discrete.viterbi import viterbi
from ._kernels.lanes.sums import lanes_sums
from ._kernels.lanes.viterbi import lanes_viterbi
from ._kernels.shared.scaling import scale_rows
from ._threads import Allowed, each, ranges_of, threads_of
from .emissions.base import PendingFrames

# A larger table over all steps is replaced by blocks of it that are filled again on the way back:
# what does not fit the cache costs more to store than to compute.
TABLE_BYTES = 1 << 19
# So many bytes of log-likelihoods are computed before they are worked on. Of fewer, the tables that
# a kernel sets up would cost more than they save.
FRAMES_BYTES = 1 << 25
# Sequences are worked on 8 at a time while their rows fit the cache and edges, not whole rows of a
# matrix, are what a step costs.
LANES_BYTES = 1 << 22
LANES_EDGES = 3000
LANES_WEIGHT = 1e-100  # a smaller one, twice, is no double
LANES_FILL = 2  # of the 8 lanes, so many must be of use on average
# Where sequences are counted in one at a time, so many ranges of them are counted apart.
COUNTED_RANGES = 32
COUNTED_STEPS = 10_000  # of a range, at least
# What nothing else holds goes there anyway; log space takes thirty times as long.
LANES_BYTES_AT_MOST = 1 << 27


class Smoothed(NamedTuple):
    """What forward-backward gives."""

    log_z: np.ndarray  # (n_sequences,) log P(Y, Acc)
    posteriors: np.ndarray  # (n_steps, S) P(x_t | Y, Acc)
    transitions: np.ndarray | None  # (S, S) expected counts, weighted by sequence


class Chain:
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
        self.weights = self.transmat.ravel()[graph.base_edges]
        with np.errstate(divide="ignore"):
            self.log_start = np.log(self.start)
            self.log_weights = np.log(self.weights)

    @cached_property
    def _smallest(self):
        return self.weights.min(initial=1.0, where=self.weights > 0)

    @cached_property
    def _max_entries(self):
        return self.graph.ahead.spread(self.log_weights, -np.inf)

    @cached_property
    def _sum_entries(self):
        return self.graph.ahead.spread(self.weights, 0.0)

    @cached_property
    def _back_entries(self):
        return self.graph.back.spread(self.weights, 0.0)

    def has(self, startprob, transmat):
        """Whether these are the chain's parameters."""
        return np.array_equal(self.start, startprob) and np.array_equal(self.transmat, transmat)

    def decode(self, frames, offsets, *, labels=None, n_jobs=None):
        """Best paths: (labels, or state indices, (n_steps,), log P(path, Y) (n_sequences,))."""
        self.graph.controller.check_lengths(offsets)
        return _decode(
            self.graph, self.log_weights, self._max_entries, self.log_start, frames, offsets,
            labels, n_jobs,
        )  # fmt: skip

    def smooth(self, frames, offsets, *, seq_weights=None, counts=False, n_jobs=None):
        """Likelihoods, marginals and, on request, expected transition counts."""
        graph = self.graph
        graph.controller.check_lengths(offsets)
        log_z, posteriors, edges = self._forward_backward(
            frames, offsets, seq_weights, n_jobs, True, counts
        )
        transitions = None
        if counts:
            S = graph.n_states
            transitions = np.bincount(graph.base_edges, weights=edges, minlength=S * S)
            transitions = transitions.reshape(S, S)
        return Smoothed(log_z, posteriors, transitions)

    def log_likelihood(self, frames, offsets, *, n_jobs=None):
        """log P(Y, Acc) of each sequence."""
        self.graph.controller.check_lengths(offsets)
        return self._forward_backward(frames, offsets, None, n_jobs, False, False)[0]

    def _forward_backward(self, frames, offsets, seq_weights, n_jobs, marginals, counts):
        graph = self.graph
        check_frames(frames, graph.n_states, offsets[-1])
        log_z = np.empty(len(offsets) - 1)
        posteriors = np.empty((frames.n_steps, graph.n_states)) if marginals else None

        def prepare(part, cut, order, begin, end):
            return _Job(
                self, part, cut, order, None if seq_weights is None else seq_weights[begin:end],
                log_z[begin:end], posteriors[offsets[begin] : offsets[end]] if marginals else None,
                counts,
            ).run  # fmt: skip

        row_bytes = None
        if 0 < graph.n_edges <= LANES_EDGES and self._smallest >= LANES_WEIGHT:
            row_bytes = WIDTH * (graph.n_nodes + graph.n_states)
        parts = _in_threads(prepare, frames, offsets, n_jobs, row_bytes, counts=counts)
        return log_z, posteriors, sum(parts) if counts else None


class _Job:
    """Forward-backward of some sequences; the ways to do it, from the fastest to the safest.

    A way takes the numbers of sequences, fills in their likelihoods and marginals, adds to the
    counts of the edges, and returns the sequences that it could not hold.
    """

    def __init__(self, chain, frames, offsets, order, seq_weights, log_z, posteriors, counts):
        self.chain, self.graph = chain, chain.graph
        self.frames, self.index = frames, _index(frames)
        self.offsets, self.order, self.seq_weights = offsets, order, seq_weights
        self.log_z, self.posteriors = log_z, posteriors
        self.edges = np.zeros(len(chain.weights)) if counts else None
        self.redo = np.zeros(len(log_z), dtype=np.uint8)
        self.all = np.arange(len(log_z))

    def run(self):
        """Do it; the counts."""
        left = self.all
        for way in (self.lanes, self.two_ended, self.blocks, self.lanes_again, self.log_space):
            left = way(left)
            if len(left) == 0:
                break
        if self.posteriors is not None:
            for s in np.flatnonzero(np.isneginf(self.log_z)):
                self.posteriors[self.offsets[s] : self.offsets[s + 1]] = np.nan
        return self.edges

    @cached_property
    def scaled(self):
        return scale_rows(self.frames.table, self.chain._smallest)

    def lanes(self, chosen):
        return self._lanes(self.order, chosen, self.offsets[-1])

    def lanes_again(self, chosen):
        """Lanes hold everything, even if most stay empty."""
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]
        order = chosen[np.argsort(-lengths, kind="stable")]
        chunk = 1
        if self.posteriors is not None:
            chunk = _lanes_chunk(int(lengths.max()), self.graph.n_nodes, self.graph.n_states)
        if not chunk or self.graph.n_edges == 0 or self.chain._smallest < LANES_WEIGHT:
            order = None
        return self._lanes(order, chosen, chunk)

    def _lanes(self, order, chosen, chunk):
        chain = self.chain
        if order is None:
            return chosen
        table, row_max = self.frames.table, None
        if self.index is not None and not self.scaled[2].any():
            table, row_max, _ = self.scaled
        lanes_sums(
            self.graph.layout, chain.weights, chain._smallest, chain.start, table, row_max,
            self.index, self.offsets, self.seq_weights, order, chunk, self.log_z, self.posteriors,
            self.edges,
        )  # fmt: skip
        return chosen[:0]

    def two_ended(self, chosen):
        graph, chain = self.graph, self.chain
        if not handles(graph.layout):
            return chosen
        pairs = None if self.edges is None else np.zeros((graph.n_states, graph.n_states))
        two_ended(
            graph.layout, chain.weights, chain._smallest, chain.start, self.frames.table,
            self.index, self.offsets, self.seq_weights, chosen, self.log_z, self.redo,
            self.posteriors, pairs,
        )  # fmt: skip
        if pairs is not None:
            self.edges += pairs.ravel()[graph.base_edges]
        return np.flatnonzero(self.redo)

    def blocks(self, chosen):
        graph, chain = self.graph, self.chain
        table, row_max, row_lossy = self.scaled
        table, by_node = _by_node(graph, table, self.frames)
        entries = None if self.edges is None else np.zeros(len(chain._sum_entries))
        forward_backward(
            graph.layout, chain.weights, chain._sum_entries, chain._back_entries, chain.start,
            table, by_node, row_max, row_lossy, self.index, self.offsets, self.seq_weights, chosen,
            TABLE_BYTES, self.log_z, self.redo, self.posteriors, entries,
        )  # fmt: skip
        if entries is not None:
            self.edges += entries[graph.ahead.slot]
        return np.flatnonzero(self.redo)

    def log_space(self, chosen):
        chain = self.chain
        forward_backward_log(
            self.graph.layout, chain.log_weights, chain.log_start, self.frames.table, self.index,
            self.offsets, self.seq_weights, chosen, TABLE_BYTES, self.log_z, self.posteriors,
            self.edges,
        )  # fmt: skip
        return chosen[:0]


def best_feasible_path(graph, frames, offsets, *, n_jobs=None):
    """The path in the graph with the largest sum of frame scores, all edges weighing nothing."""
    weights = np.zeros(len(graph.base_edges))
    entries = graph.ahead.spread(weights, -np.inf)
    start = np.zeros(graph.n_states)
    return _decode(graph, weights, entries, start, frames, offsets, None, n_jobs)


def check_frames(frames, n_states, n_steps):
    """Frames have one row a step and one column a state; the kernels rely on it."""
    if frames.n_states != n_states:
        raise ValueError(
            f"The emission has {frames.n_states} states, but the chain has {n_states}."
        )
    if frames.n_steps != n_steps:
        raise ValueError(
            f"The emission gives the log-likelihoods of {frames.n_steps} steps, but there are "
            f"{n_steps}."
        )


def _decode(graph, log_weights, entries, log_start, frames, offsets, labels, n_jobs):
    check_frames(frames, graph.n_states, offsets[-1])
    whole_numbers = labels is None or labels.dtype.kind in "iu"
    of_nodes = graph.node_states
    if labels is not None and whole_numbers:
        of_nodes = labels[of_nodes]
    of_nodes = of_nodes.astype(np.int64)
    path = np.empty(frames.n_steps, dtype=np.int64 if whole_numbers else labels.dtype)
    log_prob = np.empty(len(offsets) - 1)

    def prepare(part, cut, order, begin, end):
        answer = path[offsets[begin] : offsets[end]]
        found = answer if whole_numbers else np.empty(len(answer), dtype=np.int64)
        decode = _decoding(
            graph, log_weights, entries, log_start, part, cut, order, of_nodes, found,
            log_prob[begin:end],
        )  # fmt: skip

        def run():
            decode()
            if not whole_numbers:
                labels.take(found, out=answer, mode="clip")  # of an infeasible path, anything

        return run

    lanes = graph.few_edges and graph.n_edges > 0
    _in_threads(prepare, frames, offsets, n_jobs, graph.n_nodes if lanes else None)
    if labels is not None and whole_numbers:
        path = path.astype(labels.dtype, copy=False)
    return path, log_prob


def _decoding(
    graph, log_weights, entries, log_start, frames, offsets, order, of_nodes, path, log_prob
):
    """What decodes some sequences when it is called."""
    index = _index(frames)
    if order is not None:
        return partial(
            lanes_viterbi, graph.layout, log_weights, log_start, frames.table, index, offsets,
            order, of_nodes, path, log_prob,
        )  # fmt: skip
    table, by_node = _by_node(graph, frames.table, frames)
    return partial(
        viterbi, graph.layout, log_weights, entries, log_start, table, by_node, index, offsets,
        of_nodes, TABLE_BYTES, path, log_prob,
    )  # fmt: skip


def labelled(path, labels):
    """The labels of state indices, if there are any."""
    return path if labels is None else labels.take(path, mode="clip")


def steps_at_once(n_states):
    """The most steps to compute the log-likelihoods of before they are worked on."""
    return max(FRAMES_BYTES // (8 * n_states), 1)


def _in_threads(prepare, frames, offsets, n_jobs, row_bytes, *, counts=False):
    """Call what prepare(frames, offsets, order, begin, end) returns, for all sequences.

    Those from begin to end have these frames, offsets and, if they are for lanes, this order.
    Frames still to be computed come in blocks: one after the other, with all threads at work on
    each, or, where only Python can tell them what to do, one a thread at a time.

    The number of threads changes nothing in the answers: whether lanes are used is decided for all
    sequences together, and what is added up (`counts`) comes from the same ranges.
    """
    order_of_all = _lanes_order(offsets, row_bytes)

    def run(block, begin, end, n_threads):
        cut, order = _cut(offsets, begin, end), order_of_all
        if order is not None and end - begin < len(order):
            order = _longest_first(cut)
        if order is not None or end - begin == 1 or (n_threads == 1 and not counts):
            with Allowed(n_threads):
                return [prepare(block, cut, order, begin, end)()]
        if counts:
            ranges = ranges_of(cut, COUNTED_RANGES, least=COUNTED_STEPS)
        else:
            ranges = ranges_of(cut, n_threads)
        # Prepared before any begins, since two that prepare hold each other up.
        jobs = [
            prepare(block.of_sequences(cut, a, b), _cut(cut, a, b), None, begin + a, begin + b)
            for a, b in ranges
        ]
        return each(jobs, n_threads)

    def compute(begin, end):
        with Allowed(n_threads if frames.least is None else 1):
            return frames.of_sequences(offsets, begin, end)

    n_threads = threads_of(n_jobs)
    if not isinstance(frames, PendingFrames):
        return run(frames, 0, len(offsets) - 1, n_threads)
    most = steps_at_once(frames.n_states)
    if frames.least is None:
        blocks = ranges_of(offsets, 1, most=most)
        found = [run(compute(*block), *block, n_threads) for block in blocks]
    else:
        blocks = ranges_of(offsets, n_threads, least=frames.least, most=most)
        found = each([lambda b=b: run(compute(*b), *b, 1) for b in blocks], n_threads)
    return list(joined.from_iterable(found))


def _cut(offsets, begin, end):
    """The offsets of sequences begin..end-1 alone."""
    cut = offsets[begin : end + 1]
    return cut - cut[0] if begin > 0 else cut


def _lanes_order(offsets, row_bytes):
    """The sequences, longest first, for the lanes; None where one at a time is better.

    `row_bytes` is what a step of one sequence takes, or None where the graph is not for lanes.
    """
    if row_bytes is None or len(offsets) <= LANES_FILL:
        return None
    order = _longest_first(offsets)
    lengths = offsets[1:] - offsets[:-1]
    tallest = lengths[order[::WIDTH]]
    filled = LANES_FILL * tallest.sum() <= lengths.sum()
    return order if filled and tallest[0] * WIDTH * row_bytes <= LANES_BYTES else None


def _longest_first(offsets):
    lengths = offsets[1:] - offsets[:-1]
    if (lengths == lengths[0]).all():
        return np.arange(len(lengths))
    return np.argsort(-lengths, kind="stable")


def _lanes_chunk(n_steps, n_nodes, n_states):
    """How many of the steps lanes keep at once, or None where that would be too much."""
    step, row = 64 * (5 * n_nodes + 2 * n_states), 64 * 2 * n_nodes
    if step * n_steps <= LANES_BYTES_AT_MOST:
        return n_steps
    chunk = max(1, round(np.sqrt(n_steps * row / step)))
    return chunk if step * chunk + row * n_steps / chunk <= LANES_BYTES_AT_MOST else None


def _by_node(graph, table, frames):
    """A table that few rows serve many steps with has one column a node; then nothing is gathered.

    Returns the table, and whether its columns are nodes.
    """
    if frames.index is None or 4 * len(table) > frames.n_steps:
        return table, False
    wide = np.zeros((len(table), WIDTH * graph.ahead.n_blocks))
    wide[:, : graph.n_nodes] = table[:, graph.node_states]
    return wide, True


def _index(frames):
    return None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)
