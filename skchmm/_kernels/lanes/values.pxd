from libc.stdint cimport int32_t, int64_t

from ..shared.interrupt cimport Watch
from ..shared.layout cimport Graph
from ..shared.memory cimport Memory
from .edges cimport Edges, Group


cdef struct Values:
    const Graph *g
    const double *log_start
    const double *log_table
    const int32_t *rows          # NULL: row t of the table is step t
    Edges edges
    double *tables[8]            # (steps, n_nodes), one per lane
    double *kept                 # (1 + BATCH, n_nodes, 8) and 8 more
    double *emit                 # (BATCH, n_states, 8)
    int64_t *at                  # (BATCH, 8)
    Watch watch


cdef int open_values(Values *v, Memory memory, const Graph *g, const double *log_weights,
                     const double *log_start, const double *log_table, const int32_t *rows,
                     int64_t longest) except -1
cdef int fill_values(Values *v, const Group *group) noexcept nogil
