"""Edges of a graph laid out for the vector units: 8 targets at a time.

An *entry* holds 8 weights, one for each target of a block, and a source. It is either one source
that all targets of the block share (a piece of a row of the transition matrix) or a diagonal:
source + lane for the target in each lane. A block takes the kind that needs fewer entries, so a
dense graph becomes rows and a counter or a chain becomes diagonals.
"""

import numpy as np

WIDTH = 8


class Blocks:
    """Entries of all blocks of all epochs.

    Parameters
    ----------
    n_nodes : int
    epoch_edges : list of (sources, targets) int arrays, one an epoch

    Attributes
    ----------
    start, shifted, source : int32
        Entries of block i (numbered through the epochs) are ``start[i]:start[i + 1]``; those from
        ``shifted[i]`` on are diagonals.
    slot : int64 (n_edges,)
        Where the weight of each edge goes; edges in the order given.
    """

    def __init__(self, n_nodes, epoch_edges):
        self.n_blocks = -(-n_nodes // WIDTH)
        start, shifted, source, slot, total = [], [], [], [], 0
        for sources, targets in epoch_edges:
            part = _lay_out(np.asarray(sources), np.asarray(targets), self.n_blocks)
            start.append(part[0] + total)
            shifted.append(part[1] + total)
            source.append(part[2])
            slot.append(part[3] + total * WIDTH)
            total += len(part[2])
        self.start = np.append(np.concatenate(start), total).astype(np.int32)
        self.shifted = np.concatenate(shifted).astype(np.int32)
        self.source = np.concatenate(source).astype(np.int32)
        self.slot = np.concatenate(slot)

    def spread(self, weights, neutral):
        """Edge weights in the layout of the entries."""
        out = _on_cache_lines(len(self.source) * WIDTH)
        out.fill(neutral)
        out[self.slot] = weights
        return out


def _on_cache_lines(n):
    """An empty array that begins on a cache line: a vector that lies across two costs twice."""
    memory = np.empty(n + 8)
    skip = -memory.ctypes.data % 64 // memory.itemsize
    return memory[skip : skip + n]


def _lay_out(sources, targets, n_blocks):
    """First entry and first diagonal of each block, source of each entry, slot of each edge."""
    block = targets // WIDTH
    first_lane = sources - targets + block * WIDTH  # the source of lane 0 on the edge's diagonal
    row_keys, row_entry = _number(block, sources)
    diagonal_keys, diagonal_entry = _number(block, first_lane)
    n_rows = np.bincount(row_keys[0], minlength=n_blocks)
    n_diagonals = np.bincount(diagonal_keys[0], minlength=n_blocks)
    by_row = n_rows <= n_diagonals
    size = np.where(by_row, n_rows, n_diagonals)
    start = np.concatenate([[0], np.cumsum(size)])[:-1]
    shifted = np.where(by_row, start + size, start)

    source = np.empty(size.sum(), dtype=np.int64)
    entry = np.empty(len(sources), dtype=np.int64)
    for (blocks, values), numbers, counts, chosen in (
        (row_keys, row_entry, n_rows, by_row),
        (diagonal_keys, diagonal_entry, n_diagonals, ~by_row),
    ):
        before = np.concatenate([[0], np.cumsum(counts)])[:-1]
        place = start[blocks] + np.arange(len(blocks)) - before[blocks]
        source[place[chosen[blocks]]] = values[chosen[blocks]]
        entry = np.where(chosen[block], place[numbers], entry)
    return start, shifted, source, entry * WIDTH + targets % WIDTH


def _number(block, values):
    """Distinct (block, value) pairs in increasing order, and the number of each edge's pair."""
    low = values.min(initial=0)
    span = values.max(initial=0) - low + 1
    keys, number = np.unique(block * span + (values - low), return_inverse=True)
    return (keys // span, keys % span + low), number
