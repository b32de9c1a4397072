"""Marginals that do not look ahead: which kernel gives them."""

import numpy as np

from .._kernels.discrete.causal import causal_marginals
from .._kernels.discrete.causal_sums import causal_sums
from .._kernels.lanes.filtering import lanes_filter
from .._kernels.shared.scaling import scale_rows
from .schedule import Allowed, lanes_order, spread, threads_of
from .settings import settings

SMALLEST_IN_SUMS = 2.0**-100  # of weights, for causal_sums


def filter_marginals(chain, frames, offsets, n_jobs):
    """P(x_t | y_0..y_t, a completion is feasible), (n_steps, S); NaN once no path is left."""
    graph, out = chain.graph, np.empty((frames.n_steps, chain.graph.n_states))
    live, all_live, always = chain.live
    sums = graph.n_edges > 0 and chain.smallest_weight >= SMALLEST_IN_SUMS and not chain.only_logs
    redo = np.empty(len(offsets) - 1, dtype=np.uint8)
    order = _lanes_order(graph, offsets) if sums and always else None
    table, wide, lossy, by_step = None, False, None, frames.index is None
    # of a single sequence the kernel scales few rows itself
    few = order is None and len(redo) == 1 and 4 * len(frames.table) <= frames.n_steps
    if sums and not by_step and not few:
        table, _, lossy = scale_rows(frames.table, chain.smallest_weight)
    in_lanes = order is not None and (by_step or not lossy.any())
    if in_lanes:
        with Allowed(threads_of(n_jobs, offsets[-1])):
            lanes_filter(
                graph.layout, chain.weights, chain.first, frames.table if by_step else table,
                by_step, chain.smallest_weight, frames.index, offsets, order, redo, out,
            )  # fmt: skip
        if not redo.any():
            return out
        in_lanes = not redo.all()
    if table is not None:
        table, wide = chain.by_node(table, frames)

    def run(begin, end):
        left = not sums or causal_sums(
            graph.layout, chain.sum_entries, chain.weights, graph.ahead.slot, chain.first,
            chain.log_start, frames.table, table, wide, lossy, frames.index, offsets, begin, end,
            live, all_live, chain.smallest_weight, redo, out,
        )  # fmt: skip
        for s in range(begin, end) if left else ():
            if redo[s] or not sums:
                causal_marginals(
                    graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index,
                    offsets, s, s + 1, live, out,
                )  # fmt: skip

    if in_lanes:
        for s in redo.nonzero()[0]:
            run(s, s + 1)
    elif len(redo) == 1:  # of a short one, to share the work would take as long as a part of it
        run(0, 1)
    else:
        spread(run, offsets, n_jobs)
    return out


def _lanes_order(graph, offsets):
    """The sequences for the lanes; None where those are of no use."""
    few = graph.n_edges <= settings.lanes_edges and len(graph.epochs) == 1
    return lanes_order(offsets, 0 if few else None)
