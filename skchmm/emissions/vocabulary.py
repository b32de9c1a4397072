"""Symbols of a column <-> whole numbers, and symbols in context as cells of a table."""

from functools import cached_property, lru_cache

import numpy as np

from .._kernels.data.symbols import TAKEN, cells_in_context, code_letters, code_run
from .._numbers import is_whole
from ..sequences.forms import PLAIN
from ..sequences.values import as_array, is_missing, missing_in, of_series, plain

_MAX_INT64 = np.iinfo(np.int64).max
_LETTER = np.dtype("U1")
ADVICE = (
    "List every possible symbol in Categorical(symbols=...), or use Categorical(unseen='ignore')"
)
_BATCH = 1 << 20  # values that are looked at together
_MAX_CELLS = 20_000_000
_MOST_KEPT = 4096  # symbols whose vocabulary is kept


def columns_of(X):
    """The columns of a 1-d array, a 2-d array or a dataframe, each as a plain 1-d array."""
    if type(X) is not np.ndarray or X.dtype not in PLAIN:
        if hasattr(X, "iloc") and X.ndim == 2:
            return [of_series(X.iloc[:, j]) for j in range(X.shape[1])]
        if hasattr(X, "columns"):
            return [of_series(X[name]) for name in X.columns]
        X = as_array(X, "X")
    if X.ndim not in (1, 2):
        raise ValueError(f"Expected symbols in a 1-d or 2-d array, got {X.ndim} dimensions.")
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    return [X] if X.ndim == 1 else list(X.T)


