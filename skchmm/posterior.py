"""Paths and durations given the observations of one sequence."""

from typing import NamedTuple

import numpy as np

from ._kernels.discrete.draws import draw_paths
from .emissions import Frames
from .inference import TABLE_BYTES


class Durations(NamedTuple):
    """Expected time in a set of states, one value a sequence."""

    steps: np.ndarray  # expected number of steps
    visits: np.ndarray  # expected number of entries
    length: np.ndarray  # steps / visits, NaN without visits


def frames_of(frames, begin, end):
    """The frames of steps begin..end-1."""
    if frames.index is None:
        return Frames(frames.table[begin:end])
    return Frames(frames.table, frames.index[begin:end])


def draw_posterior_paths(chain, frames, begin, end, n_paths, random_state):
    """Draw feasible paths of steps begin..end-1.

    Returns
    -------
    int32 array (n_paths, end - begin)
        State indices; without rows if there is no feasible path.
    """
    chain.graph.controller.check_length(end - begin)
    paths = np.empty((n_paths, end - begin), dtype=np.int32)
    rows = None if frames.index is None else np.ascontiguousarray(frames.index, dtype=np.int32)
    possible = draw_paths(
        chain.graph.layout, chain.weights, chain.log_weights, chain.log_start, frames.table, rows,
        begin, TABLE_BYTES, random_state.random_sample((end - begin, n_paths)), paths,
    )  # fmt: skip
    return paths if possible else paths[:0]


def expected_durations(chain, frames, begin, end, members):
    """Expected steps, entries and steps an entry, in the states marked in `members`.

    Empty if there is no feasible path.
    """
    smoothed = chain.smooth(frames_of(frames, begin, end), np.array([0, end - begin]), counts=True)
    if np.isneginf(smoothed.log_z[0]):
        return ()
    steps = smoothed.posteriors[:, members].sum()
    visits = (
        smoothed.posteriors[0, members].sum() + smoothed.transitions[~members][:, members].sum()
    )
    return steps, visits, steps / visits if visits > 0 else np.nan
