"""Best paths in discrete time: which kernel decodes which sequences."""

from functools import partial

import numpy as np

from .._kernels.discrete.viterbi import viterbi
from .._kernels.lanes.viterbi import lanes_viterbi
from .delayed import decode_delayed
from .levels import HUGE, add_levels, take_off_levels
from .schedule import work_through
from .settings import settings
from .tables import table_by_node


def decode(chain, frames, offsets, labels, n_jobs):
    """Labels, or state indices, (n_steps,), and log scores (n_sequences,)."""
    graph = chain.graph
    whole_numbers = labels is None or labels.dtype.kind in "iu"
    if labels is None or not whole_numbers:
        of_states = np.arange(graph.n_states, dtype=np.int64)
    else:
        of_states = labels.astype(np.int64)
    path = np.empty(frames.n_steps, dtype=np.int64 if whole_numbers else labels.dtype)
    log_prob = np.empty(len(offsets) - 1)

    def prepare(part, cut, order, begin, end):
        answer = path[offsets[begin] : offsets[end]]
        found = answer if whole_numbers else np.empty(len(answer), dtype=np.int64)
        decode = _decoding(chain, part, cut, order, of_states, found, log_prob[begin:end])

        def run():
            decode()
            _decode_huge(chain, part, cut, of_states, found, log_prob[begin:end])
            if not whole_numbers:
                labels.take(found, out=answer, mode="clip")  # of an infeasible path, anything

        return run

    row_bytes = graph.n_nodes if graph.few_edges and graph.n_edges > 0 else None
    if chain.delays is not None:
        row_bytes = chain.delays.row_bytes
    work_through(prepare, frames, offsets, n_jobs, row_bytes)
    if labels is not None and whole_numbers:
        path = path.astype(labels.dtype, copy=False)
    return path, log_prob


def _decoding(chain, frames, offsets, order, of_states, path, log_prob):
    """What decodes some sequences when it is called."""
    graph = chain.graph
    if chain.delays is not None:
        return partial(_decode_delayed, chain, frames, offsets, order, of_states, path, log_prob)
    if order is not None:
        return partial(
            lanes_viterbi, graph.layout, chain.log_weights, chain.log_start, frames.table,
            frames.index, offsets, order, of_states[graph.node_states], path, log_prob,
        )  # fmt: skip
    return _decoding_by_nodes(chain, frames, offsets, of_states, path, log_prob)


def _decoding_by_nodes(chain, frames, offsets, of_states, path, log_prob):
    of_nodes = of_states[chain.graph.node_states]
    table, by_node = table_by_node(chain.graph, frames.table, frames)
    return partial(
        viterbi, chain.graph.layout, chain.log_weights, chain._max_entries, chain.log_start, table,
        by_node, frames.index, offsets, of_nodes, settings.table_bytes, path, log_prob,
    )  # fmt: skip


def _decode_delayed(chain, frames, offsets, order, of_states, path, log_prob):
    for s in decode_delayed(chain, frames, offsets, order, of_states, path, log_prob):
        part, cut = frames.of_sequences(offsets, s, s + 1), offsets[s : s + 2] - offsets[s]
        answer = path[offsets[s] : offsets[s + 1]]
        _decoding_by_nodes(chain, part, cut, of_states, answer, log_prob[s : s + 1])()


def _decode_huge(chain, frames, offsets, of_states, path, log_prob):
    """Again, if scores are so large that sums of them may have lost their digits."""
    if len(log_prob) == 1:  # a short call is most of what numpy costs
        if not HUGE < abs(log_prob[0]) < np.inf:
            return
    elif not (np.abs(log_prob) > HUGE).any(where=log_prob > -np.inf):
        return
    frames, levels = take_off_levels(frames)
    if levels is not None:
        _decoding(chain, frames, offsets, None, of_states, path, log_prob)()
        add_levels(log_prob, levels, frames, offsets)
