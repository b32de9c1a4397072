"""The three input forms, read into flat rows with offsets and written back.

stacked
    An array ``(n, d)``, a dataframe or 1-d symbols, with ``lengths``; without, one sequence.
grouped
    The same rows with ``groups``, one sequence id a row, the rows of a sequence next to each other.
list
    A list of sequences. The answers come back as a list too.

A list is read by its first item. Arrays, dataframes and series in it are sequences. Numbers and
strings in it are the symbols of one sequence. Lists in it are sequences if they hold strings or
lists of their own, or numbers and differ in length; lists of numbers that agree in length are the
rows of one 2-d array, as everywhere in scikit-learn. Write ``[np.array([0, 1]), np.array([1, 1])]``
for two sequences of two symbols each.
"""

import sys
from itertools import pairwise
from numbers import Number

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import column_or_1d

from ._kernels.data.rows import cut, ends_of, join


class Sequences:
    """Rows of one or more sequences, one after the other.

    Attributes
    ----------
    X : ndarray of shape (n,) or (n, d), or dataframe
        The rows as the user gave them; those of a list are concatenated.
    offsets : ndarray of int64, shape (n_sequences + 1,)
        Sequence i has the rows ``offsets[i]:offsets[i + 1]``.
    form : {"stacked", "grouped", "list"}
        How the sequences came in.
    ids : list or None
        The sequence ids of the grouped form.
    name : str
        What messages call the rows.
    """

    __slots__ = ("X", "form", "ids", "name", "offsets")

    def __init__(self, X, offsets, form, ids=None, name="X"):
        self.X = X
        self.offsets = offsets
        self.form = form
        self.ids = ids
        self.name = name

    @property
    def n_steps(self):
        return int(self.offsets[-1])

    @property
    def n_sequences(self):
        return len(self.offsets) - 1

    @property
    def lengths(self):
        return np.diff(self.offsets)

    def __repr__(self):
        return f"<{self.n_sequences} sequences, {self.n_steps} steps, {self.form}>"

    def describe(self, i):
        """What messages call sequence i: its id where it has one, otherwise its number."""
        return f"sequence {i}" if self.ids is None else f"sequence {self.ids[i]!r}"

    def part(self, begin, end):
        """Sequences begin..end-1."""
        first, last = self.offsets[begin], self.offsets[end]
        if last - first == self.n_steps:
            return self
        X = self.X.iloc[first:last] if hasattr(self.X, "iloc") else self.X[first:last]
        offsets = self.offsets[begin : end + 1] - first
        return Sequences(X, offsets, self.form, self.ids and self.ids[begin:end], self.name)

    def split(self, values):
        """Cut one value (or row) a step into a list with one array (view) a sequence."""
        if type(values) is np.ndarray and values.ndim <= 2 and values.flags.c_contiguous:
            return cut(values, self.offsets)
        return [values[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def restore(self, values):
        """Give one value (or row) a step back in the form that came in."""
        return self.split(values) if self.form == "list" else values


def read_sequences(X, *, lengths=None, groups=None, name="X"):
    """Read X in any of the three forms.

    Parameters
    ----------
    X : array, dataframe, 1-d symbols or list of sequences
    lengths : sequence of int, optional
        Length of each sequence in stacked rows.
    groups : sequence, optional
        Sequence id of each row. For a list, one id a sequence is allowed and has no effect: it is
        what a splitter such as ``GroupKFold`` needs there.
    name : str
        What messages call X.

    Returns
    -------
    Sequences
    """
    if not isinstance(X, np.ndarray) or X.dtype.kind == "O":
        if issparse(X):
            raise _sparse(name)
        if holds_sequences(X, name):
            return _read_list(X, lengths, groups, name)
        X = _rows(X)
    shape = X.shape
    if not 1 <= len(shape) <= 2:
        hint = f" such as list({name})" if len(shape) == 3 else ""
        raise ValueError(
            f"{name} has {len(shape)} dimensions; expected a 2-d array with one row a step, 1-d "
            f"symbols, or a list of sequences{hint}."
        )
    n = shape[0]
    if n == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required: "
            f"{name} is empty."
        )
    return _with_offsets(X, n, lengths, groups, name)


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


def _with_offsets(X, n, lengths, groups, name):
    if lengths is None and groups is None:
        return Sequences(X, np.array((0, n), dtype=np.int64), "stacked", name=name)
    if groups is None:
        return Sequences(X, _offsets_of_lengths(lengths, n, name), "stacked", name=name)
    if lengths is not None:
        raise ValueError("lengths and groups both say where sequences end; give only one of them.")
    offsets, ids = _offsets_of_groups(groups, n, name)
    return Sequences(X, offsets, "grouped", ids, name)


def _offsets_of_lengths(lengths, n, name):
    if type(lengths) is list:
        offsets = ends_of(lengths)
        if offsets is not None and offsets[-1] == n:
            return offsets
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise ValueError(
            f"lengths must be a 1-d sequence of integers, one a sequence; got {lengths!r}."
        )
    if (lengths <= 0).any():
        i = int(np.argmax(lengths <= 0))
        raise ValueError(f"lengths must be at least 1; lengths[{i}] is {lengths[i]}.")
    total = int(lengths.sum()) if lengths.max(initial=0) <= n else sum(lengths.tolist())
    if total != n:
        raise ValueError(f"lengths sum to {total} but {name} has {n} rows.")
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _offsets_of_groups(groups, n, name):
    groups = _vector(groups, "groups")
    if len(groups) != n:
        raise ValueError(
            f"groups has {len(groups)} ids but {name} has {n} rows; expected one sequence id a row."
        )
    missing = groups != groups if groups.dtype.kind in "fc" else _is_missing_object(groups)
    if np.any(missing):
        raise ValueError(f"groups has no id for row {int(np.argmax(missing))}.")
    starts = np.concatenate(([0], np.flatnonzero(groups[1:] != groups[:-1]) + 1))
    ids = groups[starts].tolist()
    if len(set(ids)) < len(ids):
        seen = set()
        for start, group in zip(starts.tolist(), ids):
            if group in seen:
                raise ValueError(
                    f"groups: the rows of a sequence must be next to each other, but {group!r} "
                    f"appears again at row {start}. Sort the rows by sequence first."
                )
            seen.add(group)
    return np.append(starts, n).astype(np.int64), ids


def _is_missing_object(values):
    if values.dtype.kind != "O":
        return False
    return np.array([value is None or value != value for value in values], dtype=bool)


def _read_list(items, lengths, groups, name, read=None):
    n_sequences = len(items)
    if lengths is not None:
        raise ValueError(
            f"{name} is a list of sequences, which has its lengths already; give no lengths."
        )
    if groups is not None and len(groups) != n_sequences:
        raise ValueError(
            f"{name} is a list of {n_sequences} sequences, which needs no groups; if a splitter "
            f"needs them, give one a sequence, not {len(groups)}."
        )
    plain = read is None and set(map(type, items)) == {np.ndarray}
    if plain:
        arrays = list(items)
        joined = join(arrays) if n_sequences > 1 else None
        if joined is not None:
            return Sequences(*joined, "list", name=name)
    elif read is not None:
        arrays = [read(item, f"{name}[{i}]") for i, item in enumerate(items)]
    else:
        arrays = [
            item if type(item) is np.ndarray else _list_item(item, f"{name}[{i}]")
            for i, item in enumerate(items)
        ]
    if not (plain and {array.ndim for array in arrays} == {1}) and (
        len({array.shape[1:] for array in arrays}) > 1 or len(arrays[0].shape) not in (1, 2)
    ):
        raise _shape_mismatch(arrays, name)
    sizes = list(map(len, arrays))
    if 0 in sizes:
        raise ValueError(f"{name}[{sizes.index(0)}] is empty: a sequence has at least one step.")
    offsets = np.zeros(n_sequences + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return Sequences(_concatenate(arrays, name), offsets, "list", name=name)


def _shape_mismatch(arrays, name):
    for i, array in enumerate(arrays):
        if len(array.shape) not in (1, 2):
            return ValueError(
                f"{name}[{i}] has {len(array.shape)} dimensions; expected a 2-d array with one row "
                f"a step, or 1-d symbols."
            )
    first = arrays[0].shape
    i = next(i for i, array in enumerate(arrays) if array.shape[1:] != first[1:])

    def what(shape):
        return "1-d" if len(shape) == 1 else f"with {shape[1]} column(s)"

    return ValueError(
        f"All sequences must have the same columns: {name}[0] is {what(first)}, {name}[{i}] is "
        f"{what(arrays[i].shape)}."
    )


def _list_item(item, name):
    if issparse(item):
        raise _sparse(name)
    return _rows(item)


def _sparse(name):
    return TypeError(
        f"Sparse data was passed for {name}, but dense data is required. "
        f"Use '.toarray()' to convert to a dense numpy array."
    )


def _is_scalar(value):
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, (str, bytes, Number)) or not hasattr(value, "__len__")


def _is_nested(values):
    """Whether values is a list (or object array) whose items are sequences themselves."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "O" or values.ndim != 1:
            return False
    elif not isinstance(values, (list, tuple)):
        return False
    return len(values) > 0 and not _is_scalar(values[0])


def holds_sequences(X, name="X"):
    """Whether X is in the list form, by the rule at the top of this module."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError(f"{name} is empty: expected at least one sequence (0 sample(s) found).")
    if not _is_nested(X):
        return False
    if not all(isinstance(item, (list, tuple)) for item in X):
        return True
    if len({len(item) for item in X}) > 1:
        return True
    for item in X:
        for value in item:
            if isinstance(value, (str, bytes)) or not _is_scalar(value):
                return True
            if isinstance(value, Number):
                return False
    return False


def _rows(X):
    """An array, or a dataframe that scikit-learn can validate, from anything array-like."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return _array(X)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return X
    return _series(X) if hasattr(X, "to_numpy") else np.asarray(X)


def _series(values):
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "na_value") and values.isna().any():
        return values.to_numpy(dtype=object, na_value=None)
    return values.to_numpy()


def _array(values):
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray) and array.ndim == 1:
        # numpy would spell None, NaN and numbers among strings out as strings
        kind = str if array.dtype.kind == "U" else bytes
        if not all(isinstance(value, kind) for value in values):
            array = np.empty(len(values), dtype=object)
            array[:] = values
    return array


def _vector(values, name):
    if type(values) is np.ndarray:
        array = values
    elif issparse(values):
        raise _sparse(name)
    else:
        array = _rows(values)
    if len(array.shape) == 1:
        return array
    if len(array.shape) == 2 and array.shape[1] == 1:
        return column_or_1d(np.asarray(array), warn=True)
    raise ValueError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")


def _concatenate(arrays, name="X"):
    """Concatenate without changing values: no string from a number, no column from another."""
    if not all(issubclass(kind, np.ndarray) for kind in set(map(type, arrays))):
        return _concatenate_frames(arrays, name)
    if len(arrays) == 1:
        return arrays[0]
    kinds = {dtype.kind for dtype in {array.dtype for array in arrays}}
    if len(kinds) > 1 and kinds & set("USTMmO"):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def _concatenate_frames(frames, name):
    library = type(frames[0]).__module__.partition(".")[0]
    if len({type(frame) for frame in frames}) > 1 or library not in ("pandas", "polars"):
        return _concatenate([np.asarray(frame) for frame in frames])
    columns = list(frames[0].columns)
    for i, frame in enumerate(frames):
        if list(frame.columns) != columns:
            raise ValueError(
                f"All sequences must have the same columns: {name}[0] has {columns}, {name}[{i}] "
                f"has {list(frame.columns)}."
            )
    if len(frames) == 1:
        return frames[0]
    if library == "polars":
        return sys.modules["polars"].concat(frames, how="vertical_relaxed")
    return sys.modules["pandas"].concat(frames, ignore_index=True)