class Vocabulary:
    """The symbols that a column may hold; symbol i has code i, missing has -1.

    Symbols that are learned are sorted. Those that are given keep their order, since parameters
    with one column per symbol are written down in it.

    Sorting and lookup are by value for numbers and by hashing for everything else: O(n) either way
    up to a logarithm.
    """

    def __init__(self, symbols):
        self.symbols = symbols = _as_symbol_array(symbols)
        self.numeric = symbols.dtype.kind in "iufbmM"
        self._rank = self._sorted = None
        if self.numeric and not (symbols[1:] > symbols[:-1]).all():
            self._rank = np.argsort(symbols, kind="stable")
            self._sorted = symbols[self._rank]
        whole = symbols.dtype.kind in "iu" and self._rank is None and len(self) > 0
        self.first, last = (int(symbols[0]), int(symbols[-1])) if whole else (0, 0)
        self.contiguous = whole and last - self.first == len(self) - 1 and last <= _MAX_INT64

    def __getstate__(self):
        """The symbols; what looks them up is made again."""
        return {"symbols": self.symbols}

    def __setstate__(self, state):
        self.__init__(state["symbols"])

    @classmethod
    def learn(cls, column):
        if column.dtype.kind in "iufbmM":
            batches = (column[i : i + _BATCH] for i in range(0, max(len(column), 1), _BATCH))
            found = [np.unique(b if b.dtype.kind in "iub" else b[~missing_in(b)]) for b in batches]
            found = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
            if found.dtype.kind == "f":
                if np.isinf(found).any():
                    raise ValueError("Input X contains infinity: inf is not a symbol.")
                if (found == np.rint(found)).all() and (np.abs(found) < 2.0**53).all():
                    found = found.astype(np.int64)
            return cls(found)
        found = _distinct(column.tolist())
        return cls(_sorted(value for value in found if not is_missing(value)))

    def __or__(self, other):
        """The symbols of both: sorted, or as given where they are the same."""
        if np.array_equal(self.symbols, other.symbols):
            return self
        both = [_values(self.symbols), _values(other.symbols)]
        kinds = {symbols.dtype.kind for symbols in both}
        if len(kinds) > 1 and kinds & {*"mM"}:
            raise ValueError(
                f"Symbols of one column are times in some rows only: {self._preview()} and "
                f"{other._preview()}."
            )
        return Vocabulary.learn(np.concatenate(both))

    def __len__(self):
        return len(self.symbols)

    def codes(self, column, *, unseen, missing=-1, where="", advice=ADVICE):
        """Codes of a column; a value outside the vocabulary is an error or counts as missing."""
        codes = self._find_known(column)
        if codes is not None:
            return codes
        codes = self._find(column)
        strangers = codes == -2
        if strangers.any():
            if unseen == "error":
                row = int(strangers.argmax())
                raise ValueError(
                    f"X has the symbol {_plain(column[row])!r} in row {row}{where}, which is not "
                    f"among the {len(self)} known symbols ({self._preview()}). {advice} to treat "
                    "such symbols as missing." + self._hint(column[row])
                )
            codes[strangers] = -1
        if missing != -1:
            codes[codes == -1] = missing
        return codes

    def _find_known(self, column):
        """Codes of whole numbers, or of letters, all of which are known; else None."""
        if self.contiguous:
            if column.dtype in TAKEN:
                return code_run(column, self.first, len(self.symbols))
            if column.dtype.kind in "iu" and _fits_int64(column):
                return self._run(column)
        if column.dtype == _LETTER:
            return code_letters(column, self._letter_codes)
        return None

    def _run(self, column):
        codes = np.empty(len(column), dtype=np.int32)
        for i in range(0, len(column), _BATCH):  # a copy of all would be eight times as large
            found = code_run(column[i : i + _BATCH].astype(np.int64), self.first, len(self))
            if found is None:
                return None
            codes[i : i + _BATCH] = found
        return codes

    def _find(self, column):
        if self.numeric and len(self) and _comparable(self.symbols, column):
            known = self.symbols if self._rank is None else self._sorted
            position = np.searchsorted(known, column)
            position[position == len(self)] = 0
            codes = position if self._rank is None else self._rank[position]
            codes = np.where(known[position] == column, codes, -2)
            if column.dtype.kind in "fmM":
                codes[missing_in(column)] = -1
            return codes
        if column.dtype == _LETTER:
            points = np.ascontiguousarray(column).view(np.uint32)
            codes = self._letter_codes.take(points, mode="clip")
            return np.where(codes < 0, -2, codes)
        values = column.tolist()  # once: NaN is found by identity
        table = {value: code for code, value in enumerate(self.symbols.tolist())}
        table = {
            value: -1 if is_missing(value) else table.get(value, -2) for value in _distinct(values)
        }
        return np.fromiter(map(table.__getitem__, values), dtype=np.int64, count=len(values))

    @cached_property
    def _letter_codes(self):
        """The code of each code point; -1 where there is none."""
        codes = {}
        for code, symbol in enumerate(self.symbols.tolist()):
            if isinstance(symbol, str) and len(symbol) <= 1:
                codes[ord(symbol) if symbol else 0] = code  # numpy ends strings with zeros
        table = np.full(max(codes, default=0) + 2, -1, dtype=np.int32)
        table[list(codes)] = list(codes.values())
        return table

    def _preview(self):
        shown = ", ".join(repr(symbol) for symbol in self.symbols[:5].tolist())
        return shown + (", ..." if len(self) > 5 else "")

    def _hint(self, stranger):
        if isinstance(stranger, str) and len(stranger) > 1 and {*stranger} <= {*self.symbols}:
            return (
                f" A string is one symbol: for its letters write list({str(stranger)!r}), and for "
                "several sequences a list of such lists."
            )
        return ""


def vocabulary_of(symbols):
    """The vocabulary of symbols as a user gives them; that of few whole numbers is made once."""
    run = range(symbols) if type(symbols) is int else symbols
    if type(run) is range and 0 < len(run) <= _MOST_KEPT:
        return _vocabulary_of_run(run)
    return Vocabulary(symbols)


@lru_cache(maxsize=32)
def _vocabulary_of_run(run):
    vocabulary = Vocabulary(run)
    vocabulary.symbols.setflags(write=False)
    return vocabulary


class Vocabularies:
    """The symbols of every column; those of other rows are added with ``+``."""

    def __init__(self, columns):
        self.columns = columns

    def __add__(self, other):
        return Vocabularies([a | b for a, b in zip(self.columns, other.columns)])


def _values(symbols):
    return symbols if symbols.dtype.kind in "iufbmM" and len(symbols) else symbols.astype(object)


def _fits_int64(column):
    return column.dtype.kind == "i" or column.dtype.itemsize < 8 or (column <= _MAX_INT64).all()


def _comparable(symbols, column):
    kinds = symbols.dtype.kind + column.dtype.kind
    return {*kinds} <= {*"iufb"} or kinds in ("mm", "MM")


