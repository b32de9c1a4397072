"""The arrays of an augmented graph, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t, uint8_t

cimport numpy as cnp

import numpy as np

cnp.import_array()


cdef void *hold(list arrays, array, dtype) except NULL:
    """Where an array begins, which a list keeps alive; of None or of nothing, where a zero is."""
    array = np.ascontiguousarray([] if array is None else array, dtype=dtype).ravel()
    arrays.append(array if array.size else np.zeros(1, dtype=dtype))
    cdef const uint8_t[::1] view = arrays[len(arrays) - 1].view(np.uint8)
    return <void *> &view[0]


cdef bint same_rows(const int32_t[::1] start, const int32_t[::1] shifted,
                    const int32_t[::1] source, int64_t i) noexcept:
    """Whether block i and the one before it are rows from the same sources."""
    cdef int64_t k, size = start[i + 1] - start[i]
    if start[i] - start[i - 1] != size or shifted[i - 1] < start[i] or shifted[i] < start[i + 1]:
        return False
    for k in range(start[i], start[i + 1]):
        if source[k] != source[k - size]:
            return False
    return True


def taken_together(int64_t n_blocks,             # IN, of an epoch
                   const int32_t[::1] start,     # IN, as Blocks have it, of all epochs
                   const int32_t[::1] shifted,   # IN
                   const int32_t[::1] source):   # IN
    """How many blocks are taken with each, itself included.

    Neighbours that are rows from the same sources, in even shares of at most 4: more sums than that
    do not fit the registers.
    """
    cdef int64_t n = shifted.shape[0], first = 0, end, share, n_shares
    together = np.empty(n, dtype=np.int32)
    while first < n:
        end = first + 1
        while end < n and end % n_blocks and same_rows(start, shifted, source, end):
            end += 1
        n_shares = (end - first + 3) // 4
        while first < end:
            share = (end - first + n_shares - 1) // n_shares
            together[first:first + share] = share
            first += share
            n_shares -= 1
    return together


def one_way_order(int64_t n_nodes,
                  const int32_t[:, ::1] indptr,   # IN, edges by target, a row per epoch
                  const int32_t[::1] sources):    # IN
    """The nodes of each epoch so that sources come before their targets, (epochs, nodes).

    None where paths come back to a node otherwise than by its own loop. O(edges): sources are gone
    to before a node is numbered, by a stack.
    """
    order_ = np.empty((indptr.shape[0], n_nodes), dtype=np.int32)
    if order_.size == 0:
        return order_
    next_edge_ = np.empty(n_nodes, dtype=np.int32)
    stack_ = np.empty(n_nodes, dtype=np.int32)
    cdef int32_t[:, ::1] order = order_
    cdef int32_t[::1] next_edge = next_edge_  # -1: not gone to yet, -2: numbered
    cdef int32_t[::1] stack = stack_
    cdef int64_t e, first, depth, n
    cdef int32_t m, source
    for e in range(indptr.shape[0]):
        next_edge_[:] = -1
        n = 0
        for first in range(n_nodes):
            if next_edge[first] != -1:
                continue
            stack[0], depth = <int32_t> first, 1
            next_edge[first] = indptr[e, first]
            while depth > 0:
                m = stack[depth - 1]
                if next_edge[m] == indptr[e, m + 1]:
                    next_edge[m] = -2
                    order[e, n] = m
                    n += 1
                    depth -= 1
                    continue
                source = sources[next_edge[m]]
                next_edge[m] += 1
                if source == m or next_edge[source] == -2:
                    continue
                if next_edge[source] >= 0:
                    return None
                next_edge[source] = indptr[e, source]
                stack[depth] = source
                depth += 1
    return order_


cdef class Layout:
    """Pointers into the arrays of an AugmentedGraph (which are kept alive here)."""

    def __init__(self, node_states, start_nodes, log_final, epochs, indptr, sources, ahead, back,
                 siblings=()):
        cdef Graph *g = &self.graph
        self.arrays = []
        g.n_nodes, g.n_states, g.epochs.n = len(node_states), len(start_nodes), len(epochs)
        g.stride = 8 * ahead.n_blocks
        g.plain = np.array_equal(node_states, np.arange(len(start_nodes)))
        g.node_states = <const int32_t *> hold(self.arrays, node_states, np.int32)
        g.start_nodes = <const int32_t *> hold(self.arrays, start_nodes, np.int32)
        log_final = np.asarray(log_final, dtype=np.float64)
        g.accept = <const uint8_t *> hold(self.arrays, log_final > -np.inf, np.uint8)
        g.final = <const double *> hold(self.arrays, np.exp(log_final), np.float64)
        g.log_final = <const double *> hold(self.arrays, log_final, np.float64)
        g.epochs.first = <const int64_t *> hold(self.arrays, epochs, np.int64)
        g.indptr = <const int32_t *> hold(self.arrays, indptr, np.int32)
        g.sources = <const int32_t *> hold(self.arrays, sources, np.int32)
        order = one_way_order(g.n_nodes, np.reshape(indptr, (len(epochs), -1)), sources)
        g.one_way = order is not None
        g.order = <const int32_t *> hold(self.arrays, order, np.int32)
        self.hold_blocks(&g.ahead, ahead)
        self.hold_blocks(&g.back, back)
        g.several = len(node_states) > 1 and bool((np.diff(node_states) == 0).any())
        self.hold_siblings(np.reshape(siblings, (-1, 2)).astype(np.int32))

    def by_node(self, const double[:, ::1] table):  # IN, columns are states
        """The same rows with one column per node, and zeros up to whole blocks."""
        cdef const Graph *g = &self.graph
        cdef cnp.npy_intp[2] shape
        cdef int64_t r, m
        shape[0], shape[1] = table.shape[0], g.stride
        wide = cnp.PyArray_ZEROS(2, shape, cnp.NPY_DOUBLE, 0)
        cdef double *row = <double *> cnp.PyArray_DATA(wide)
        for r in range(table.shape[0]):
            for m in range(g.n_nodes):
                row[m] = table[r, g.node_states[m]]
            row += g.stride
        return wide

    cdef hold_blocks(self, Blocks *blocks, python_blocks):
        blocks.n_blocks = python_blocks.n_blocks
        blocks.start = <const int32_t *> hold(self.arrays, python_blocks.start, np.int32)
        blocks.shifted = <const int32_t *> hold(self.arrays, python_blocks.shifted, np.int32)
        blocks.source = <const int32_t *> hold(self.arrays, python_blocks.source, np.int32)
        together = taken_together(python_blocks.n_blocks, *(
            np.asarray(part, dtype=np.int32)
            for part in (python_blocks.start, python_blocks.shifted, python_blocks.source)))
        blocks.together = <const int32_t *> hold(self.arrays, together, np.int32)

    cdef hold_siblings(self, pairs):
        cdef Siblings *siblings = &self.graph.siblings
        order = np.argsort(pairs.ravel(), kind="stable")
        first = np.searchsorted(pairs.ravel()[order], np.arange(self.graph.n_nodes + 1))
        siblings.n = len(pairs)
        siblings.pairs = <const int32_t *> hold(self.arrays, pairs, np.int32)
        siblings.places = <const int32_t *> hold(self.arrays, 8 * pairs, np.int32)
        siblings.first = <const int32_t *> hold(self.arrays, first, np.int32)
        siblings.of_node = <const int32_t *> hold(self.arrays, order // 2, np.int32)
        if siblings.n == 0:
            return
        blocks = pairs[:, :1] // 8 * 8
        shifts, which = np.unique(np.hstack([blocks, blocks + pairs[:, 1:] - pairs[:, :1]]), axis=0,
                                  return_inverse=True)
        others = np.full((len(shifts), 8), np.nan)
        others[which.ravel(), pairs[:, 0] % 8] = 0.0
        siblings.n_shifts = len(shifts)
        siblings.shifts = <const int32_t *> hold(self.arrays, shifts, np.int32)
        siblings.others = <const double *> hold(self.arrays, others, np.float64)
