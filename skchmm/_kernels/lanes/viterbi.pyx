"""The best paths of 8 sequences at a time: the recursion of discrete/viterbi.pyx, one per lane.

    value_t(m) = max_{n -> m} (value_{t-1}(n) + log_w(n -> m)) + log_b(y_t, state(m))

The same additions and comparisons in the same order, so the same paths. Each node notes the source
that won. O(edges) vector operations per step of all 8. On one-way graphs two groups of 8 go side by
side.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.layout cimport Graph, Layout, Siblings, Ties, best_end, epoch_of, step_work
from ..shared.memory cimport Memory
from ..shared.threads cimport share, threads_for
from ..shared.ties cimport Tied, best_ends, in_tie, open_tied, open_ties, set_one, step_back_noted
from ..simd.instructions cimport instructions_in_use
from .edges cimport (
    LANES, Edges, Group, OneWay, Side, active_at, first_logs, make_edges, n_groups, one_way_of,
    read_group, rows_of, side_of,
)


cdef extern from "lanes/one_way_max_steps.h" nogil:
    const int *instructions
    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    double *lanes_choose_run(const Side *, const double *weights, int64_t n, int64_t n_states,
                             const double *emit, double *here, double *there, uint8_t *choices,
                             const Siblings *, Ties)
    int ONE_WAY_STEPS
    ctypedef struct Apart:
        int64_t rows, emit, choices
    void one_way_choose_run(const OneWay *, const double *weights, const double *numbers,
                            int n_groups, const Apart *, int64_t n, int64_t n_states,
                            const double *emit, double *rows, uint8_t *choices, const Siblings *,
                            Ties)

instructions = instructions_in_use()

cdef enum:
    BATCH = 32                   # steps whose emissions are laid out at once


cdef struct Run:
    # A group on its way.
    Group group
    double *values               # 2 rows, or ONE_WAY_STEPS + 1
    double *here                 # the last of them
    uint8_t *choices             # one row per step
    double *emit                 # (BATCH, n_states, 8)
    int32_t *ends                # (8, n_nodes), of each lane the nodes that its path may end in,
    int64_t n_ends[8]            # how many,
    int64_t node[8]              # and the first of them


cdef struct Work:
    Run runs[2]
    Apart apart                  # how far what the second has is from what the first has
    int64_t *at                  # (BATCH, 8)
    Ties ties
    Tied tied
    Watch watch
    char gap[64]                 # to that of another thread


cdef struct Job:
    const Graph *g
    Edges edges
    const double *log_start
    const double *table
    const int32_t *rows
    const int64_t *offsets
    const int64_t *order
    const int64_t *node_labels
    int64_t *path
    double *log_prob
    int64_t n                    # sequences
    int64_t together             # groups
    Work *works                  # one per thread


cdef void note_ends(const Job *job, Run *run, int64_t t) noexcept nogil:
    """Where the sequences of t steps end, after these."""
    cdef const Graph *g = job.g
    cdef int64_t l, node
    for l in range(active_at(&run.group, t - 1)):
        if run.group.length[l] == t:
            node = best_end(g, run.here + l, LANES)
            job.log_prob[run.group.sequence[l]] = (
                run.here[node * LANES + l] + g.log_final[node] if node >= 0 else -INFINITY)
            run.n_ends[l] = 0
            if node >= 0:
                run.n_ends[l] = best_ends(g, run.here + l, LANES, node,
                                          run.ends + l * g.n_nodes)
            run.node[l] = max(node, 0)  # some path: of an infeasible one it means nothing


cdef void forward(const Job *job, Work *w, int64_t n_runs) noexcept nogil:
    """The values of one group, or of two at once; the second has no longer sequences."""
    cdef const Graph *g = job.g
    cdef Run *first = w.runs
    cdef Run *run
    cdef int64_t T = first.group.length[0], S = g.n_states, N = g.n_nodes * LANES, P = g.siblings.n
    cdef int64_t t = 0, n, begin = 0, end, e = 0, k
    cdef Ties at
    cdef Side side
    cdef OneWay way
    if P:
        memset(w.ties.any, 0, T)
    while begin < T:
        n = min(T - begin, BATCH)
        for k in range(n_runs):
            run = w.runs + k
            rows_of(&run.group, job.rows, begin, n, w.at)
            lanes_fill(n, S, job.table, w.at, run.emit)
            if begin == 0:
                run.here = run.values
                first_logs(g, job.log_start, run.emit, run.here)
                t = 1
        while True:
            end = begin + n
            for k in range(n_runs):
                run = w.runs + k
                note_ends(job, run, t)
                if t < run.group.length[0]:
                    end = min(end, run.group.length[active_at(&run.group, t) - 1])
                elif k == 0:
                    end = T
                else:
                    n_runs = 1
            if t >= end:
                break
            e = epoch_of(&g.epochs, t, e)
            if e + 1 < g.epochs.n:
                end = min(end, g.epochs.first[e + 1])
            at.any, at.pairs = w.ties.any + t - 1, w.ties.pairs + (t - 1) * P
            if g.one_way:
                way = one_way_of(g, &job.edges, e)
                one_way_choose_run(&way, job.edges.base, job.edges.numbers, <int> n_runs, &w.apart,
                                   end - t, S, first.emit + (t - begin) * S * LANES, first.here,
                                   first.choices + t * N, &g.siblings, at)
            else:
                side = side_of(g, &job.edges, e)
                first.here = lanes_choose_run(
                    &side, job.edges.base, end - t, S, first.emit + (t - begin) * S * LANES,
                    first.here, first.values + (N if first.here == first.values else 0),
                    first.choices + t * N, &g.siblings, at)
            t = end
        begin += n
        if stopped(&w.watch, n):
            return


cdef void trace(const Job *job, Work *w, Run *run) noexcept nogil:
    """The paths of a group, from their ends."""
    cdef const Graph *g = job.g
    cdef const Group *group = &run.group
    cdef int64_t N = g.n_nodes * LANES, P = g.siblings.n, t = group.length[0], l, active = 0
    cdef int64_t ahead[8]        # the step that a lane went on to alone,
    cdef int apart = 0           # of these lanes
    for l in range(group.n):
        ahead[l] = -1
        if run.n_ends[l] > 1:
            memcpy(w.tied.nodes, run.ends + l * g.n_nodes, run.n_ends[l] * sizeof(int32_t))
            w.tied.n = run.n_ends[l]
            ahead[l] = trace_tied(job, run, w, l, group.length[l] - 1)
            run.node[l] = w.tied.nodes[0]
            apart |= 1 << l
    while t > 0:
        t -= 1
        while active < group.n and group.length[active] > t:
            active += 1
        if active == LANES and not apart:
            t = trace_all(job, run, w, t)
        if apart:
            for l in range(active):
                if ahead[l] == t:
                    apart &= ~(1 << l)
        if P and t > 0 and w.ties.any[t - 1]:
            for l in range(active):
                if (not apart >> l & 1 and run.n_ends[l] > 0 and in_tie(
                        &g.siblings, w.ties.pairs + (t - 1) * P, l,
                        run.choices[t * N + run.node[l] * LANES + l])):
                    set_one(&w.tied, <int32_t> run.node[l])
                    ahead[l] = trace_tied(job, run, w, l, t)
                    run.node[l] = w.tied.nodes[0]
                    apart |= 1 << l
        for l in range(active):
            if apart and apart >> l & 1:
                continue
            job.path[group.origin[l] + t] = job.node_labels[run.node[l]]
            run.node[l] = run.choices[t * N + run.node[l] * LANES + l] if t > 0 else 0


cdef int64_t trace_all(const Job *job, Run *run, const Work *w, int64_t t) noexcept nogil:
    """Go back from step t in all lanes, up to one with ties or to the first; to which step."""
    cdef int64_t N = job.g.n_nodes * LANES, l
    cdef const uint8_t *chosen = run.choices + t * N
    cdef const uint8_t *tied = w.ties.any if job.g.siblings.n else NULL
    cdef int64_t node[8]
    cdef int64_t *out[8]
    memcpy(node, run.node, sizeof(node))
    for l in range(LANES):
        out[l] = job.path + run.group.origin[l]
    while t > 0 and not (tied != NULL and tied[t - 1]):
        for l in range(LANES):
            out[l][t] = job.node_labels[node[l]]
            node[l] = chosen[node[l] * LANES + l]
        chosen -= N
        t -= 1
    memcpy(run.node, node, sizeof(node))
    return t


cdef int64_t trace_tied(const Job *job, const Run *run, Work *w, int64_t l,
                        int64_t t) noexcept nogil:
    """Go back in a lane from the nodes of step t as long as there are several; to which step."""
    cdef const Graph *g = job.g
    cdef int64_t e = 0, N = g.n_nodes * LANES, P = g.siblings.n
    while t > 0:
        job.path[run.group.origin[l] + t] = job.node_labels[w.tied.nodes[0]]
        e = epoch_of(&g.epochs, t, e)
        step_back_noted(g, e, run.choices + t * N + l, LANES, P and w.ties.any[t - 1] >> l & 1,
                        w.ties.pairs + (t - 1) * P, l, &w.tied)
        t -= 1
        if w.tied.n == 1:
            break
    return t


cdef int new_work(const Job *job, Memory memory, int64_t longest, Work *w) except -1:
    cdef const Graph *g = job.g
    cdef int64_t N = g.n_nodes * LANES, k
    cdef Run *run
    w.at = <int64_t *> memory.room(BATCH * LANES * sizeof(int64_t))
    for k in range(job.together):
        run = w.runs + k
        run.choices = <uint8_t *> memory.room(longest * N)
        run.values = memory.table(ONE_WAY_STEPS + 1 if g.one_way else 2, N)
        run.emit = memory.table(BATCH, g.n_states * LANES)
        run.ends = <int32_t *> memory.room(LANES * g.n_nodes * sizeof(int32_t))
    if job.together > 1:
        w.apart.rows = w.runs[1].values - w.runs[0].values
        w.apart.emit = w.runs[1].emit - w.runs[0].emit
        w.apart.choices = w.runs[1].choices - w.runs[0].choices
    open_ties(&w.ties, memory, g.siblings.n, longest)
    open_tied(&w.tied, memory, g.n_nodes)
    w.watch = new_watch(LANES * job.together * step_work(g))
    return 0


cdef void decode_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef Work *w = job.works + thread
    cdef int64_t first = LANES * job.together * number, n_runs = 0
    while n_runs < job.together and first + LANES * n_runs < job.n:
        read_group(job.order + first + LANES * n_runs, job.n - first - LANES * n_runs,
                   job.offsets, &w.runs[n_runs].group)
        n_runs += 1
    forward(job, w, n_runs)
    if stopped(&w.watch, 0):
        return
    while n_runs > 0:
        n_runs -= 1
        trace(job, w, w.runs + n_runs)


def lanes_viterbi(Layout layout,                   # IN, of a graph of at most 256 nodes
                  const double[::1] weights,       # IN, log weights, one an edge
                  const double[::1] log_start,     # IN
                  const double[:, ::1] log_table,  # IN
                  const int32_t[::1] rows,         # IN or None: row t of log_table is step t
                  const int64_t[::1] offsets,      # IN
                  const int64_t[::1] order,        # IN, the sequences, longest first
                  const int64_t[::1] node_labels,  # IN, what to write for each node
                  int64_t[::1] path,               # OUT, labels
                  double[::1] log_prob):           # OUT, -inf where no path is feasible
    """Decode sequences, 8 at a time; what stands in `path` for infeasible ones means nothing."""
    cdef Job job
    cdef int64_t i, longest = offsets[order[0] + 1] - offsets[order[0]]
    cdef int64_t groups = n_groups(order.shape[0]), n_threads = threads_for(groups)
    cdef Memory memory = Memory()
    job.g = &layout.graph
    # Ties are noted for one group; and no thread should wait for what another does at once.
    job.together = 2 if (job.g.one_way and job.g.siblings.n == 0
                         and groups >= 2 * n_threads) else 1
    job.log_start, job.table = &log_start[0], &log_table[0, 0]
    job.rows = NULL if rows is None else &rows[0]
    job.offsets, job.order, job.n = &offsets[0], &order[0], order.shape[0]
    job.node_labels, job.path, job.log_prob = &node_labels[0], &path[0], &log_prob[0]
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    make_edges(job.g, memory, &weights[0], True, &job.edges)
    for i in range(n_threads):
        memory.part()
        new_work(&job, memory, longest, job.works + i)
    with nogil:
        share(decode_piece, &job, (groups + job.together - 1) // job.together)