def _distinct(values):
    try:
        return set(values)
    except TypeError as error:
        raise ValueError(
            f"Symbols must be hashable, such as strings or integers: {error}"
        ) from None


def _sorted(values):
    values = list(values)
    try:
        return sorted(values, key=_plain)  # a float16 would take other numbers for infinite
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def _as_symbol_array(symbols):
    if is_whole(symbols) and symbols >= 0:
        return np.arange(symbols)
    if isinstance(symbols, (set, frozenset)):
        symbols = _sorted(symbols)
    if isinstance(symbols, np.ndarray):
        array = plain(symbols)
    elif not hasattr(symbols, "__iter__"):
        raise ValueError(f"symbols must be a number or a list of symbols, got {symbols!r}.")
    else:
        symbols = list(symbols)
        kinds = {type(_plain(symbol)) for symbol in symbols}
        if len(kinds) == 1 and kinds <= {int, bool}:
            array = np.array(symbols)
        else:  # numpy would turn a mix of strings and numbers into strings
            array = np.empty(len(symbols), dtype=object)
            array[:] = symbols
    if array.ndim != 1:
        raise ValueError(f"symbols must be a list of symbols, got {array.ndim} dimensions.")
    values = array.tolist()
    if missing_in(array).any() or len(_distinct(values)) < len(values):
        raise ValueError(f"symbols must be distinct and not missing, got {values}.")
    if array.dtype.kind in "iufbmM":
        return array
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


# ------------------------------------------------ symbols in context, as cells of a table
class Cells:
    """Encoded rows: row t holds, in column j, cell ``cells[index[t], j]`` of that column's table.

    A cell is a (context, symbol) pair, numbered context-major; the cell after the last one stands
    for a missing symbol.

    Attributes
    ----------
    sizes : list of int
        How many cells, that one included, the table of each column has.
    """

    __slots__ = ("cells", "index", "sizes")

    def __init__(self, cells, index, sizes):
        self.cells = cells
        self.index = index
        self.sizes = sizes
        for array in (cells, index):  # kernels look cells up without a check
            if array is not None:
                array.setflags(write=False)

    @property
    def n_steps(self):
        return len(self.cells if self.index is None else self.index)

    def part(self, begin, end):
        """Rows begin..end-1, of whole sequences."""
        if self.index is None:
            return Cells(self.cells[begin:end], None, self.sizes)
        return Cells(self.cells, self.index[begin:end], self.sizes)


def n_cells(n_symbols, order):
    """How many pairs of a context and a symbol there are."""
    return (n_symbols + 1) ** order * n_symbols


def sizes_of(vocabularies, order):
    """How many cells the table of each column has, that of a missing symbol included."""
    sizes = []
    for vocabulary in vocabularies:
        n = n_cells(len(vocabulary), order)
        if n > _MAX_CELLS:
            raise ValueError(
                f"Categorical(order={order}) with {len(vocabulary)} symbols would need "
                f"{min(n, 1e300):.2g} probabilities per state; use a lower order or fewer symbols."
            )
        sizes.append(n + 1)
    return sizes


def number_cells(codes, offsets, n_symbols, order):
    """Number of the (context, symbol) pair of each step; missing symbols get the last number."""
    offsets = np.array([0, len(codes)] if offsets is None else offsets, dtype=np.int64)
    codes, last = codes.astype(np.int32, copy=False), n_cells(n_symbols, order)
    return cells_in_context(codes, offsets, n_symbols, order, last)


def compress(cells, sizes):
    """Share the work of equal rows, where there are enough of them to pay.

    `cells` has one array per column.
    """
    n = len(cells[0])
    if len(cells) == 1 and sizes[0] <= max(n, 4096):
        return Cells(None, cells[0].astype(np.int32, copy=False), sizes)
    cells = np.column_stack(cells)
    if np.prod([float(size) for size in sizes]) < 2**62:
        radix = np.cumprod([1, *sizes[:-1]])
        _, first, index = np.unique(cells @ radix, return_index=True, return_inverse=True)
        distinct = cells[first]
    else:
        distinct, index = np.unique(cells, axis=0, return_inverse=True)
    if len(distinct) > n // 2:
        return Cells(cells, None, sizes)
    return Cells(distinct, index.reshape(-1).astype(np.int32), sizes)
