"""The best paths of a sequence, in order, found one at a time."""

from itertools import islice

import numpy as np

from .._kernels.discrete.kbest import BestPaths
from .levels import HUGE, add_levels, take_off_levels


def iterate_paths(chain, frames, begin, end):
    """The feasible paths of one sequence, most probable first.

    Lazy: the first path costs what Viterbi costs, every further one O(T degree). Equally
    probable paths come in the order of their states, compared from the last step backwards,
    the lowest state first; the first path is the one that ``chain.decode`` returns.

    Parameters
    ----------
    chain : Chain
    frames : Frames
    begin, end : int
        The sequence is steps begin..end-1 of the frames.

    Yields
    ------
    log_prob : float
        log P(path, Y), never increasing.
    path : int32 array (end - begin,)
        State indices. No path comes twice.
    """
    chain.graph.controller.check_length(end - begin)
    frames, T = frames.part(begin, end), end - begin
    path, level = np.empty(T, dtype=np.int32), np.zeros(1)
    paths = _paths(chain, frames)
    log_prob = paths.next_into(path)
    if HUGE < abs(log_prob) < np.inf:
        frames, levels = take_off_levels(frames)
        add_levels(level, levels, frames, np.array([0, T]))
        paths = _paths(chain, frames)
        log_prob = paths.next_into(path)
    while log_prob > -np.inf:
        yield log_prob + float(level[0]), path
        path = np.empty(T, dtype=np.int32)
        log_prob = paths.next_into(path)


def _paths(chain, frames):
    return BestPaths(
        chain.graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index, 0,
        frames.n_steps,
    )  # fmt: skip


def best_paths(chain, frames, begin, end, k):
    """The k best paths as a list of (log_prob, path); fewer where there are no more."""
    return list(islice(iterate_paths(chain, frames, begin, end), k))
