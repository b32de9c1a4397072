"""The three input forms, read into flat rows with offsets and written back.

stacked
    An array ``(n, d)``, a dataframe or 1-d symbols, with ``lengths``; without, one sequence.
grouped
    The same rows with ``groups``: one sequence id per row, with the rows of a sequence next to
    each other.
list
    A list of sequences. The answers come back as a list too.

A list is read by its first item. Arrays, dataframes and series in it are sequences. Numbers and
strings in it are the symbols of one sequence. Lists in it are sequences if they hold strings or
lists of their own, or numbers and differ in length; lists of numbers that agree in length are the
rows of one 2-d array, as everywhere in scikit-learn. Write ``[np.array([0, 1]), np.array([1, 1])]``
for two sequences of two symbols each. A string is always one symbol: ``["walk", "run"]`` is one
sequence of two steps, and the letters of ``"ACGT"`` are ``list("ACGT")``.

Missing values are None, NaN and NaT, pandas' NA, polars' null, and whatever a masked array masks.
"""

import warnings
from itertools import pairwise
from numbers import Number

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

from .._kernels.data.rows import cut, ends_of, join
from .values import (
    as_array,
    concatenate,
    is_arrow_table,
    is_plain_type,
    missing_in,
    of_arrow_table,
    plain,
)

