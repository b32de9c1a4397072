"""Tables of (context, symbol) cells: numbering those of a sequence, and learning from counts."""

import numpy as np

from .base import NEGLIGIBLE, normalise_rows


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

    @property
    def n_steps(self):
        return len(self.cells if self.index is None else self.index)


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
    """Share the work of equal rows, where there are enough of them to pay."""
    n, n_columns = cells.shape
    if n_columns == 1 and sizes[0] <= max(n, 4096):
        return Cells(None, cells[:, 0].astype(np.int32, copy=False), sizes)
    if np.prod([float(size) for size in sizes]) < 2**62:
        radix = np.cumprod([1, *sizes[:-1]])
        _, first, index = np.unique(cells @ radix, return_index=True, return_inverse=True)
        distinct = cells[first]
    else:
        distinct, index = np.unique(cells, axis=0, return_inverse=True)
    if len(distinct) > n // 2:
        return Cells(cells, None, sizes)
    return Cells(distinct, index.reshape(-1).astype(np.int32), sizes)


def estimate(counts, pseudocount, old):
    """Distributions from counts of shape (n_states, [context, ...] symbol).

    A context that a state never had takes the distribution of the next shorter one: the counts
    summed over its oldest symbol. The pseudocount alone decides for complete contexts without
    counts. A state without any counts keeps its old distributions; if it has none, it takes those
    of all states together, unless the pseudocount decides.
    """
    n_states, order, n_symbols = len(counts), counts.ndim - 2, counts.shape[-1]
    pseudocount = np.broadcast_to(pseudocount, (n_states, n_symbols))

    def smoothed(total):
        added = pseudocount.reshape((n_states, *[1] * (total.ndim - 2), n_symbols))
        return np.maximum(total + added, 0.0)

    empty = counts.sum(axis=tuple(range(1, counts.ndim))) <= NEGLIGIBLE
    if not (pseudocount > 0).any():
        counts = counts.copy()
        counts[empty] = counts.sum(axis=0)
    found = normalise_rows(smoothed(counts.sum(axis=tuple(range(1, order + 1)))))
    for known in range(1, order + 1):
        total = counts.sum(axis=tuple(range(1, order - known + 1)))
        weights = smoothed(total)
        use = total.sum(axis=-1, keepdims=True) > NEGLIGIBLE
        if known == order:
            complete = np.indices(counts.shape[1:-1]).max(axis=0) < n_symbols
            use |= complete[..., None]
        use &= weights.sum(axis=-1, keepdims=True) > NEGLIGIBLE
        found = np.where(use, normalise_rows(weights), found[:, None])
    if old is not None and old.size == found.size:
        found[empty] = old.reshape(found.shape)[empty]
    return found
