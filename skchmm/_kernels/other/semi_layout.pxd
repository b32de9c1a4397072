from libc.stdint cimport int32_t, int64_t, uint8_t

from ..shared.layout cimport Epochs


cdef struct Segments:
    int64_t N, S, D
    const int32_t *node_states
    const int32_t *start_nodes
    const double *log_final          # of ending in a node; -inf where no path may
    const uint8_t *entry             # nodes at which a segment can begin
    Epochs epochs
    const int32_t *stay              # (E, N): the node after one more step in the same state
    const double *stay_costs         # (E, N): what that step costs, NULL where none does
    const int32_t *indptr            # (E, N + 1), edges to other states, by source
    const int32_t *targets
    const int32_t *base_edges
    const double *log_weights
    const double *log_start
    const double *log_durations      # (S, D)
    const double *log_survival       # (S, D)
    const double *log_table
    const int32_t *rows


cdef class SemiLayout:
    cdef Segments segments
    cdef object arrays, given
