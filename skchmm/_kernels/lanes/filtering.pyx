"""Marginals given the observations so far, of 8 sequences at a time: one per lane.

    alpha_t(m) = b(y_t, state(m)) sum_{n -> m} alpha_{t-1}(n) w(n -> m)

What discrete/causal_sums.pyx does, where nodes stay near enough to each other for doubles and a
path can be completed from all of them at all steps. A sequence for which that does not hold is
reported.
O(edges) vector operations per step of all 8.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from ..shared.faint cimport faint_back, faint_off
from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.layout cimport Graph, Layout, first_nodes, step_work
from ..shared.memory cimport Memory
from ..shared.scaling cimport log_lossy
from ..shared.threads cimport share, threads_for
from ..simd.instructions cimport instructions_in_use
from .edges cimport (
    LANES, Edges, Group, Side, active_at, make_edges, n_groups, read_group, rows_of, side_of,
)


cdef extern from "lanes/filter_steps.h" nogil:
    const int *instructions
    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    double *lanes_filter_run(const Side *, const double *weights, int64_t n, int64_t n_states,
                             const int32_t *first, const double *emit, double floor, int active,
                             double *here, double *there, double *put, double **out, double **end,
                             int *small)
    void lanes_filter_few(int64_t n_nodes, const double *weights, const int32_t *states, int64_t n,
                          int64_t n_states, const int32_t *first, const double *emit,
                          double floor, int active, double *row, double *put, double **out,
                          double **end, int *small)
    int lanes_scale(int64_t n, int64_t n_states, double least, double *emit)
    void lanes_put_first(int64_t n_states, const int32_t *first, const double *row,
                         const double *factors, int active, double *put, double **out,
                         double **end)

instructions = instructions_in_use()

cdef enum:
    BATCH = 32                   # steps whose emissions are laid out at once
    FEW = 8                      # nodes whose row stays in registers

cdef double TINY = 1e-200        # smaller sums may miss something


cdef struct Work:
    double *values               # 2 rows
    double *emit                 # (BATCH, n_states, 8)
    int64_t *at                  # (BATCH, 8)
    double *put                  # (BATCH, n_states, 8) and 8 more: what is written out
    Watch watch
    char gap[64]                 # to that of another thread


cdef struct Job:
    const Graph *g
    Edges edges
    double *few                  # weights of up to FEW nodes, (FEW, FEW) by target, or NULL
    int32_t states[8]            # of these nodes, as places in a row of emissions
    const double *start
    const double *table
    bint logs                    # whether it has logarithms,
    double least                 # and their differences below which doubles lose something
    const int32_t *rows
    const int64_t *offsets
    const int64_t *order
    const int32_t *first
    uint8_t *redo
    double *out
    int64_t n                    # sequences
    Work *works                  # one per thread


cdef int first_row(const Job *job, const double *emit, double *out,
                   double *factors) noexcept nogil:
    """Row 0, and one over what it sums to; the lanes in which that is too little."""
    cdef const Graph *g = job.g
    cdef int64_t i, l, m
    cdef double total
    cdef int small = 0
    memset(out, 0, g.n_nodes * LANES * sizeof(double))
    for l in range(LANES):
        total = 0.0
        for i in range(g.n_states):
            m = g.start_nodes[i]
            if m >= 0:
                out[m * LANES + l] = job.start[i] * emit[i * LANES + l]
                total += out[m * LANES + l]
                if 0.0 < job.start[i] < TINY:
                    small |= 1 << l
        if total < TINY:
            small |= 1 << l
        factors[l] = 1.0 / total if total > 0.0 else 0.0
    return small


cdef void filter_group(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef const Graph *g = job.g
    cdef int64_t T = group.length[0], S = g.n_states, N = g.n_nodes * LANES
    cdef int64_t t = 0, n, begin = 0, end, l
    cdef int active, small = 0, every = (1 << group.n) - 1
    cdef double *here = w.values
    cdef double *emit
    cdef double factors[8]
    cdef double *out[8]
    cdef double *ends[8]
    cdef Side side
    if job.few == NULL:
        side = side_of(g, &job.edges, 0)
    for l in range(LANES):
        out[l] = job.out + group.origin[l] * S
        ends[l] = out[l] + group.length[l] * S
    while begin < T:
        n = min(T - begin, BATCH)
        rows_of(group, job.rows, begin, n, w.at)
        lanes_fill(n, S, job.table, w.at, w.emit)
        if job.logs:
            small |= lanes_scale(n, S, job.least, w.emit)
        if begin == 0:
            small |= first_row(job, w.emit, here, factors)
            lanes_put_first(S, job.first, here, factors, active_at(group, 0), w.put, out,
                            ends)
            t = 1
        while t < begin + n:
            active = active_at(group, t)
            end = min(begin + n, group.length[active - 1])
            emit = w.emit + (t - begin) * S * LANES
            if job.few != NULL:
                lanes_filter_few(g.n_nodes, job.few, job.states, end - t, S, job.first, emit, TINY,
                                 active, here, w.put, out, ends, &small)
                t = end
                continue
            here = lanes_filter_run(
                &side, job.edges.base, end - t, S, job.first, emit, TINY, active, here,
                w.values + N if here == w.values else w.values, w.put, out,
                ends, &small)
            t = end
        begin += n
        if small & every == every:
            break  # none of them is right
        if stopped(&w.watch, n):
            return
    for l in range(group.n):
        job.redo[group.sequence[l]] = small >> l & 1


cdef void filter_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef int64_t k = LANES * number
    cdef Group group
    cdef unsigned faint = faint_off()
    read_group(job.order + k, job.n - k, job.offsets, &group)
    filter_group(job, &group, job.works + thread)
    faint_back(faint)


cdef int lay_out(const Graph *g, const double *weights, Memory memory, Job *job) except -1:
    """The edges of few nodes as a matrix."""
    cdef int64_t m, k
    job.few = memory.rows(FEW, FEW)
    memset(job.states, 0, sizeof(job.states))
    for m in range(g.n_nodes):
        job.states[m] = LANES * g.node_states[m]
        for k in range(g.indptr[m], g.indptr[m + 1]):
            job.few[FEW * m + g.sources[k]] = weights[k]
    return 0


def lanes_filter(Layout layout,                   # IN, of a graph with edges and one epoch
                 const double[::1] weights,       # IN, one an edge
                 const double[::1] start,         # IN
                 const double[:, ::1] table,      # IN, as scale_rows gives it, no row of it lossy
                 bint logs,                       # IN, or whether it has logarithms,
                 double smallest,                 # IN, with this smallest weight
                 const int32_t[::1] rows,         # IN or None: row t of the table is step t
                 const int64_t[::1] offsets,      # IN
                 const int64_t[::1] order,        # IN, the sequences, longest first
                 uint8_t[::1] redo,               # OUT, 1: not right
                 double[:, ::1] out):             # OUT (n_steps, S)
    """Fill the rows of sequences, 8 at a time."""
    cdef Job job
    cdef int64_t i, n_threads = threads_for(n_groups(order.shape[0]))
    cdef Memory memory = Memory()
    job.g = &layout.graph
    job.start, job.table = &start[0], &table[0, 0]
    job.logs, job.least = logs, log_lossy(smallest)
    job.first = NULL
    if not job.g.plain:
        job.first = first_nodes(
            job.g, <int32_t *> memory.room((job.g.n_states + 1) * sizeof(int32_t)))
    job.rows = NULL if rows is None else &rows[0]
    job.offsets, job.order, job.n = &offsets[0], &order[0], order.shape[0]
    job.redo, job.out = &redo[0], &out[0, 0]
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    job.few = NULL
    if job.g.n_nodes <= FEW:
        lay_out(job.g, &weights[0], memory, &job)
    else:
        make_edges(job.g, memory, &weights[0], True, &job.edges)
    for i in range(n_threads):
        memory.part()
        job.works[i].at = <int64_t *> memory.room(BATCH * LANES * sizeof(int64_t))
        job.works[i].values = memory.rows(2, max(job.g.n_nodes, FEW) * LANES)
        job.works[i].emit = memory.table(BATCH, job.g.n_states * LANES)
        job.works[i].put = memory.table(BATCH * job.g.n_states + LANES, LANES)
        job.works[i].watch = new_watch(LANES * step_work(job.g))
    with nogil:
        share(filter_piece, &job, n_groups(job.n))
