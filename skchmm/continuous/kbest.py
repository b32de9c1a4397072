"""The best paths at irregular observation times, in order."""

from typing import Any, NamedTuple

import numpy as np

from .._kernels.shared.layout import Layout
from ..inference.kbest import iterate_paths
from .generator import Gaps


class UnrolledGraph(NamedTuple):
    layout: Layout
    controller: Any


class UnrolledChain(NamedTuple):
    """A chain for kernels of discrete time in which every step has edges of its own."""

    graph: UnrolledGraph
    log_weights: np.ndarray
    log_start: np.ndarray


def best_distinct_paths(chain, frames, k):
    """The k best paths of one sequence that differ in their states: (log P, states) each."""
    if chain.graph.n_nodes == 0:
        return []
    found = {}
    for log_prob, path in iterate_paths(unrolled(chain, frames), frames, 0, frames.n_steps):
        if path.tobytes() not in found:
            found[path.tobytes()] = (log_prob, path)
            if len(found) == k:
                break
    return list(found.values())


def unrolled(chain, frames):
    """The chain of one sequence for kernels of discrete time: every step has its own edges."""
    graph, T = chain.graph, frames.n_steps
    numbered = Gaps(frames.gaps, np.array([0, T]))
    matrices, log_scales = chain.matrices(numbered.lengths, numbered.marked)
    with np.errstate(divide="ignore"):
        logs = np.log(matrices) + log_scales[:, None, None]
    N = graph.n_nodes
    indptr = np.zeros((T, N + 1), dtype=np.int32)
    sources, weights, done = [], [], 0
    for t in range(1, T):
        source, target, log_weight = chain.edges(logs[numbered.index[t]], t)
        order = np.lexsort((source, target))
        sources.append(source[order])
        weights.append(log_weight[order])
        counts = np.bincount(target, minlength=N)
        indptr[t] = done + np.concatenate([[0], np.cumsum(counts)])
        done += len(source)
        if done > np.iinfo(np.int32).max:
            raise MemoryError(f"{T} steps between {N} nodes are too many; give shorter sequences.")
    empty = [np.zeros(0)]
    log_weights = np.concatenate(empty + weights)
    layout = Layout(
        graph.node_states, graph.start_nodes, graph.log_final, np.arange(T), indptr,
        np.concatenate(empty + sources).astype(np.int32), graph.ahead, graph.back,
    )  # fmt: skip
    return UnrolledChain(UnrolledGraph(layout, graph.controller), log_weights, chain.log_start)
