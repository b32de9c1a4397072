"""The graph and the parameters of a semi-Markov chain, held once for its kernels."""
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from skchmm._kernels.shared.layout import held


cdef class SemiLayout:
    """Pointers into the arrays that are given, which are kept alive here."""

    def __init__(self, node_states, start_nodes, accept, entry, epochs, stay, indptr, targets,
                 base_edges, log_weights, log_start, log_durations, log_survival):
        self.given = (node_states, start_nodes, accept, entry, epochs, stay, indptr, targets,
                      base_edges, log_weights, log_start, log_durations, log_survival)
        self.arrays = (
            [held(a, np.int32) for a in (node_states, start_nodes, stay, indptr, targets,
                                         base_edges)],
            [held(a, np.uint8) for a in (accept, entry)],
            held(epochs, np.int64),
            [held(a, np.float64) for a in (log_weights, log_start, log_durations, log_survival)],
        )
        cdef const int32_t[::1] i0, i1, i2, i3, i4, i5
        cdef const uint8_t[::1] u0, u1
        cdef const int64_t[::1] l0 = self.arrays[2]
        cdef const double[::1] d0, d1, d2, d3
        i0, i1, i2, i3, i4, i5 = self.arrays[0]
        u0, u1 = self.arrays[1]
        d0, d1, d2, d3 = self.arrays[3]
        self.segments.N, self.segments.S = len(node_states), len(log_start)
        self.segments.D = np.shape(log_durations)[1]
        self.segments.node_states, self.segments.start_nodes = &i0[0], &i1[0]
        self.segments.stay, self.segments.indptr = &i2[0], &i3[0]
        self.segments.targets, self.segments.base_edges = &i4[0], &i5[0]
        self.segments.accept, self.segments.entry = &u0[0], &u1[0]
        self.segments.epochs.n, self.segments.epochs.first = len(epochs), &l0[0]
        self.segments.log_weights, self.segments.log_start = &d0[0], &d1[0]
        self.segments.log_durations, self.segments.log_survival = &d2[0], &d3[0]

    def __reduce__(self):
        return SemiLayout, self.given
