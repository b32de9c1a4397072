"""Marginals that do not look ahead: which kernel gives them."""

import numpy as np

from .._kernels.discrete.causal import causal_marginals
from .._kernels.discrete.causal_sums import causal_sums
from .._kernels.lanes.filtering import lanes_filter
from .._kernels.shared.scaling import scale_rows
from .schedule import Allowed, lanes_order, spread, threads_of
from .settings import settings

SMALLEST_IN_SUMS = 2.0**-100  # of weights, for causal_sums


def filter_marginals(chain, frames, offsets, by_node, n_jobs):
    """P(x_t | y_0..y_t, a completion is feasible), (n_steps, S); NaN once no path is left.

    ``by_node(table)`` lays out a table for the kernels.
    """
    graph, out = chain.graph, np.empty((frames.n_steps, chain.graph.n_states))
    live, all_live = chain.live
    sums = graph.n_edges > 0 and chain.smallest_weight >= SMALLEST_IN_SUMS and not chain.only_logs
    redo = np.ones(len(offsets) - 1, dtype=np.uint8)
    table, wide, lossy, in_lanes = None, False, None, False
    if sums and frames.index is not None:
        table, _, lossy = scale_rows(frames.table, chain.smallest_weight)
        if all_live.all() and not lossy.any():
            in_lanes = _filter_in_lanes(chain, frames.index, table, offsets, n_jobs, redo, out)
            if in_lanes and not redo.any():
                return out
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

    if not in_lanes:
        spread(run, offsets, n_jobs)
    for s in redo.nonzero()[0] if in_lanes else ():
        run(s, s + 1)
    return out


def _filter_in_lanes(chain, index, table, offsets, n_jobs, redo, out):
    """Eight sequences at a time; whether that was done. What doubles cannot hold is in `redo`."""
    graph = chain.graph
    few = graph.n_edges <= settings.lanes_edges and len(graph.epochs) == 1
    order = lanes_order(offsets, 0 if few else None)
    if order is None:
        return False
    first = None
    if graph.n_nodes > graph.n_states or (graph.node_states != np.arange(graph.n_nodes)).any():
        first = np.searchsorted(graph.node_states, np.arange(graph.n_states + 1)).astype(np.int32)
    with Allowed(threads_of(n_jobs, offsets[-1])):
        lanes_filter(
            graph.layout, chain.weights, chain.first, table, index, offsets, order, first, redo,
            out,
        )  # fmt: skip
    return True