# Types of arrays that are used as they are; other ones may be too, after a closer look.
PLAIN = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")))


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
    times : Times or None
        When the rows were observed, in continuous time.
    known : Known or None
        What is known of the labels of the rows.
    """

    __slots__ = ("X", "form", "ids", "known", "name", "offsets", "times")

    def __init__(self, X, offsets, form, ids=None, name="X", times=None, known=None):
        self.X = X
        self.offsets = offsets
        self.form = form
        self.ids = ids
        self.name = name
        self.times = times
        self.known = known

    @property
    def n_steps(self):
        return self.offsets.item(-1)

    @property
    def n_sequences(self):
        return len(self.offsets) - 1

    @property
    def lengths(self):
        return np.diff(self.offsets)

    @property
    def is_single(self):
        """Whether it is one stacked sequence, the answer about which is not put into a list."""
        return self.form == "stacked" and self.n_sequences == 1

    @property
    def ranges(self):
        """The rows of each sequence, as pairs (begin, end)."""
        return list(pairwise(self.offsets.tolist()))

    @property
    def names(self):
        """The ids of the sequences where they have some, otherwise their numbers."""
        return range(self.n_sequences) if self.ids is None else self.ids

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
        times = None if self.times is None else self.times.part(begin, end, self.offsets)
        known = None if self.known is None else self.known.part(first, last)
        ids = self.ids and self.ids[begin:end]
        return Sequences(X, offsets, self.form, ids, self.name, times, known)

    def at(self, times):
        """The same sequences with these times."""
        return Sequences(self.X, self.offsets, self.form, self.ids, self.name, times, self.known)

    def split(self, values):
        """Cut one value (or row) per step into a list with one array (view) per sequence."""
        if type(values) is np.ndarray and values.ndim <= 2 and values.flags.c_contiguous:
            return cut(values, self.offsets)
        return [values[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def restore(self, values):
        """Give one value (or row) per step back in the form that came in."""
        return self.split(values) if self.form == "list" else values

    def alone(self, values):
        """One value per sequence: of a single stacked sequence, the value itself."""
        return values[0] if self.is_single else values


def read_sequences(X, *, lengths=None, groups=None, name="X"):
    """Read X in any of the three forms.

    Parameters
    ----------
    X : array, dataframe, 1-d symbols or list of sequences
    lengths : sequence of int, optional
        Length of each sequence in stacked rows.
    groups : sequence, optional
        Sequence id of each row. For a list, one id per sequence is allowed and has no effect: it is
        what a splitter such as ``GroupKFold`` needs there.
    name : str
        What messages call X.

    Returns
    -------
    Sequences
    """
    if type(X) is not np.ndarray or not (X.dtype in PLAIN or _is_plain(X.dtype)):
        if issparse(X):
            raise _sparse(name)
        if holds_sequences(X, name):
            return _read_list(X, lengths, groups, name)
        if isinstance(X, (str, bytes)):
            raise ValueError(
                f"{name} is a string, which is one symbol: write list({name}) for the sequence of "
                "its letters."
            )
        X = _rows(X, name)
    shape = X.shape
    if not 1 <= len(shape) <= 2:
        hint = f" such as list({name})" if len(shape) == 3 else ""
        raise ValueError(
            f"{name} has {len(shape)} dimensions; expected a 2-d array with one row per step, 1-d "
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
    """Read one value per step (labels, times), in the same form as `sequences`, as one array."""
    nested = _is_nested(values)
    if sequences.form != "list":
        if nested:
            raise ValueError(
                f"{name} is a list of sequences but {sequences.name} is not: give both as lists of "
                f"sequences, or {name} as a 1-d array with one value per row."
                + _hint_at_letters(sequences)
            )
        values = _vector(values, name)
        if len(values) != sequences.n_steps:
            raise ValueError(
                f"{name} has {len(values)} values but {sequences.name} has {sequences.n_steps} "
                f"rows; expected one value per row." + _hint_at_letters(sequences)
            )
        return values
    if isinstance(values, np.ndarray) and values.ndim == 2:
        nested = True
    if not nested or not hasattr(values, "__len__"):
        raise ValueError(
            f"{sequences.name} is a list of {sequences.n_sequences} sequences, so {name} must be a "
            f"list of {sequences.n_sequences} 1-d arrays, one value per step."
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
    return concatenate(values)


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
    given = lengths
    try:
        lengths = as_array(lengths, "lengths")
    except ValueError:  # lists in it differ in length
        lengths = np.empty((), dtype=object)
    if lengths.dtype.kind == "O" and all(type(length) is int for length in lengths.ravel()):
        lengths = np.array(lengths.tolist())  # as objects only for what pandas makes of integers
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise ValueError(
            f"lengths must be a 1-d sequence of integers, one per sequence; got {given!r}."
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
            f"groups has {len(groups)} ids but {name} has {n} rows; expected one sequence id "
            "per row."
        )
    missing = missing_in(groups)
    if missing.any():
        raise ValueError(f"groups has no id for row {int(np.argmax(missing))}.")
    starts = np.concatenate(([0], np.flatnonzero(groups[1:] != groups[:-1]) + 1))
    ids = groups[starts].tolist()
    try:
        distinct = len(set(ids))
    except TypeError:
        raise ValueError(
            "groups must hold ids such as strings or numbers, which can be hashed; the first is "
            f"{ids[0]!r}."
        ) from None
    if distinct < len(ids):
        seen = set()
        for start, group in zip(starts.tolist(), ids):
            if group in seen:
                raise ValueError(
                    f"groups: the rows of a sequence must be next to each other, but {group!r} "
                    f"appears again at row {start}. Sort the rows by sequence first."
                )
            seen.add(group)
    return np.append(starts, n).astype(np.int64), ids


def _read_list(items, lengths, groups, name, read=None):
    n_sequences = len(items)
    if lengths is not None:
        raise ValueError(
            f"{name} is a list of sequences, which has its lengths already; give no lengths."
        )
    if groups is not None and _size(groups) != n_sequences:
        raise ValueError(
            f"{name} is a list of {n_sequences} sequences, which needs no groups; if a splitter "
            f"needs them, give one per sequence, not {_size(groups)}."
        )
    same = read is None and set(map(type, items)) == {np.ndarray}
    if same:
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
    if not (same and {array.ndim for array in arrays} == {1}) and (
        len({(len(array.shape), array.shape[1:]) for array in arrays}) > 1
        or len(arrays[0].shape) not in (1, 2)
    ):
        raise _shape_mismatch(arrays, name)
    sizes = list(map(len, arrays))
    if 0 in sizes:
        raise ValueError(f"{name}[{sizes.index(0)}] is empty: a sequence has at least one step.")
    offsets = np.zeros(n_sequences + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return Sequences(concatenate(arrays, name), offsets, "list", name=name)


def _shape_mismatch(arrays, name):
    for i, array in enumerate(arrays):
        if len(array.shape) == 0:
            return ValueError(
                f"{name}[{i}] is {array.item()!r}, but {name} is a list of sequences: expected a "
                f"2-d array with one row per step, or 1-d symbols."
            )
        if len(array.shape) > 2:
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
    return _rows(item, name)


def _sparse(name):
    return TypeError(
        f"Sparse data was passed for {name}, but dense data is required. "
        f"Use '.toarray()' to convert to a dense numpy array."
    )


def _is_scalar(value):
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return _is_scalar_type(type(value))


def _is_scalar_type(kind):
    return issubclass(kind, (str, bytes, Number, set, frozenset)) or not hasattr(kind, "__len__")


def _is_nested(values):
    """Whether values is a list (or object array) in which there are sequences."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "O" or values.ndim != 1:
            return False
    elif not isinstance(values, (list, tuple)):
        return False
    kinds = set(map(type, values))
    if any(issubclass(kind, np.ndarray) for kind in kinds):
        return not all(map(_is_scalar, values))
    return not all(map(_is_scalar_type, kinds))


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
    kinds = set().union(*(map(type, item) for item in X))
    return any(
        issubclass(kind, (str, bytes, np.ndarray)) or not _is_scalar_type(kind) for kind in kinds
    )


def _is_plain(dtype):
    return dtype.kind != "O" and is_plain_type(dtype)


def _rows(X, name):
    """An array, or a dataframe that scikit-learn can validate, from anything array-like."""
    if is_arrow_table(X, name):
        return of_arrow_table(X)
    if hasattr(X, "columns") and hasattr(X, "shape"):
        return X
    return as_array(X, name)


def _size(values):
    return len(values) if hasattr(values, "__len__") else repr(values)


def _hint_at_letters(sequences):
    X = sequences.X
    if len(X.shape) == 1 and any(isinstance(x, str) and len(x) > 1 for x in X[:1].tolist()):
        return (
            f" A string in {sequences.name} is one symbol; for the letters of each write "
            f"[list(string) for string in {sequences.name}]."
        )
    return ""


def _vector(values, name):
    if type(values) is np.ndarray:
        array = values if values.dtype in PLAIN or _is_plain(values.dtype) else plain(values)
    elif issparse(values):
        raise _sparse(name)
    else:
        array = _rows(values, name)
    if len(array.shape) == 1:
        return array
    if len(array.shape) == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected. Please change the "
            f"shape of {name} to (n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        return plain(np.asarray(array)).ravel()
    raise ValueError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
