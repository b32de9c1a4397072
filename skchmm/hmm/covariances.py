"""Covariances set by hand: their shape and that they are covariances."""

import logging

import numpy as np

_log = logging.getLogger("skchmm.hmm")

_TYPES = "'spherical', 'tied', 'diag', 'full'"


def check_covars(covars, kind, n_components):
    """Compact covariances of one Gaussian a state, as a copy."""
    covars = np.array(covars, dtype=float)
    if kind == "spherical":
        if covars.ndim == 0 or len(covars) != n_components:
            raise ValueError("'spherical' covars must have length n_components")
        covars = covars.reshape(n_components, -1)
        if covars.shape[1] == 0 or (covars != covars[:, :1]).any():
            raise ValueError("'spherical' covars must be one variance per state")
        covars = covars[:, 0].copy()
    shapes = {"spherical": 1, "tied": 2, "diag": 2, "full": 3}
    if kind not in shapes:
        raise ValueError(f"covariance_type must be one of {_TYPES}")
    square = kind not in ("tied", "full") or covars.shape[-1:] == covars.shape[-2:-1]
    if covars.ndim != shapes[kind] or not square:
        expected = {
            "tied": "(n_dim, n_dim)",
            "diag": "(n_components, n_dim)",
            "full": "(n_components, n_dim, n_dim)",
        }[kind]
        raise ValueError(f"{kind!r} covars must have shape {expected}, not {covars.shape}")
    if kind in ("spherical", "diag"):
        if (covars <= 0).any():
            raise ValueError(f"{kind!r} covars must be positive")
    else:
        for n, matrix in enumerate(covars if kind == "full" else covars[None]):
            if not _is_symmetric(matrix) or np.linalg.eigvalsh(matrix).min() <= 0:
                what = f"component {n} of 'full' covars" if kind == "full" else "'tied' covars"
                raise ValueError(f"{what} must be symmetric, positive-definite")
    return covars


def check_mixture_covars(covars, kind, shape):
    """Covariances of mixtures of `shape` (n_components, n_mix, n_features)."""
    covars = np.asarray(covars)
    S, m, d = shape
    needed = {"spherical": (S, m), "diag": (S, m, d), "full": (S, m, d, d), "tied": (S, d, d)}
    if covars.shape != needed[kind]:
        raise ValueError(
            f"{kind!r} mixture covars must have shape {needed[kind]}, actual shape: {covars.shape}"
        )
    if kind in ("spherical", "diag"):
        if (covars < 0).any():
            raise ValueError(f"{kind!r} mixture covars must be non-negative")
        if (covars == 0).any():
            _log.warning("Degenerate mixture covariance")
        return covars
    for index in np.ndindex(covars.shape[:-2]):
        where = f"state #{index[0]}" + (f", mixture #{index[1]}" if len(index) > 1 else "")
        if not _is_symmetric(covars[index]):
            raise ValueError(f"Covariance of {where} is not symmetric")
        values = np.linalg.eigvalsh(covars[index])
        if values[0] < -d * np.finfo(float).eps * values[-1]:  # EM may end where rounding is
            raise ValueError(f"Covariance of {where} is not positive definite")
        if values[0] <= 0:
            _log.warning("Covariance of %s has a null eigenvalue.", where)
    return covars


def _is_symmetric(matrix):
    return np.allclose(matrix, matrix.T)
