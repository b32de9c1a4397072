"""What 8 sequences side by side need for sums over delay lines; see lanes_sums.pyx."""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..lanes.edges cimport LANES
from ..shared.interrupt cimport Watch, new_watch
from ..shared.layout cimport Graph
from ..shared.memory cimport Memory
from .lane_core cimport Compact, LaneCore
from .lines cimport Core


cdef extern from "delay/lanes_apart_steps.h" nogil:
    ctypedef struct ApartModel:
        int64_t S
        int64_t delay
        double step[8]
        double keep[8]
        double ahead[64]
        double edges[64]
        double back[64]
        double edges_back[64]
        double final[8]
        double final_inside[8]
    ctypedef struct LaneApart:
        const ApartModel *model
        double *enter
        double *after
        int64_t mask
        double *tails
        double *runs
        double x[128]
        double run[128]
        double ends[128]
        double beyond[128]
        double norm_x[8]
        double norm_e[8]
        double lengths[8]


cdef struct Groups:
    # Of one direction; exponents are rows of 8 lanes.
    int32_t *of_step
    int64_t *begin               # the first step, and
    int64_t *end                 # the one after the last, whichever direction it is
    double *places               # (groups, places): the exponents of a row
    double *sizes                # (groups, lines): of what goes into lines, less those of `run`


cdef struct Work:
    double *emit                 # (longest, n_states, 8)
    double *alpha                # (2 longest, places, 8): before a group, its own copy of a row
    double *entering             # (longest, lines, 8)
    double *ring                 # (mask + 1, lines, 8)
    int64_t mask
    double *run                  # (lines, 8) and
    double *run_e
    double *weights              # (edges, 8)
    double *scale                # (lines, 8)
    double *factors              # (places, 8)
    double *ending               # (lines, 8)
    double *y
    double *v
    double *e                    # (places, 8): exponents as they are,
    double *reached              # after one step,
    double *closed               # after some,
    double *fresh                # and those that are chosen
    double *come                 # (lines, 8): of what comes out of lines
    Groups ahead
    Groups back
    int64_t *at
    int8_t *active
    double *products             # (n_states, 8): of emissions since a group began
    int64_t usual                # steps of a group
    double norm_x[8]
    double norm_e[8]
    double total[8]
    int beyond                   # lanes with emissions that are too small
    LaneApart apart              # see lanes_apart.pxd,
    int64_t live                 # and there, the first batch but 0 in which something is in a tail
    Watch watch
    char gap[64]                 # to that of another thread


cdef struct Job:
    const Graph *g
    const Core *core
    LaneCore c
    Compact compact
    bint is_apart                # lines are those of lanes_apart.pxd
    ApartModel apart
    const double *start
    const double *table          # logarithms, or of few rows:
    const double *row_tops       # what they were divided by
    const int32_t *rows
    const int64_t *offsets
    const int64_t *order
    double *log_z
    uint8_t *left
    double *gamma                # NULL: the forward pass is all
    double least                 # logarithm of the least emission, next to the largest of a step
    double decay                 # no place gets less than this of a step before, but for emissions
    int64_t inside               # before this step all paths are in the lines that they began in
    int64_t n                    # sequences
    Work *works                  # one per thread


cdef inline int new_groups(Memory memory, int64_t longest, int64_t P, int64_t L,
                           Groups *g) except -1:
    g.of_step = <int32_t *> memory.room(longest * sizeof(int32_t))
    g.begin = <int64_t *> memory.room((longest + 1) * sizeof(int64_t))
    g.end = <int64_t *> memory.room((longest + 1) * sizeof(int64_t))
    g.places = memory.table(longest + 1, (P + L) * LANES)
    g.sizes = memory.table(longest + 1, L * LANES)
    return 0


cdef inline int new_work(const Job *job, Memory memory, int64_t longest, Work *w) except -1:
    cdef int64_t P = job.c.n_plain, L = job.c.n_lines, S = job.g.n_states, ring = 1
    while ring <= min(job.core.longest, longest):
        ring *= 2
    w.mask = ring - 1
    w.emit = memory.table(longest, S * LANES)
    w.at = <int64_t *> memory.room(longest * LANES * sizeof(int64_t))
    w.active = <int8_t *> memory.room(longest)
    w.watch = new_watch(2 * LANES * (job.c.first[P + L] + 3 * (P + L)))
    if job.is_apart:
        w.ahead.begin = <int64_t *> memory.room((longest + 1) * sizeof(int64_t))
        return 0
    w.ring = memory.rows(ring, L * LANES)
    w.alpha = memory.table(2 * longest + 1, (P + L) * LANES)
    w.entering = memory.table(longest if job.gamma != NULL else 0, L * LANES)
    w.run, w.run_e = memory.rows(L, LANES), memory.rows(L, LANES)
    w.weights = memory.table(job.c.first[P + L], LANES)
    w.scale, w.ending, w.come = memory.rows(L, LANES), memory.rows(L, LANES), memory.rows(L, LANES)
    w.factors, w.v = memory.rows(P + L, LANES), memory.rows(P + L, LANES)
    w.y, w.e = memory.rows(P, LANES), memory.rows(P + L, LANES)
    w.reached, w.closed = memory.rows(P, LANES), memory.rows(P + L, LANES)
    w.fresh = memory.rows(P, LANES)
    new_groups(memory, longest, P, L, &w.ahead)
    new_groups(memory, longest if job.gamma != NULL else 1, P, L, &w.back)
    w.products = memory.rows(S, LANES)
    memset(w.norm_x, 0, sizeof(w.norm_x))
    memset(w.norm_e, 0, sizeof(w.norm_e))
    return 0
