"""Weights of sequences, and label paths that come on their own or in pairs."""

from numbers import Real

import numpy as np

from .forms import _is_nested, _read_list, _vector, _with_offsets, read_rows
from .values import as_numbers


def read_weights(sample_weight, sequences):
    """Read sample weights as one float64 per sequence; None gives ones.

    In the list form there is one weight per sequence. In the others there is one per row, the same
    in all rows of a sequence.
    """
    if sample_weight is None:
        return np.ones(sequences.n_sequences)
    weights = read_step_weights(sample_weight, sequences)
    starts = sequences.offsets[:-1]
    differs = weights != np.repeat(weights[starts], sequences.lengths)
    if differs.any():
        i = np.searchsorted(sequences.offsets, np.argmax(differs), side="right") - 1
        raise ValueError(
            f"sample_weight differs between the rows of {sequences.describe(i)}; a "
            f"sequence has one weight, repeated on all its rows."
        )
    return weights[starts]


def read_step_weights(sample_weight, sequences):
    """Read sample weights, given as for `read_weights`, as one float64 per step."""
    n = sequences.n_steps
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        weights = np.full(n, as_numbers([sample_weight], "sample_weight")[0])
    else:
        weights = as_numbers(sample_weight, "sample_weight")
        listed = sequences.form == "list"
        expected = sequences.n_sequences if listed else n
        if weights.ndim != 1 or len(weights) != expected:
            per = "per sequence" if listed else "per row"
            raise ValueError(
                f"sample_weight has shape {weights.shape}; expected ({expected},), one {per}."
            )
        if listed:
            weights = np.repeat(weights, sequences.lengths)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite weights that are not negative.")
    if not weights.any():
        raise ValueError("All sample weights are zero: there is nothing to learn from.")
    return weights


def read_label_sequences(y, *, lengths=None, groups=None, name="y"):
    """Read label paths in any of the three forms; a list of lists is always a list of paths."""
    if _is_nested(y):
        return _read_list(y, lengths, groups, name, read=_vector)
    labels = _vector(y, name)
    if len(labels) == 0:
        raise ValueError(f"{name} is empty: expected at least one label.")
    return _with_offsets(labels, len(labels), lengths, groups, name)


def read_label_pair(y_true, y_pred, *, lengths=None, groups=None):
    """Read two aligned sets of label paths.

    Returns
    -------
    y_true, y_pred : ndarray of shape (n,)
    sequences : Sequences
    """
    sequences = read_label_sequences(y_true, lengths=lengths, groups=groups, name="y_true")
    return sequences.X, read_rows(y_pred, sequences, "y_pred"), sequences
