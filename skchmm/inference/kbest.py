"""The best paths of a sequence, in order, found one at a time."""

from itertools import islice, pairwise

import numpy as np

from .._kernels.data.rows import cut
from .._kernels.discrete import kbest as kernels
from .._kernels.discrete.kbest import BestPaths
from ..emissions.base import HUGE
from .levels import add_levels, take_off_levels
from .schedule import lanes_order
from .settings import settings


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
    paths = BestPaths(
        chain.graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index,
        frames.n_steps,
    )  # fmt: skip
    paths.begin(0, frames.n_steps)
    return paths


def best_paths(chain, frames, offsets, k, labels):
    """The k best paths of each sequence, as lists of (log_prob, labels)."""
    graph = chain.graph
    few = 0 < graph.n_edges <= settings.lanes_edges
    order = lanes_order(offsets, 8 * graph.n_nodes if few else None)
    states, log_probs, numbers = kernels.best_paths(
        graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index, offsets,
        order, k,
    )  # fmt: skip
    order = np.arange(len(numbers)) if order is None else order
    sizes = np.repeat((offsets[1:] - offsets[:-1])[order], numbers)
    paths = cut(labels.take(states, mode="clip"), np.append(0, sizes.cumsum()))
    pairs, answers = list(zip(log_probs.tolist(), paths)), [[]] * len(numbers)
    for s, (first, last) in zip(order.tolist(), pairwise([0, *numbers.cumsum().tolist()])):
        answers[s] = pairs[first:last]
    if (np.abs(log_probs) > HUGE).any():
        for s in range(len(answers)):
            if answers[s] and abs(answers[s][0][0]) > HUGE:
                again = islice(iterate_paths(chain, frames, offsets[s], offsets[s + 1]), k)
                answers[s] = [(log_prob, labels[path]) for log_prob, path in again]
    return answers
