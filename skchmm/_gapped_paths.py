"""Further paths of a chain in continuous time: the next best ones, and draws."""

from types import SimpleNamespace

import numpy as np

from . import _gaps
from ._gapped import LEVELS
from ._gapped_log import filter_log
from ._gaps import Gaps, index_of
from ._kernels.continuous.forward_backward import forward_backward
from ._kernels.shared.layout import Layout
from ._kernels.shared.scaling import scale_rows


def unrolled(chain, frames):
    """The chain of one sequence for kernels of discrete time: every step has its own edges."""
    graph, T = chain.graph, frames.n_steps
    numbered = Gaps(frames.gaps, np.array([0, T]))
    matrices, log_scales = chain.rates.matrices(numbered.lengths)
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
        graph.node_states, graph.start_nodes, graph.accept, np.arange(T), indptr,
        np.concatenate(empty + sources).astype(np.int32), graph.ahead, graph.back,
    )  # fmt: skip
    return SimpleNamespace(
        graph=SimpleNamespace(layout=layout, controller=graph.controller),
        log_weights=log_weights,
        weights=np.exp(log_weights),
        log_start=chain.log_start,
    )


def filtered(chain, frames):
    """log alpha (T, N) of one sequence, each row up to a constant; None if it is infeasible."""
    T, offsets = frames.n_steps, np.array([0, frames.n_steps])
    numbered = Gaps(frames.gaps, offsets)
    index = index_of(frames)
    scaled, chosen = scale_rows(frames.table), np.zeros(1, dtype=np.int64)
    alphas = np.empty((T, chain.graph.n_nodes))
    log_z, redo = np.empty(1), np.zeros(1, dtype=np.uint8)
    for floor in LEVELS:
        steps = chain.plan(numbered, floor, False).steps
        forward_backward(
            steps, chain.start, *scaled, index, offsets, numbered.index, None, chosen,
            log_z, redo, None, None, None, None, alphas,
        )  # fmt: skip
        if not redo[0]:
            with np.errstate(divide="ignore"):
                return np.log(alphas)
    if chain.alive_steps(frames, offsets, 0) <= T:
        return None
    return filter_log(
        chain.log_first(), chain.in_logs(frames.gaps).ahead, chain.log_frames(frames)
    )[0]


def draw_nodes(chain, frames, n_draws, random_state):
    """Draws (n_draws, T) of the nodes at the observations of one sequence, from its end.

    Without rows if it is infeasible.
    """
    T, graph = frames.n_steps, chain.graph
    log_alpha = filtered(chain, frames) if graph.n_nodes else None
    nodes = np.empty((n_draws, T), dtype=np.int32)
    if log_alpha is None:
        return nodes[:0]
    last = np.where(graph.accept, log_alpha[-1], -np.inf)
    nodes[:, -1] = _choose_rows(np.tile(last, (n_draws, 1)), random_state)
    per = max(1, _gaps.MATRIX_BYTES // (8 * chain.rates.n_nodes**2))
    for end in range(T - 1, 0, -per):
        begin = max(end - per, 0)
        numbered = Gaps(frames.gaps[begin : end + 1], np.array([0, end + 1 - begin]))
        matrices = chain.rates.matrices(numbered.lengths)[0]
        for t in range(end, begin, -1):
            with np.errstate(divide="ignore"):
                columns = np.log(chain.columns(matrices[numbered.index[t - begin]], t, nodes[:, t]))
            scores = columns + log_alpha[t - 1]
            if np.isneginf(scores.max(axis=1)).any():  # what was drawn needs more than a double
                exact = chain.exact_log_matrices(numbered.lengths[[numbered.index[t - begin]]])
                columns = chain.log_nodes(exact[0][0], t)[:, nodes[:, t]].T
                scores = columns + log_alpha[t - 1]
            nodes[:, t - 1] = _choose_rows(scores, random_state)
    return nodes


def _choose_rows(log_weights, random_state):
    """One place in each row, by weight."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    total = np.cumsum(weights, axis=1)
    points = random_state.random_sample(len(total))[:, None] * total[:, -1:]
    place = (total <= points).sum(axis=1)
    last = weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(place, last)
