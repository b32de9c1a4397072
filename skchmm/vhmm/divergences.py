"""Kullback-Leibler divergences KL(q || p) of the distributions that are priors and posteriors.

The names are those of hmmlearn's ``_kl_divergence``.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

LOG_PI = np.log(np.pi)
_TINY = np.finfo(float).tiny


def kl_dirichlet(q: ArrayLike, p: ArrayLike) -> float | np.ndarray:
    """Of Dirichlet distributions; of several, given as rows, one value per row.

    An entry whose parameter is zero in p is impossible under both and says nothing.

    Parameters
    ----------
    q, p : arrays (..., n)
        Parameters of the two distributions.

    Returns
    -------
    float, or array (...)
    """
    q, p = np.asarray(q, dtype=float), np.asarray(p, dtype=float)
    there = p > 0
    # of smaller numbers the logarithm of the gamma function is infinite
    q, p = np.maximum(q, _TINY), np.where(there, np.maximum(p, _TINY), 0.0)
    inner_q, inner_p = np.where(there, q, 1.0), np.where(there, p, 1.0)
    total_q, total_p = np.where(there, q, 0.0).sum(axis=-1), p.sum(axis=-1)
    some = total_p > 0
    total_q, total_p = np.where(some, total_q, 1.0), np.where(some, total_p, 1.0)
    terms = gammaln(inner_p) - gammaln(inner_q)
    terms += (inner_q - inner_p) * (digamma(inner_q) - np.expand_dims(digamma(total_q), -1))
    found = gammaln(total_q) - gammaln(total_p) + np.where(there, terms, 0.0).sum(axis=-1)
    return np.where(some, found, 0.0)[()]


def kl_normal_distribution(
    mean_q: float, variance_q: float, mean_p: float, variance_p: float
) -> float:
    """Of normal distributions of one variable.

    Parameters
    ----------
    mean_q, variance_q, mean_p, variance_p : float

    Returns
    -------
    float
    """
    ratio = variance_q / variance_p
    return float(0.5 * (ratio - 1.0 - np.log(ratio) + (mean_q - mean_p) ** 2 / variance_p))


def kl_multivariate_normal_distribution(
    mean_q: ArrayLike, covar_q: ArrayLike, mean_p: ArrayLike, covar_p: ArrayLike
) -> float:
    """Of multivariate normal distributions.

    Parameters
    ----------
    mean_q, mean_p : arrays (d,)
    covar_q, covar_p : arrays (d, d)

    Returns
    -------
    float
    """
    apart = np.asarray(mean_q, dtype=float) - np.asarray(mean_p, dtype=float)
    ratio = np.linalg.solve(np.asarray(covar_p, float), np.asarray(covar_q, float))
    distance = apart @ np.linalg.solve(np.asarray(covar_p, dtype=float), apart)
    return float(0.5 * (np.trace(ratio) - len(apart) - np.linalg.slogdet(ratio)[1] + distance))


def kl_gamma_distribution(b_q: float, c_q: float, b_p: float, c_p: float) -> float:
    """Of gamma distributions.

    Parameters
    ----------
    b_q, b_p : float
        Shapes.
    c_q, c_p : float
        Rates.

    Returns
    -------
    float
    """
    found = gammaln(b_p) - gammaln(b_q) + (b_q - b_p) * digamma(b_q)
    return float(found + b_p * np.log(c_q / c_p) + b_q * (c_p / c_q - 1.0))


def kl_wishart_distribution(
    dof_q: float, scale_q: ArrayLike, dof_p: float, scale_p: ArrayLike
) -> float:
    """Of Wishart distributions of precision matrices.

    Parameters
    ----------
    dof_q, dof_p : float
        Degrees of freedom, more than d - 1.
    scale_q, scale_p : arrays (d, d)
        Inverse scale matrices: the expected precision is dof times the inverse of scale.

    Returns
    -------
    float
    """
    scale_q, scale_p = np.asarray(scale_q, dtype=float), np.asarray(scale_p, dtype=float)
    log_det_q, log_det_p = np.linalg.slogdet(scale_q)[1], np.linalg.slogdet(scale_p)[1]
    trace = np.trace(np.linalg.solve(scale_q, scale_p))
    return float(wishart(len(scale_p), dof_q, log_det_q, dof_p, log_det_p, trace))


def wishart(d, dof_q, log_det_q, dof_p, log_det_p, trace):
    """The same in terms of log determinants of the scales and the trace of scale_p / scale_q."""
    found = 0.5 * (dof_q - dof_p) * expected_log_det(d, dof_q, log_det_q)
    found = found + 0.5 * dof_q * (trace - d)
    return found + _log_normaliser(d, dof_p, log_det_p) - _log_normaliser(d, dof_q, log_det_q)


def expected_log_det(d, dof, log_det):
    """E[log |precision|] under a Wishart distribution."""
    return digamma(_halves(d, dof)).sum(axis=-1) + d * np.log(2.0) - log_det


def _log_normaliser(d, dof, log_det):
    found = gammaln(_halves(d, dof)).sum(axis=-1) + 0.25 * d * (d - 1) * LOG_PI
    return found - 0.5 * dof * (log_det - d * np.log(2.0))


def _halves(d, dof):
    return (np.expand_dims(np.asarray(dof, dtype=float), -1) - np.arange(d)) / 2.0
