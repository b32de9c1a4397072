"""The best paths of a sequence, in order, found one at a time."""

from itertools import islice, pairwise

import numpy as np

from .._kernels.discrete import kbest as kernels
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
    paths = BestPaths(
        chain.graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index,
        frames.n_steps,
    )  # fmt: skip
    paths.begin(0, frames.n_steps)
    return paths


def best_paths(chain, frames, offsets, k, labels):
    """The k best paths of each sequence, as lists of (log_prob, labels)."""
    states, log_probs, begins = kernels.best_paths(
        chain.graph.layout, chain.log_weights, chain.log_start, frames.table, frames.index,
        offsets, k,
    )  # fmt: skip
    found, answers, at = labels.take(states, mode="clip"), [], 0
    for (begin, end), (first, last) in zip(pairwise(offsets.tolist()), pairwise(begins)):
        shape = last - first, end - begin
        rows = found[at : at + shape[0] * shape[1]].reshape(shape)
        paths = list(zip(log_probs[first:last], rows))
        at += rows.size
        if paths and abs(paths[0][0]) > HUGE:
            again = islice(iterate_paths(chain, frames, begin, end), k)
            paths = [(log_prob, labels[path]) for log_prob, path in again]
        answers.append(paths)
    return answers
