"""Integrals of marginals over the time of the user, where a generator acts on that of a clock."""

import numpy as np

from .entries import lengths_of


def time_off_clock(chain, frames, members, gap_map):
    """Expected time in the states: the integral of their marginals over the user's time.

    By tanh-sinh quadrature within each gap: what a map does near 0 may be as steep as it likes.
    """
    places, shares = _tanh_sinh()
    gaps = lengths_of(frames.gaps)
    lasting = np.flatnonzero(gaps > 0)
    lengths = gap_map.back(gaps[lasting])
    readings = np.cumsum(gaps)
    grid = readings[lasting - 1, None] + gap_map.forward(lengths[:, None] * places)
    grid = np.minimum(grid, readings[lasting, None])
    marginals = chain.marginals_at(frames, readings, grid.ravel())[:, members].sum(axis=1)
    return float(lengths @ (marginals.reshape(grid.shape) @ shares))


def _tanh_sinh(step=1 / 12, most=3.2):
    """Places between 0 and 1, and their weights, for integrals with any behaviour at the ends."""
    t = np.arange(-most, most + step / 2, step)
    places = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(t)))
    weights = np.cosh(t) * places * (1.0 - places)
    return places, weights / weights.sum()
