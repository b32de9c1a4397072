"""Rows of numbers, as emissions read them."""

import numpy as np
from sklearn.utils import check_array

from .._kernels.data.finite import all_finite
from ..sequences.values import as_array

# Types of arrays in which only what is not finite has to be looked for.
NUMERIC = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")))


def read_numeric(X, emission):
    """Rows as a float64 array of shape (n, d); NaN and None stay as NaN, infinity is an error."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in NUMERIC and X.size:
        numbers = np.ascontiguousarray(X, dtype=np.float64)
        if all_finite(numbers):
            return numbers
    if not hasattr(X, "columns"):
        X = as_array(X, "X")
        if X.ndim == 1:
            X = X.reshape(-1, 1)
    _refuse_times(X, emission)
    try:
        return check_array(
            X, dtype=np.float64, order="C", ensure_all_finite="allow-nan", input_name="X"
        )
    except (TypeError, ValueError, OverflowError) as error:
        if not any(words in str(error) for words in ("convert", "float() argument")):
            raise
        raise ValueError(
            f"{emission} emissions need numbers, but {error}. "
            "For symbols use emission='categorical'."
        ) from error


def _refuse_times(X, emission):
    """numpy would make numbers of times, whatever their unit, and of NaT too."""
    kinds = {getattr(dtype, "kind", "") for dtype in getattr(X, "dtypes", ())}
    if {getattr(getattr(X, "dtype", None), "kind", ""), *kinds} & {"m", "M"}:
        raise ValueError(
            f"{emission} emissions need numbers, but X holds times: divide durations by a unit "
            "such as numpy.timedelta64(1, 's')."
        )
