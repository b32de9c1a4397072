"""Marginals that do not look ahead, in continuous time."""

import numpy as np

from ..graph.completion import Live
from ..inference.settings import settings
from .generator import Gaps

# Products below this may have lost digits, or be zero where they should not.
_SMALL = 1e-250


def filter_marginals(chain, frames, offsets):
    """P(x_t | y_0..y_t, some completion is feasible), (n_steps, S); NaN once no path is left.

    alpha_t = (alpha_{t-1} P(gap_t)) b_t over the nodes, of which those count that can be completed.
    In doubles, scaled at every step; a sequence whose products become too small is done again in
    logarithms.
    """
    out = np.full((frames.n_steps, chain.graph.n_states), np.nan)
    if chain.graph.n_nodes == 0:
        return out
    live = Live(chain.graph)
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
        part, rows = frames.part(begin, end), out[begin:end]
        if not _in_doubles(chain, part, live, rows):
            rows[:] = np.nan
            _in_logs(chain, part, live, rows)
    return out


def _by_state(graph, alpha):
    return np.bincount(graph.node_states, weights=alpha, minlength=graph.n_states)


def _in_doubles(chain, frames, live, out):
    """Fill in the rows of a sequence; False where doubles may have lost something."""
    graph, T = chain.graph, frames.n_steps
    log_b, room = chain.log_frames(frames), max(1, settings.matrix_bytes // (8 * graph.n_nodes**2))
    possible = [chain.reaches(False), chain.reaches(True)]
    alpha, log_first = None, chain.log_first()
    for start in range(0, T, room):
        numbered = Gaps(frames.gaps[start : start + room], np.zeros(1, dtype=np.int64))
        # a scale makes no difference here
        matrices = chain.spread(chain.matrices(numbered.lengths, numbered.marked)[0])
        for t in range(start, min(start + room, T)):
            if t == 0:
                top = log_first.max()
                before = np.exp(log_first - (top if top > -np.inf else 0.0))
                able = log_first > -np.inf
            else:
                gap = numbered.index[t - start]
                before = chain.ahead(matrices[gap], t, alpha)
                way = possible[int(numbered.lengths[gap] > 0)]
                if numbered.marked[gap]:
                    way = way @ (chain.entries.matrix > 0)
                able = chain.ahead(way, t, alpha > 0) > 0
            able = able & (log_b[t] > -np.inf)
            if not able.any():
                return True  # no path is left
            alpha = np.where(able, before * np.exp(log_b[t] - log_b[t][able].max()), 0.0)
            total = alpha.sum()
            if not (alpha[able] > _SMALL * max(total, 1.0)).all() or not np.isfinite(total):
                return False
            alpha = alpha / total
            found = _by_state(graph, np.where(live[t] == 0, alpha, 0.0))
            if found.sum() == 0:
                return True
            out[t] = found / found.sum()
    return True


def _in_logs(chain, frames, live, out):
    steps, log_b = chain.in_logs(frames.gaps), chain.log_frames(frames)
    alpha = chain.log_first()
    for t in range(frames.n_steps):
        alpha = (alpha if t == 0 else steps.ahead(t, alpha)) + log_b[t]
        able = alpha + live[t]
        if not (able > -np.inf).any():
            return
        found = _by_state(chain.graph, np.exp(able - able.max()))
        out[t] = found / found.sum()
        alpha = alpha - alpha.max()
