"""The arrays of an augmented graph, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


cdef class Layout:
    """Pointers into the arrays of an AugmentedGraph (which are kept alive here)."""

    def __init__(self, node_states, start_nodes, accept, epochs, indptr, sources):
        # A pointer needs at least one element to point at.
        def held(array, dtype):
            array = np.ascontiguousarray(array, dtype=dtype)
            return array if array.size else np.zeros(1, dtype=dtype)

        self.arrays = (held(node_states, np.int32), held(start_nodes, np.int32),
                       held(accept, np.uint8), held(epochs, np.int64),
                       held(np.ravel(indptr), np.int32), held(sources, np.int32))
        cdef const int32_t[::1] states_view = self.arrays[0], starts_view = self.arrays[1]
        cdef const uint8_t[::1] accept_view = self.arrays[2]
        cdef const int64_t[::1] epochs_view = self.arrays[3]
        cdef const int32_t[::1] indptr_view = self.arrays[4], sources_view = self.arrays[5]
        self.graph.n_nodes = len(node_states)
        self.graph.n_states = len(start_nodes)
        self.graph.n_epochs = len(epochs)
        self.graph.node_states = &states_view[0]
        self.graph.start_nodes = &starts_view[0]
        self.graph.accept = &accept_view[0]
        self.graph.epochs = &epochs_view[0]
        self.graph.indptr = &indptr_view[0]
        self.graph.sources = &sources_view[0]

    def __reduce__(self):
        n = self.graph.n_nodes
        states, starts, accept, epochs, indptr, sources = self.arrays
        edges = indptr[len(indptr) - 1]
        return Layout, (states[:n], starts, accept[:n], epochs, indptr, sources[:edges])
