"""hmmlearn's ``utils``: normalisation of arrays in place."""

import numpy as np
from scipy.special import logsumexp


def normalize(a: np.ndarray, axis: int | None = None) -> None:
    """Divide an array by its sum, or by the sums along an axis; sums that are zero count as one.

    Parameters
    ----------
    a : ndarray
        Changed in place.
    axis : int, optional
    """
    total = a.sum(axis=axis, keepdims=True)
    a /= np.where(total == 0, 1.0, total)


def log_normalize(a: np.ndarray, axis: int | None = None) -> None:
    """The same for logarithms: subtract the logarithm of the sum of the exponentials.

    Parameters
    ----------
    a : ndarray
        Changed in place.
    axis : int, optional
    """
    if axis is not None and a.shape[axis] == 1:
        a[:] = 0.0  # also where the only entry is -inf
    else:
        with np.errstate(under="ignore"):
            a -= logsumexp(a, axis=axis, keepdims=True)
