"""What comes with sequences, one value per step or per sequence: labels, times, weights."""

from numbers import Number

import numpy as np

from .forms import _concatenate, _is_nested, _read_list, _vector, _with_offsets


def read_labels(y, sequences, name="y"):
    """Read labels in the same form as `sequences`, as one flat array.

    Missing labels (None, NaN, -1) are left as they are.
    """
    return read_rows(y, sequences, name)


def read_rows(values, sequences, name):
    """Read one value a step (labels, times), in the same form as `sequences`, as one array."""
    nested = _is_nested(values)
    if sequences.form != "list":
        if nested:
            raise ValueError(
                f"{name} is a list of sequences but {sequences.name} is not: give both as lists of "
                f"sequences, or {name} as a 1-d array with one value a row."
            )
        values = _vector(values, name)
        if len(values) != sequences.n_steps:
            raise ValueError(
                f"{name} has {len(values)} values but {sequences.name} has {sequences.n_steps} "
                f"rows; expected one value a row."
            )
        return values
    if isinstance(values, np.ndarray) and values.ndim == 2:
        nested = True
    if not nested:
        raise ValueError(
            f"{sequences.name} is a list of {sequences.n_sequences} sequences, so {name} must be a "
            f"list of {sequences.n_sequences} 1-d arrays, one value a step."
        )
    if len(values) != sequences.n_sequences:
        raise ValueError(
            f"{name} has {len(values)} sequences but {sequences.name} has {sequences.n_sequences}."
        )
    values = [_vector(item, f"{name}[{i}]") for i, item in enumerate(values)]
    for i, (item, length) in enumerate(zip(values, sequences.lengths.tolist())):
        if len(item) != length:
            raise ValueError(
                f"{name}[{i}] has {len(item)} values but {sequences.name}[{i}] has {length} steps."
            )
    return _concatenate(values)


def read_weights(sample_weight, sequences):
    """Read sample weights as one float64 a sequence; None gives ones.

    In the list form there is one weight a sequence, in the others one a row, the same in all rows
    of a sequence.
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
    """Read sample weights, given as for `read_weights`, as one float64 a step."""
    n = sequences.n_steps
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Number):
        weights = np.full(n, sample_weight, dtype=np.float64)
    else:
        weights = np.asarray(sample_weight, dtype=np.float64)
        listed = sequences.form == "list"
        expected = sequences.n_sequences if listed else n
        if weights.ndim != 1 or len(weights) != expected:
            per = "a sequence" if listed else "a row"
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
