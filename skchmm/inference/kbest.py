"""The best paths of a sequence, in order, found one at a time."""

from itertools import islice

import numpy as np

from .._kernels.discrete.kbest import BestPaths


def iterate_paths(chain, frames, begin, end):
    """The feasible paths of one sequence, most probable first.

    Lazy: the first path costs what Viterbi costs, every further one O(T degree). Equally
    probable paths come in the order of their nodes, compared from the last step backwards,
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
    paths = BestPaths(
        chain.graph.layout,
        chain.log_weights,
        chain.log_start,
        frames.table,
        frames.rows,
        begin,
        end - begin,
    )
    while True:
        path = np.empty(end - begin, dtype=np.int32)
        log_prob = paths.next_into(path)
        if log_prob == -np.inf:
            return
        yield log_prob, path


def best_paths(chain, frames, begin, end, k):
    """The k best paths as a list of (log_prob, path); fewer where there are no more."""
    return list(islice(iterate_paths(chain, frames, begin, end), k))
