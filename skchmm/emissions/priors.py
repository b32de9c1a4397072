"""Pseudocounts and priors: distributions of symbols from counts, and densities up to constants.

EM climbs these densities besides the likelihood.
"""

import numpy as np

from .._kernels.data.statistics import shares
from ..sequences.values import as_numbers
from .base import NEGLIGIBLE, normalise_rows
from .numeric import cholesky


def log_dirichlet(added, probabilities):
    """Sum of pseudocounts times log probabilities.

    An impossible event stays so in EM, whatever is added; it says nothing.
    """
    there = (np.asarray(added) != 0) & (probabilities > 0)
    if not there.any():
        return 0.0
    added = np.broadcast_to(added, np.shape(probabilities))
    return float(np.dot(added[there], np.log(probabilities[there])))


def log_inverse_wishart(added, scatter, covars):
    """What `added` more rows with this scatter say of covariances.

    Parameters
    ----------
    added, scatter, covars : arrays
        Of variances, of one shape; of matrices, (...), (..., d, d) and (..., d, d).
    """
    if not (np.any(added) or np.any(scatter)):
        return 0.0
    if np.ndim(scatter) == np.ndim(added):
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -0.5 * float(np.sum(added * np.log(covars) + scatter / covars))
        return -np.inf if np.isnan(value) else value  # of variances that fell to zero
    d = np.shape(covars)[-1]
    factors = cholesky(np.reshape(covars, (-1, d, d)))  # of what is singular, as densities take it
    whiten, scatter = (
        np.linalg.inv(factors),
        np.reshape(np.broadcast_to(scatter, np.shape(covars)), (-1, d, d)),
    )
    log_sizes = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    traces = np.einsum("kij,kjl,kil->k", whiten, scatter, whiten)
    return -0.5 * float(np.sum(np.ravel(added) * log_sizes + traces))


def check_prior(value, name, shape=None):
    """Refuse a prior that does not consist of finite numbers, or does not fit a shape."""
    found = as_numbers(value, name)
    if not np.isfinite(found).all() or found.size == 0:
        raise ValueError(f"{name} must be finite numbers, got {value!r}.")
    if shape is not None and not _fits(found.shape, shape):
        raise ValueError(f"{name} has shape {found.shape}; expected a number or {shape}.")


def _fits(found, shape):
    """Whether an array of one shape can be added to one of another, which stays as it is."""
    try:
        return np.broadcast_shapes(found, shape) == shape
    except ValueError:
        return False


# ------------------------------------------- distributions of symbols in their contexts
def used_contexts(n_symbols, order):
    """Numbers of the contexts there are: where a symbol is not known, none before it is."""
    if order == 0:
        return np.zeros(1, dtype=np.int64)
    unknown = np.indices([n_symbols + 1] * order).reshape(order, -1) == n_symbols
    return np.flatnonzero((unknown[1:] <= unknown[:-1]).all(axis=0))


def climb(counts, pseudocount, old):
    """The M-step: the mode of the posterior, one by one for all distributions.

    What was impossible stays so, and a state without any counts keeps its distributions. Without a
    pseudocount this is `estimate`.
    """
    n_states, n_symbols = len(counts), counts.shape[-1]
    pseudocount = np.broadcast_to(pseudocount, (n_states, n_symbols))
    if not (pseudocount > 0).any():
        return estimate(counts, pseudocount, old)
    shape, old = counts.shape, old.reshape(counts.shape)
    added = pseudocount.reshape((n_states, *[1] * (counts.ndim - 2), n_symbols))
    weights = np.maximum(counts + np.where(old > 0, added, 0.0), 0.0)
    keep = weights.sum(axis=-1, keepdims=True) <= NEGLIGIBLE
    empty = counts.reshape(n_states, -1).sum(axis=1) <= NEGLIGIBLE
    keep |= empty.reshape((n_states, *[1] * (counts.ndim - 1)))
    return np.where(keep, old, normalise_rows(weights)).reshape(shape)


def estimate(counts, pseudocount, old):
    """Distributions from counts of shape (n_states, [context, ...] symbol).

    A context that a state never had takes the distribution of the next shorter one: the counts
    summed over its oldest symbol. The pseudocount alone decides for complete contexts without
    counts. A state without any counts keeps its old distributions; if it has none, it takes those
    of all states together, unless the pseudocount decides.
    """
    if counts.ndim == 2 and np.ndim(pseudocount) == 0 and pseudocount >= 0:
        counts = np.ascontiguousarray(counts, dtype=np.float64)
        found = shares(counts, NEGLIGIBLE)
        if found is not None:  # as most often
            return found if pseudocount == 0 else shares(counts + pseudocount, NEGLIGIBLE)
    n_states, order, n_symbols = len(counts), counts.ndim - 2, counts.shape[-1]
    pseudocount = np.broadcast_to(pseudocount, (n_states, n_symbols))

    def smoothed(total):
        added = pseudocount.reshape((n_states, *[1] * (total.ndim - 2), n_symbols))
        return np.maximum(total + added, 0.0)

    empty = counts.sum(axis=tuple(range(1, counts.ndim))) <= NEGLIGIBLE
    if not (pseudocount > 0).any():
        counts = counts.copy()
        counts[empty] = counts.sum(axis=0)
    found = normalise_rows(smoothed(counts.sum(axis=tuple(range(1, order + 1)))))
    for known in range(1, order + 1):
        total = counts.sum(axis=tuple(range(1, order - known + 1)))
        weights = smoothed(total)
        use = total.sum(axis=-1, keepdims=True) > NEGLIGIBLE
        if known == order:
            complete = np.indices(counts.shape[1:-1]).max(axis=0) < n_symbols
            use |= complete[..., None]
        use &= weights.sum(axis=-1, keepdims=True) > NEGLIGIBLE
        found = np.where(use, normalise_rows(weights), found[:, None])
    if old is not None and old.size == found.size:
        found[empty] = old.reshape(found.shape)[empty]
    return found
