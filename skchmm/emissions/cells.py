"""Symbols in context, as cells of a table."""

import numpy as np


class Cells:
    """Encoded rows: row t holds, in column j, cell ``cells[index[t], j]`` of that column's table.

    A cell is a (context, symbol) pair, numbered context-major; the cell after the last one stands
    for a missing symbol.

    Attributes
    ----------
    sizes : list of int
        How many cells, that one included, the table of each column has.
    """

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


def number_cells(codes, offsets, n_symbols, order):
    """Number of the (context, symbol) pair of each step; missing symbols get the last number."""
    context = np.zeros(len(codes), dtype=np.int64)
    offsets = np.array([0, len(codes)]) if offsets is None else np.asarray(offsets)
    position = np.arange(len(codes)) - np.repeat(offsets[:-1], np.diff(offsets))
    known = np.ones(len(codes), dtype=bool)
    for back in range(1, order + 1):
        before = np.full(len(codes), -1, dtype=np.int64)
        before[back:] = codes[:-back]
        known &= (position >= back) & (before >= 0)
        context += (n_symbols + 1) ** (back - 1) * np.where(known, before, n_symbols)
    missing = (n_symbols + 1) ** order * n_symbols
    return np.where(codes >= 0, context * n_symbols + codes, missing)


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
