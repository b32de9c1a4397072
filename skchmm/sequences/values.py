"""Values as plain numpy arrays, in which None, NaN and NaT alone stand for "not observed"."""

import importlib
import sys

import numpy as np

# These do not compare, and pandas need not be installed: they are told by their names.
_NAMES_OF_MISSING = ("NAType", "NaTType", "MaskedConstant")


def is_missing(value):
    """Whether one value of an object array stands for "not observed"."""
    if value is None or type(value).__name__ in _NAMES_OF_MISSING:
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # an array, say
        return False


def missing_in(column):
    """Boolean mask of the missing values of a 1-d array."""
    if column.dtype.kind in "fc":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind == "O":
        return np.fromiter(map(is_missing, column.tolist()), dtype=bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


def plain(array):
    """An array without mask, in the byte order of this machine, floats of 32 or 64 bits.

    Among objects, what is missing becomes None unless it is NaN.
    """
    if isinstance(array, np.ma.MaskedArray):
        array = _without_mask(array)
    array = np.asarray(array)
    dtype = array.dtype
    if dtype.kind == "T":  # strings of any length, among which anything may stand for missing
        array = array.astype(object)
    elif dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    elif not dtype.isnative:
        return array.astype(dtype.newbyteorder("="))
    return _with_none(array) if array.dtype.kind == "O" else array


def as_array(values, name):
    """A list or anything array-like as a plain array; nothing in it becomes a string."""
    if isinstance(values, np.ndarray):
        return plain(values)
    if hasattr(values, "to_numpy"):
        return of_series(values)
    listed = isinstance(values, (list, tuple))
    if listed and any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
        values = [_unmasked(value) for value in values]
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(
            f"{name} is neither one value per row nor rows of the same length: {error}"
        ) from error
    if array.dtype.kind in "US" and listed:
        kind = str if array.dtype.kind == "U" else bytes
        flat = values if array.ndim == 1 else [v for row in values for v in _values_of(row)]
        if not all(isinstance(value, kind) for value in flat):
            # numpy would spell None, NaN and numbers among strings out as strings
            spelt, array = array, np.empty(array.size, dtype=object)
            array[:] = flat
            array = array.reshape(spelt.shape)
    return plain(array)


def of_series(values):
    """A series of pandas, polars or Arrow as a plain array; whole numbers stay whole by gaps."""
    if _library(values) == "pyarrow":
        return _of_arrow(values)
    if hasattr(getattr(values, "dtype", None), "na_value") and values.isna().any():
        return plain(values.to_numpy(dtype=object, na_value=None))
    array = values.to_numpy()
    is_integer = getattr(getattr(values, "dtype", None), "is_integer", None)  # of polars
    if array.dtype.kind == "f" and is_integer is not None and is_integer():
        out = np.empty(len(array), dtype=object)
        out[:] = values.to_list()
        return out
    return plain(array)


def _library(values):
    return type(values).__module__.partition(".")[0]


def _of_arrow(values):
    """An array of Arrow: a chunked one, or one of a batch."""
    if hasattr(values, "combine_chunks") and hasattr(values, "chunks"):
        pieces = [_of_arrow(chunk) for chunk in values.chunks]
        return concatenate(pieces) if pieces else np.empty(0, dtype=object)
    kind = str(values.type)
    floating = kind in ("float", "double", "halffloat")
    if values.null_count and not floating:  # None beside whole numbers, which stay whole
        out = np.empty(len(values), dtype=object)
        out[:] = values.to_pylist()
        return out
    if kind.startswith("dictionary"):
        values = values.dictionary_decode()
    return plain(values.to_numpy(zero_copy_only=False))


def of_arrow_table(table):
    """A table or a batch of Arrow as a dataframe of pandas or polars, else as an array."""
    columns = {name: of_series(table.column(k)) for k, name in enumerate(table.schema.names)}
    for library in ("pandas", "polars"):
        try:
            frames = importlib.import_module(library)
        except ImportError:
            continue
        return frames.DataFrame(columns)
    kinds = {column.dtype.kind for column in columns.values()}
    if not kinds <= {*"iufb"}:
        columns = {name: column.astype(object) for name, column in columns.items()}
    return np.column_stack(list(columns.values()))


def is_arrow_table(values, name):
    """Whether these are a table or a batch of Arrow.

    A collection of Dask, which NumPy would load as a whole without a word, is an error.
    """
    if hasattr(values, "__dask_graph__"):
        raise TypeError(
            f"{name} is a Dask collection, which is not loaded: give {name}.compute() if it fits "
            "into memory. Otherwise learn from its parts, fit_chunks([part.compute for part in "
            f"numpy.ravel({name}.to_delayed())]), and predict each of them; every part has to hold "
            'whole sequences. See "Large data" in the user guide.'
        )
    return _library(values) == "pyarrow" and hasattr(values, "schema")


def is_plain_type(dtype):
    """Whether `plain` leaves arrays of this type, if it is not that of objects, as they are."""
    return dtype.isnative and (dtype.kind != "f" or dtype.itemsize in (4, 8)) and dtype.kind != "T"


def as_numbers(values, name):
    """Float64 numbers, NaN where they are missing."""
    array = as_array(values, name)
    try:
        if array.dtype.kind not in "iufbO":
            raise TypeError(f"got {array.dtype.name}")
        if array.dtype.kind == "O":
            _refuse(array, (str, bytes, complex, np.complexfloating, np.ndarray))
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error


def concatenate(arrays, name="X"):
    """Concatenate without changing values: no string from a number, no column from another."""
    if not all(issubclass(kind, np.ndarray) for kind in set(map(type, arrays))):
        return _concatenate_frames(arrays, name)
    if len(arrays) == 1:
        return plain(arrays[0])
    types = {array.dtype for array in arrays}
    kinds = {dtype.kind for dtype in types}
    if (len(kinds) > 1 and kinds & set("USTMmOV")) or ("V" in kinds and len(types) > 1):
        arrays = [array.astype(object) for array in arrays]
    return plain(np.concatenate(arrays))


def _concatenate_frames(frames, name):
    library = type(frames[0]).__module__.partition(".")[0]
    if len({type(frame) for frame in frames}) > 1 or library not in ("pandas", "polars"):
        return concatenate([as_array(frame, name) for frame in frames])
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


def _refuse(array, kinds):
    """Objects of which numpy would make numbers all the same."""
    for kind in set(map(type, array.ravel().tolist())):
        if issubclass(kind, kinds):
            raise TypeError(f"got {kind.__name__}")


def _values_of(row):
    return row.ravel().tolist() if isinstance(row, np.ndarray) else row


def _unmasked(value):
    """One value of a list, None where a mask hides it."""
    if not isinstance(value, np.ma.MaskedArray):
        return value
    return plain(value) if value.ndim else value.tolist()


def _without_mask(array):
    mask, values = np.ma.getmaskarray(array), np.asarray(array.data)
    kind = values.dtype.kind
    if kind == "V":
        raise ValueError("Masked arrays of records are not supported; give their columns.")
    if not mask.any():
        return values
    # whole numbers and strings have no value that could stand for missing
    values = values.copy() if kind in "fcmM" else values.astype(object)
    values[mask] = {"f": np.nan, "c": np.nan, "m": "NaT", "M": "NaT"}.get(kind)
    return values


def _with_none(array):
    kinds = set(map(type, array.ravel().tolist()))
    if not any(
        kind.__name__ in _NAMES_OF_MISSING or issubclass(kind, (np.datetime64, np.timedelta64))
        for kind in kinds
    ):
        return array
    flat = array.ravel().tolist()
    out = np.empty(len(flat), dtype=object)
    out[:] = [None if not isinstance(v, float) and is_missing(v) else v for v in flat]
    return out.reshape(array.shape)
