"""Symbols of a column <-> whole numbers."""

import numpy as np

from .._kernels.data.symbols import code_run

_MAX_INT64 = np.iinfo(np.int64).max


def columns_of(X):
    """The columns of a 1-d array, a 2-d array or a dataframe, each as a 1-d array."""
    if hasattr(X, "iloc"):
        if X.ndim == 1:
            return [np.asarray(X)]
        return [np.asarray(X.iloc[:, j]) for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [np.asarray(X[name]) for name in X.columns]
    X = np.asarray(X)
    if X.ndim not in (1, 2):
        raise ValueError(f"Expected symbols in a 1-d or 2-d array, got {X.ndim} dimensions.")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    return [X] if X.ndim == 1 else list(X.T)


def is_missing(value):
    """Whether one value of an object column stands for "not observed"."""
    # pandas.NA does not compare, and pandas need not be installed: it is told by its name
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def missing_in(column):
    """Boolean mask of the missing values of a 1-d array."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    if column.dtype.kind == "O":
        return np.fromiter(map(is_missing, column.tolist()), dtype=bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


class Vocabulary:
    """The symbols that a column may hold, in sorted order; symbol i has code i, missing has -1.

    Sorting and lookup are by value for numbers and by hashing for everything else: O(n) either way
    up to a logarithm.
    """

    def __init__(self, symbols):
        self.symbols = _as_symbol_array(symbols)
        self.numeric = self.symbols.dtype.kind in "iufbmM"
        whole = self.symbols.dtype.kind in "iu" and len(self) > 0
        first, last = (int(self.symbols[0]), int(self.symbols[-1])) if whole else (0, 0)
        self.contiguous = whole and last - first == len(self) - 1 and last <= _MAX_INT64

    @classmethod
    def learn(cls, column):
        if column.dtype.kind in "iufbmM":
            found = np.unique(column[~missing_in(column)])
            if found.dtype.kind == "f":
                if np.isinf(found).any():
                    raise ValueError("Input X contains infinity: inf is not a symbol.")
                if (found == np.rint(found)).all() and (np.abs(found) < 2**53).all():
                    found = found.astype(np.int64)
            return cls(found)
        return cls(_sorted(value for value in _distinct(column) if not is_missing(value)))

    def __len__(self):
        return len(self.symbols)

    def codes(self, column, *, unseen, missing=-1, where=""):
        """Codes of a column; a value outside the vocabulary is an error or counts as missing."""
        if self.contiguous and column.dtype.kind in "iu" and _fits_int64(column):
            if column.dtype not in (np.int32, np.int64):
                column = column.astype(np.int64)
            codes = code_run(column, int(self.symbols[0]), len(self))
            if codes is not None:
                return codes
        codes = self._find(column)
        strangers = codes == -2
        if strangers.any():
            if unseen == "error":
                row = int(strangers.argmax())
                raise ValueError(
                    f"X has the symbol {_plain(column[row])!r} in row {row}{where}, which is not "
                    f"among the {len(self)} known symbols ({self._preview()}). List every possible "
                    "symbol in Categorical(symbols=...), or use Categorical(unseen='ignore') to "
                    "treat such symbols as missing."
                )
            codes[strangers] = -1
        if missing != -1:
            codes[codes == -1] = missing
        return codes

    def _find(self, column):
        if self.numeric and column.dtype.kind in "iufbmM" and len(self):
            position = np.searchsorted(self.symbols, column)
            position[position == len(self)] = 0
            codes = np.where(self.symbols[position] == column, position, -2)
            if column.dtype.kind in "fmM":
                codes[missing_in(column)] = -1
            return codes
        if column.dtype.kind == "U" and column.dtype.itemsize == 4:
            return self._find_letters(column)
        table = {value: code for code, value in enumerate(self.symbols.tolist())}
        table = {
            value: -1 if is_missing(value) else table.get(value, -2) for value in _distinct(column)
        }
        return np.fromiter(
            map(table.__getitem__, column.tolist()), dtype=np.int64, count=len(column)
        )

    def _find_letters(self, column):
        """Codes of strings of at most one character, by their code points."""
        points = np.ascontiguousarray(column).view(np.uint32)
        table = np.full(int(points.max(initial=0)) + 1, -2, dtype=np.int64)
        for code, value in enumerate(self.symbols.tolist()):
            if isinstance(value, str) and len(value) <= 1:
                point = ord(value) if value else 0  # numpy ends strings with zeros
                if point < len(table):
                    table[point] = code
        return table[points]

    def _preview(self):
        shown = ", ".join(repr(symbol) for symbol in self.symbols[:5].tolist())
        return shown + (", ..." if len(self) > 5 else "")


def _fits_int64(column):
    return column.dtype.kind == "i" or column.dtype.itemsize < 8 or (column <= _MAX_INT64).all()


def _distinct(column):
    try:
        return set(column.tolist())
    except TypeError as error:
        raise ValueError(
            f"Symbols must be hashable, such as strings or integers: {error}"
        ) from None


def _sorted(values):
    values = list(values)
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def _as_symbol_array(symbols):
    if isinstance(symbols, (int, np.integer)):
        return np.arange(symbols)
    array = symbols if isinstance(symbols, np.ndarray) else np.empty(0, dtype=object)
    if not isinstance(symbols, np.ndarray):
        symbols = list(symbols)
        kinds = {type(_plain(symbol)) for symbol in symbols}
        # numpy would turn a mix of strings and numbers into strings
        array = np.array(
            symbols, dtype=None if len(kinds) == 1 and kinds <= {int, bool} else object
        )
    if array.dtype.kind in "iufbmM":
        return np.unique(array)
    distinct = _sorted(set(array.tolist()))
    array = np.empty(len(distinct), dtype=object)
    array[:] = distinct
    return array
