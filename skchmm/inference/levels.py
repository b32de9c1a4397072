"""Huge log-likelihoods, such as -1e30 for "impossible", and those of outliers.

Next to -1e18 a difference of 100 is nothing: sums of log-likelihoods forget what came before. The
largest of each step says nothing about the path, so it is taken off first and added at the end.
A huge positive score of a state that the rules forbid there still costs the others their digits.
"""

import numpy as np

from ..emissions.base import HUGE, frames_in_range


def take_off_levels(frames):
    """Frames without the huge maxima of their steps, and these: (frames, one per row, or None)."""
    if not frames.huge:
        return frames, None
    table = frames.table
    levels = table.max(axis=1, initial=-np.inf)
    huge = (np.abs(levels) > HUGE) & (levels > -np.inf)
    if not huge.any():
        return frames, None
    levels = np.where(huge, levels, 0.0)
    return frames_in_range(table - levels[:, None], frames.index, gaps=frames.gaps), levels


def sum_of_levels(frames):
    """What `take_off_levels` takes off a sequence."""
    total = np.zeros(1)
    add_levels(total, take_off_levels(frames)[1], frames, np.array([0, frames.n_steps]))
    return float(total[0])


def add_levels(scores, levels, frames, offsets):
    """Add what was taken off to the scores of sequences."""
    if levels is not None:
        steps = levels if frames.index is None else levels[frames.index]
        scores += [steps[a:b].sum() for a, b in zip(offsets[:-1], offsets[1:])]
