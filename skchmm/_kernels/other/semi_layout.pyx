"""The graph and the parameters of a semi-Markov chain, held once for its kernels."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..shared.layout cimport hold

import numpy as np


cdef class SemiLayout:
    """Pointers into the arrays that are given, which are kept alive here."""

    def __init__(self, node_states, start_nodes, log_final, entry, epochs, stay, stay_costs,
                 indptr, targets, base_edges, log_weights, log_start, log_durations, log_survival):
        cdef Segments *g = &self.segments
        cdef list held = []
        self.arrays = held
        self.given = (node_states, start_nodes, log_final, entry, epochs, stay, stay_costs, indptr,
                      targets, base_edges, log_weights, log_start, log_durations, log_survival)
        g.N, g.S, g.D = len(node_states), len(log_start), np.shape(log_durations)[1]
        g.node_states = <const int32_t *> hold(held, node_states, np.int32)
        g.start_nodes = <const int32_t *> hold(held, start_nodes, np.int32)
        g.log_final = <const double *> hold(held, log_final, np.float64)
        g.entry = <const uint8_t *> hold(held, entry, np.uint8)
        g.epochs.n = len(epochs)
        g.epochs.first = <const int64_t *> hold(held, epochs, np.int64)
        g.stay = <const int32_t *> hold(held, stay, np.int32)
        g.stay_costs = NULL
        if stay_costs is not None and np.any(stay_costs):
            g.stay_costs = <const double *> hold(held, stay_costs, np.float64)
        g.indptr = <const int32_t *> hold(held, indptr, np.int32)
        g.targets = <const int32_t *> hold(held, targets, np.int32)
        g.base_edges = <const int32_t *> hold(held, base_edges, np.int32)
        g.log_weights = <const double *> hold(held, log_weights, np.float64)
        g.log_start = <const double *> hold(held, log_start, np.float64)
        g.log_durations = <const double *> hold(held, log_durations, np.float64)
        g.log_survival = <const double *> hold(held, log_survival, np.float64)

    def __reduce__(self):
        return SemiLayout, self.given
