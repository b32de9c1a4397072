"""Distributions over probabilities: what is expected of rows that are Dirichlet distributed.

An entry with parameter zero is impossible, or its probability is given.
"""

import numpy as np
from scipy.special import digamma

from ..sequences.values import as_numbers

# A random start below this is none: its logarithm would drown everything else.
LEAST = 1e-12


def prior_of(given, default, shape, name):
    """Parameters of a Dirichlet prior for every row; a number stands for all of them."""
    if given is None:
        return np.full(shape, float(default))
    prior = as_numbers(given, name)
    if prior.shape not in ((), shape, shape[-1:]):
        raise ValueError(f"{name} has shape {prior.shape}; expected a number or {shape}.")
    return np.array(np.broadcast_to(prior, shape))


def checked(values, shape, name):
    """Parameters that the user may have set, as an array."""
    values = as_numbers(values, name)
    if values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be finite numbers that are not negative.")
    return values


def check_rows(prior, fixed, name):
    """Every row must have something to expect."""
    empty = np.atleast_1d(np.asarray(prior).sum(axis=-1) == 0)
    if fixed is not None:
        empty &= ~np.isclose(np.nansum(np.atleast_2d(fixed), axis=-1), 1.0)
    if empty.any():
        raise ValueError(f"{name} needs a positive parameter in every row.")


def start(rng, alpha, scale, size=None):
    """Random parameters that sum to `scale`."""
    drawn = rng.dirichlet(alpha, size=size)
    total = drawn.sum(axis=-1, keepdims=True)
    # with tiny alpha every draw may be zero
    drawn = np.where(np.isfinite(total), drawn, 1.0 / len(alpha))
    return np.maximum(drawn * scale, LEAST)


def without_given(alpha, prior, fixed):
    """Parameters without entries that are impossible or given."""
    free = prior > 0 if fixed is None else (prior > 0) & np.isnan(fixed)
    return np.where(free, alpha, 0.0)


def expected_logs(alpha, fixed=None):
    """E[log p] of every entry; given ones have theirs, the others share what these leave."""
    possible = alpha > 0
    total = np.maximum(alpha.sum(axis=-1, keepdims=True), LEAST)
    logs = np.where(possible, digamma(np.where(possible, alpha, 1.0)) - digamma(total), -np.inf)
    if fixed is None:
        return logs
    with np.errstate(divide="ignore"):
        return np.where(np.isnan(fixed), logs + np.log(_left(fixed)), np.log(fixed))


def expected(alpha, fixed=None):
    """E[p] of every entry."""
    total = alpha.sum(axis=-1, keepdims=True)
    means = alpha / np.where(total > 0, total, 1.0)
    return means if fixed is None else np.where(np.isnan(fixed), means * _left(fixed), fixed)


def _left(fixed):
    return np.clip(1.0 - np.nansum(fixed, axis=-1, keepdims=True), 0.0, 1.0)
