"""Likelihoods, marginals and counts in discrete time: which kernel sums which sequences."""

from functools import cached_property

import numpy as np

from .._kernels.discrete.forward_backward import forward_backward
from .._kernels.discrete.log_space import forward_backward_log
from .._kernels.discrete.two_ended import handles, two_ended
from .._kernels.lanes.sums import lanes_sums
from .._kernels.shared.scaling import scale_rows
from .delayed import sum_delayed
from .levels import add_levels, take_off_levels
from .settings import settings


class Sums:
    """Forward-backward of some sequences; the ways to do it, from the fastest to the safest.

    A way takes the numbers of sequences, fills in their likelihoods and marginals, adds to the
    counts of the edges, and returns the sequences that it could not hold.
    """

    def __init__(self, chain, frames, offsets, order, seq_weights, log_z, posteriors, counts):
        self.chain, self.graph = chain, chain.graph
        self.frames, self.index = frames, frames.index
        self.offsets, self.order, self.seq_weights = offsets, order, seq_weights
        self.log_z, self.posteriors = log_z, posteriors
        self.edges = np.zeros(len(chain.weights)) if counts else None
        self.redo = np.zeros(len(log_z), dtype=np.uint8)
        self.room = None  # for the scaled rows

    def run(self):
        """Do it; the counts."""
        left = np.arange(len(self.log_z))
        ways = (
            self.delays,
            self.lanes,
            self.two_ended,
            self.blocks,
            self.lanes_again,
            self.log_space,
        )
        for way in ways[-1:] if self.chain.only_logs else ways:
            left = way(left)
            if len(left) == 0:
                break
        mark_infeasible(self.posteriors, self.log_z, self.offsets)
        return self.edges

    @cached_property
    def scaled(self):
        return scale_rows(self.frames.table, self.chain.smallest_weight, self.room)

    def delays(self, chosen):
        if self.chain.delays is None or (self.edges is not None and self.order is not None):
            return chosen
        sum_delayed(
            self.chain, self.frames, self.offsets, self.order, self.seq_weights, chosen,
            self.log_z, self.redo, self.posteriors, self.edges,
        )  # fmt: skip
        return np.flatnonzero(self.redo)

    def lanes(self, chosen):
        return self._lanes(self.order, chosen, self.offsets[-1])

    def lanes_again(self, chosen):
        """Lanes hold everything, even if most stay empty."""
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]
        order = chosen[np.argsort(-lengths, kind="stable")]
        chunk = 1
        if self.posteriors is not None:
            chunk = _lanes_chunk(int(lengths.max()), self.graph.n_nodes, self.graph.n_states)
        if not chunk or self.graph.n_edges == 0 or not self.chain.for_lanes:
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
            self.graph.layout, chain.weights, chain.smallest_weight, chain.first, table, row_max,
            self.index, self.offsets, self.seq_weights, order, chunk, self.log_z, self.redo,
            self.posteriors, self.edges,
        )  # fmt: skip
        return np.flatnonzero(self.redo)

    def two_ended(self, chosen):
        graph, chain = self.graph, self.chain
        if not handles(graph.layout):
            return chosen
        two_ended(
            graph.layout, chain.weights, chain.smallest_weight, chain.first, self.frames.table,
            self.index, self.offsets, self.seq_weights, chosen, self.log_z, self.redo,
            self.posteriors, self.edges,
        )  # fmt: skip
        return np.flatnonzero(self.redo)

    def blocks(self, chosen):
        graph, chain = self.graph, self.chain
        if self.index is None and len(chosen) == len(self.log_z):
            # Rows that are steps lie where the marginals go, which take their places one by one:
            # fresh memory costs more than what is written to it.
            self.room = self.posteriors
        table, row_max, row_lossy = self.scaled
        table, by_node = chain.by_node(table, self.frames)
        entries = None if self.edges is None else np.zeros(len(chain.sum_entries))
        forward_backward(
            graph.layout, chain.weights, chain.sum_entries, chain.back_entries, chain.first,
            table, by_node, row_max, row_lossy, self.index, self.offsets, self.seq_weights, chosen,
            settings.table_bytes, self.log_z, self.redo, self.posteriors, entries,
        )  # fmt: skip
        if entries is not None:
            self.edges += entries[graph.ahead.slot]
        return np.flatnonzero(self.redo)

    def log_space(self, chosen):
        chain = self.chain
        frames, levels = take_off_levels(self.frames)
        log_z = np.zeros(len(self.log_z))
        forward_backward_log(
            self.graph.layout, chain.log_weights, chain.log_start, frames.table, self.index,
            self.offsets, self.seq_weights, chosen, settings.table_bytes, log_z,
            self.posteriors, self.edges,
        )  # fmt: skip
        add_levels(log_z, levels, frames, self.offsets)
        self.log_z[chosen] = log_z[chosen]
        return chosen[:0]


def mark_infeasible(posteriors, log_z, offsets):
    if posteriors is None or (len(log_z) == 1 and log_z[0] > -np.inf):
        return
    for s in (log_z == -np.inf).nonzero()[0]:
        posteriors[offsets[s] : offsets[s + 1]] = np.nan


def _lanes_chunk(n_steps, n_nodes, n_states):
    """How many of the steps lanes keep at once, or None where that would be too much."""
    most = settings.lanes_bytes_at_most
    step, row = 64 * (5 * n_nodes + 2 * n_states), 64 * 2 * n_nodes
    if step * n_steps <= most:
        return n_steps
    chunk = max(1, round(np.sqrt(n_steps * row / step)))
    return chunk if step * chunk + row * n_steps / chunk <= most else None
