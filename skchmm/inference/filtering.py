"""Marginals that do not look ahead: which kernel gives them."""

import numpy as np

from .._kernels.discrete.causal import causal_marginals
from .._kernels.discrete.causal_sums import causal_sums
from .._kernels.shared.scaling import scale_rows
from .schedule import spread

SMALLEST_IN_SUMS = 2.0**-100  # of weights, for causal_sums


def filter_marginals(chain, frames, offsets, by_node, n_jobs):
    """P(x_t | y_0..y_t, a completion is feasible), (n_steps, S); NaN once no path is left.

    ``by_node(table)`` lays out a table for the kernels.
    """
    graph, out = chain.graph, np.empty((frames.n_steps, chain.graph.n_states))
    live, all_live = chain.live
    sums = graph.n_edges > 0 and chain.smallest_weight >= SMALLEST_IN_SUMS and not chain.only_logs
    redo = np.ones(len(offsets) - 1, dtype=np.uint8)
    table, wide, lossy = None, False, None
    if sums and frames.index is not None:
        table, _, lossy = scale_rows(frames.table, chain.smallest_weight)
        table, wide = by_node(table)

    def run(begin, end):
        if sums:
            causal_sums(
                graph.layout, chain.sum_entries, chain.weights, graph.ahead.slot, chain.first,
                chain.log_start, frames.table, table, wide, lossy, frames.index, offsets, begin,
                end, live, all_live, chain.smallest_weight, redo, out,
            )  # fmt: skip
        for s in begin + np.flatnonzero(redo[begin:end]):
            causal_marginals(
                graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index,
                offsets, s, s + 1, live, out,
            )  # fmt: skip

    spread(run, offsets, n_jobs)
    return out
