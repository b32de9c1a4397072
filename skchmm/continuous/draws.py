"""Draws of the states at irregular observation times, given the observations."""

import numpy as np

from .._kernels.continuous.forward_backward import forward_backward
from .._kernels.shared.scaling import scale_rows
from ..inference.settings import settings
from .generator import Gaps
from .log_space import filter_log


def filtered(chain, frames):
    """log alpha (T, N) of one sequence, each row up to a constant; None if it is infeasible."""
    T, offsets = frames.n_steps, np.array([0, frames.n_steps])
    numbered = Gaps(frames.gaps, offsets)
    index = frames.index
    scaled, chosen = scale_rows(frames.table), np.zeros(1, dtype=np.int64)
    alphas = np.empty((T, chain.graph.n_nodes))
    log_z, redo = np.empty(1), np.zeros(1, dtype=np.uint8)
    for floor in settings.negligible:
        steps = chain.plan(numbered, floor, False).steps
        forward_backward(
            steps, chain.first, *scaled, index, offsets, numbered.index, None, chosen,
            log_z, redo, None, None, None, None, alphas,
        )  # fmt: skip
        if not redo[0]:
            with np.errstate(divide="ignore"):
                return np.log(alphas)
    if chain.alive_steps(frames) <= T:
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
    last = log_alpha[-1] + graph.log_final
    nodes[:, -1] = _choose_rows(np.tile(last, (n_draws, 1)), random_state)
    per = max(1, settings.matrix_bytes // (8 * chain.rates.n_nodes**2))
    for end in range(T - 1, 0, -per):
        begin = max(end - per, 0)
        numbered = Gaps(frames.gaps[begin : end + 1], np.array([0, end + 1 - begin]))
        matrices = chain.matrices(numbered.lengths, numbered.marked)[0]
        for t in range(end, begin, -1):
            with np.errstate(divide="ignore"):
                columns = np.log(chain.columns(matrices[numbered.index[t - begin]], t, nodes[:, t]))
            scores = columns + log_alpha[t - 1]
            if np.isneginf(scores.max(axis=1)).any():  # what was drawn needs more than a double
                gap = numbered.index[[t - begin]]
                exact = chain.exact_log_matrices(numbered.lengths[gap], numbered.marked[gap])
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
