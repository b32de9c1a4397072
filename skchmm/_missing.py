"""What stands for a missing label: None, NaN, pandas' NA and NaT, and -1 where that is agreed."""

import numpy as np


def is_missing(value, sentinel=None):
    """Whether one value is a missing label."""
    if isinstance(value, (str, bytes)):
        return False
    # NA compares to nothing, not even to itself; it is known by name, since pandas is optional.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    same = value == value
    if not isinstance(same, (bool, np.bool_)):  # an array, say: no label, but not missing either
        return False
    return not same or (sentinel is not None and bool(value == sentinel))


def missing_labels(y, sentinel=None):
    """A mask of the missing labels of an array."""
    if y.dtype.kind == "O":
        return np.array([is_missing(value, sentinel) for value in y], dtype=bool)
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if sentinel is not None and y.dtype.kind in "if":
        missing |= y == sentinel
    return missing
