"""The arrays of an augmented graph, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


def held(array, dtype):
    """A contiguous array, of at least one element for a pointer to point at."""
    array = np.ascontiguousarray(array, dtype=dtype).ravel()
    return array if array.size else np.zeros(1, dtype=dtype)


cdef class Layout:
    """Pointers into the arrays of an AugmentedGraph (which are kept alive here)."""

    def __init__(self, node_states, start_nodes, accept, epochs, indptr, sources, ahead, back):
        self.arrays = [held(node_states, np.int32), held(start_nodes, np.int32),
                       held(accept, np.uint8), held(epochs, np.int64), held(indptr, np.int32),
                       held(sources, np.int32)]
        cdef const int32_t[::1] states_view = self.arrays[0], starts_view = self.arrays[1]
        cdef const uint8_t[::1] accept_view = self.arrays[2]
        cdef const int64_t[::1] epochs_view = self.arrays[3]
        cdef const int32_t[::1] indptr_view = self.arrays[4], sources_view = self.arrays[5]
        self.graph.n_nodes = len(node_states)
        self.graph.n_states = len(start_nodes)
        self.graph.stride = 8 * ahead.n_blocks
        self.graph.plain = np.array_equal(node_states, np.arange(len(start_nodes)))
        self.graph.node_states = &states_view[0]
        self.graph.start_nodes = &starts_view[0]
        self.graph.accept = &accept_view[0]
        self.graph.epochs.n, self.graph.epochs.first = len(epochs), &epochs_view[0]
        self.graph.indptr = &indptr_view[0]
        self.graph.sources = &sources_view[0]
        self.hold_blocks(&self.graph.ahead, ahead)
        self.hold_blocks(&self.graph.back, back)

    cdef hold_blocks(self, Blocks *blocks, python_blocks):
        arrays = [held(getattr(python_blocks, name), np.int32)
                  for name in ("start", "shifted", "source")]
        self.arrays += arrays
        cdef const int32_t[::1] start = arrays[0], shifted = arrays[1], source = arrays[2]
        blocks.n_blocks = python_blocks.n_blocks
        blocks.start, blocks.shifted, blocks.source = &start[0], &shifted[0], &source[0]
