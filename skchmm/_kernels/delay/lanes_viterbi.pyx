"""The best paths of 8 sequences at a time through a graph with delay lines, one per lane.

The recursion of delay/viterbi.pyx, with one number for each lane where that has one. Sequences are
short enough for sums of whole numbers over all of their steps. O(edges + lines) vector operations
per step of all 8.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..lanes.edges cimport LANES, Group, active_at, n_groups, read_group, rows_of
from ..shared.interrupt cimport Watch, new_watch, stopped
from ..shared.layout cimport Graph, Layout, frame
from ..shared.memory cimport Memory
from ..shared.threads cimport share, threads_for
from ..simd.instructions cimport instructions_in_use
from .grid cimport Grid, Span, choose_grid, span_of, whole
from .lines cimport Core, Lines
from .trace cimport Notes, Trail, end_in, open_trail, trace


cdef extern from "delay/lanes_max_steps.h" nogil:
    const int *instructions

    ctypedef struct LaneDelay:
        const Core *core
        int64_t n_plain
        const double *weights
        const double *step
        const double *passage
        const double *final
        bint impossible
        double *ring
        int64_t mask
        double *sums
        double *last
        double *arrived
        const double *entering
        double keep[8]
    void lanes_fill(int64_t n, int64_t n_states, const double *table, const int64_t *at,
                    double *out)
    void delay_lanes_round(int64_t n, int64_t n_states, double level, double scale,
                           const double *more, double *x)
    void delay_lanes_run(LaneDelay *, int64_t t, int64_t n, int64_t n_states, const double *emit,
                         double *values, int64_t n_notes, uint8_t *notes)
    void delay_lanes_top(const LaneDelay *, int64_t l, int64_t n, int64_t t, double *tops,
                         double *which, double *others)
    int64_t delay_lanes_end(const LaneDelay *, int64_t l, int64_t k, int64_t n, int64_t t,
                            const double *tops, int *lanes)

instructions = instructions_in_use()

cdef enum:
    BATCH = 32                   # steps whose log-likelihoods are laid out at once


cdef struct Work:
    LaneDelay delay
    double *values               # (longest, n_plain, 8)
    uint8_t *notes               # (longest, n_notes)
    double *emit                 # (BATCH, n_states, 8)
    int64_t *at                  # (BATCH, 8)
    Trail trails[8]
    double final[8]              # what the end of each lane scores, unrounded
    Watch watch
    char gap[64]                 # to that of another thread


cdef struct Job:
    const Graph *g
    const Core *core
    Grid grid
    const double *table          # as it came,
    const double *rounded        # and as whole numbers; NULL: these are made batch by batch
    const int32_t *rows
    const int64_t *offsets
    const int64_t *order
    const double *log_weights
    const double *log_start
    const double *log_transmat
    const int64_t *labels
    int64_t n_plain
    int64_t n_notes
    double *weights              # whole numbers, by edge of the core,
    double *step                 # by line, a transition,
    double *passage              # and all of them,
    double *inside               # by node inside lines: ends
    const double *entering       # see LaneDelay
    double keep[8]
    double *more                 # by state: what is added to log-likelihoods
    int64_t *path
    double *log_prob
    int64_t n                    # sequences
    Work *works                  # one per thread


cdef void first_row(const Job *job, Work *w) noexcept nogil:
    cdef const Core *c = job.core
    cdef int64_t i, l, m, heads = 8 * c.n_plain
    cdef double start, value
    for m in range(job.n_plain * LANES):
        w.values[m] = -INFINITY
    for m in range(c.n_lines * LANES):
        w.delay.ring[m], w.delay.sums[m], w.delay.last[m] = -INFINITY, 0.0, -1.0
    for i in range(job.g.n_states):
        if job.g.start_nodes[i] < 0:
            continue
        m = c.place[job.g.start_nodes[i]]
        start = whole(job.grid.scale * job.log_start[i]) - job.more[i]  # no transition yet
        for l in range(LANES):
            value = start + w.emit[i * LANES + l]
            if m < heads:
                w.values[m * LANES + l] = value
            else:
                w.delay.ring[(m - heads) * LANES + l] = value


cdef void find_ends(const Job *job, Work *w, int64_t T, int lanes) noexcept nogil:
    """Where the best paths of some lanes end: all of the first state among them."""
    cdef const Core *c = job.core
    cdef const double *row = w.values + (T - 1) * job.n_plain * LANES
    cdef int64_t m, l, k, n, lane
    cdef int32_t state
    cdef int found
    cdef double end
    cdef double tops[8]
    cdef double which[8]
    cdef double others[8]
    for lane in range(LANES):
        if lanes >> lane & 1:
            w.trails[lane].n, w.trails[lane].top = 0, -INFINITY
    for m in range(job.n_plain):
        end = whole(job.grid.scale * job.g.log_final[c.nodes[m]])
        for lane in range(LANES):
            if lanes >> lane & 1 and end_in(&w.trails[lane], row[m * LANES + lane] + end,
                                            c.states[m], <int32_t> m, -1):
                w.final[lane] = job.g.log_final[c.nodes[m]]
    for l in range(c.n_lines):
        n, state = min(c.delay[l], T), c.states[8 * c.n_plain + l]
        delay_lanes_top(&w.delay, l, n, T - 1, tops, which, others)
        for lane in range(LANES):
            k = <int64_t> which[lane]
            if lanes >> lane & 1 and end_in(&w.trails[lane], tops[lane], state, <int32_t> l,
                                            <int32_t> k):
                w.final[lane] = job.g.log_final[c.inside[c.begin[l] + k]]
            # Of those that are as good only the others are looked for.
            if (not lanes >> lane & 1 or others[lane] < tops[lane] or tops[lane] == -INFINITY
                    or tops[lane] < w.trails[lane].top):
                tops[lane] = INFINITY
        k = delay_lanes_end(&w.delay, l, 0, n, T - 1, tops, &found) if any_of(tops) else n
        while k < n:
            for lane in range(LANES):
                if found >> lane & 1 and k != <int64_t> which[lane]:
                    end_in(&w.trails[lane], tops[lane], state, <int32_t> l, <int32_t> k)
            k = delay_lanes_end(&w.delay, l, k + 1, n, T - 1, tops, &found)


cdef inline bint any_of(const double *tops) noexcept nogil:
    cdef int64_t lane
    for lane in range(LANES):
        if tops[lane] < INFINITY:
            return True
    return False


cdef void forward(const Job *job, const Group *group, Work *w) noexcept nogil:
    cdef int64_t T = group.length[0], S = job.g.n_states, width = job.n_plain * LANES
    cdef int64_t begin = 0, n, t = 1, end, l
    cdef int ended
    while begin < T:
        n = min(T - begin, BATCH)
        rows_of(group, job.rows, begin, n, w.at)
        if job.rounded != NULL:
            lanes_fill(n, S, job.rounded, w.at, w.emit)
        else:
            lanes_fill(n, S, job.table, w.at, w.emit)
            delay_lanes_round(n, S, job.grid.level, job.grid.scale, job.more, w.emit)
        if begin == 0:
            first_row(job, w)
        while True:
            ended = 0
            for l in range(group.n):
                ended |= (group.length[l] == t) << l
            if ended and t > begin:
                find_ends(job, w, t, ended)
            end = min(begin + n, group.length[active_at(group, t) - 1] if t < T else T)
            if t >= end:
                break
            delay_lanes_run(&w.delay, t, end - t, S, w.emit + (t - begin) * S * LANES,
                            w.values + (t - 1) * width, job.n_notes,
                            w.notes + (t - 1) * job.n_notes)
            t = end
        begin += n
        if stopped(&w.watch, n):
            return


cdef struct Walk:
    # Along the path of a lane.
    int64_t *path
    int64_t origin
    int64_t length
    int64_t before
    double value


cdef inline void walk_on(const Job *job, Walk *a, int64_t t, int64_t end) noexcept nogil:
    """Steps t .. end - 1 of a lane: its score, and labels."""
    cdef int64_t S = job.g.n_states, j, before = a.before
    cdef double value = a.value
    for t in range(t, end):
        j = a.path[t]
        value = (value + job.log_transmat[before * S + j]) + job.table[
            frame(job.rows, a.origin + t) * S + j]
        a.path[t], before = job.labels[j], j
    a.value, a.before = value, before


cdef inline void walk_both(const Job *job, Walk *a, Walk *b, int64_t end) noexcept nogil:
    """The same from step 1 on of two lanes, whose sums do not wait for each other."""
    cdef int64_t S = job.g.n_states, t, i, j, a_before = a.before, b_before = b.before
    cdef const double *log_transmat = job.log_transmat
    cdef const double *table = job.table
    cdef const int32_t *rows = job.rows
    cdef const int64_t *labels = job.labels
    cdef int64_t *a_path = a.path
    cdef int64_t *b_path = b.path
    cdef int64_t a_origin = a.origin, b_origin = b.origin
    cdef double a_value = a.value, b_value = b.value
    for t in range(1, end):
        i, j = a_path[t], b_path[t]
        a_value = (a_value + log_transmat[a_before * S + i]) + table[
            frame(rows, a_origin + t) * S + i]
        b_value = (b_value + log_transmat[b_before * S + j]) + table[
            frame(rows, b_origin + t) * S + j]
        a_path[t], b_path[t] = labels[i], labels[j]
        a_before, b_before = i, j
    a.value, a.before, b.value, b.before = a_value, a_before, b_value, b_before


cdef void score(const Job *job, const Group *group, Work *w) noexcept nogil:
    """Scores and labels of the paths, added up as the other kernels do it."""
    cdef int64_t S = job.g.n_states, l, t, n = 0
    cdef Walk walks[8]
    cdef Walk *a
    cdef int64_t lanes[8]
    for l in range(group.n):
        job.log_prob[group.sequence[l]] = -INFINITY
        if w.trails[l].n > 0:
            a = walks + n
            a.path, a.origin, a.length = (job.path + group.origin[l], group.origin[l],
                                          group.length[l])
            a.before = a.path[0]
            a.value = job.log_start[a.before] + job.table[
                frame(job.rows, a.origin) * S + a.before]
            a.path[0] = job.labels[a.before]
            lanes[n] = l
            n += 1
        else:
            for t in range(group.length[l]):
                job.path[group.origin[l] + t] = job.labels[0]
    for l in range(0, n - 1, 2):  # the second is not the longer one
        walk_both(job, walks + l, walks + l + 1, walks[l + 1].length)
        walk_on(job, walks + l, walks[l + 1].length, walks[l].length)
    if n % 2:
        walk_on(job, walks + n - 1, 1, walks[n - 1].length)
    for l in range(n):
        job.log_prob[group.sequence[lanes[l]]] = walks[l].value + w.final[lanes[l]]


cdef void decode_piece(void *shared, int64_t number, int64_t thread) noexcept nogil:
    cdef Job *job = <Job *> shared
    cdef Work *w = job.works + thread
    cdef int64_t k = LANES * number, l
    cdef Group group
    cdef Notes notes
    cdef Trail *trail
    read_group(job.order + k, job.n - k, job.offsets, &group)
    forward(job, &group, w)
    if stopped(&w.watch, 0):
        return
    notes.begin, notes.values, notes.width = 1, w.values, job.n_plain * LANES
    notes.notes, notes.n_notes = w.notes, job.n_notes
    for l in range(group.n):
        trail = w.trails + l
        if trail.n == 0:
            continue
        notes.lane = <int> l
        trail.t, trail.path = group.length[l] - 1, job.path + group.origin[l]
        trail.path[trail.t] = trail.state
        trace(job.core, job.grid.scale, job.log_weights, &notes, trail)
    score(job, &group, w)


cdef int new_work(const Job *job, Memory memory, int64_t longest, Work *w) except -1:
    cdef const Core *core = job.core
    cdef int64_t l, ring = 1, L = core.n_lines
    while ring <= min(core.longest, longest):
        ring *= 2
    w.delay.core, w.delay.n_plain, w.delay.weights = core, job.n_plain, job.weights
    w.delay.step, w.delay.passage, w.delay.final = job.step, job.passage, job.inside
    w.delay.impossible, w.delay.entering = job.grid.impossible, job.entering
    for l in range(LANES):
        w.delay.keep[l] = job.keep[l]
    w.delay.ring, w.delay.mask = memory.table(ring, L * LANES), ring - 1
    w.delay.sums, w.delay.last = memory.rows(L, LANES), memory.rows(L, LANES)
    w.delay.arrived = memory.rows(L, LANES)
    w.values = memory.table(longest, job.n_plain * LANES)
    w.notes = <uint8_t *> memory.room(longest * job.n_notes)
    w.emit = memory.table(BATCH, job.g.n_states * LANES)
    w.at = <int64_t *> memory.room(BATCH * LANES * sizeof(int64_t))
    for l in range(LANES):
        open_trail(w.trails + l, memory, core, longest)
    w.watch = new_watch(LANES * (core.first[core.n_places] + core.n_places))
    return 0


cdef void take_steps_along(Job *job, double *entering) noexcept nogil:
    """For uniform lines whose heads have edges from other states: see uniform_steps."""
    cdef const Core *c = job.core
    cdef int64_t k, l
    for l in range(LANES * LANES):
        entering[l] = -INFINITY
    for l in range(c.n_lines):
        if c.n_lines == 1 or job.step[l] == -INFINITY:
            return
        for k in range(c.first[8 * c.n_plain + l], c.first[8 * c.n_plain + l + 1]):
            if c.sources[k] == l:
                return
            entering[LANES * l + c.sources[k]] = job.weights[k] - job.step[l]
    for l in range(c.n_lines):
        job.keep[l] = -INFINITY
        for k in range(c.first[l], c.first[l + 1]):
            job.keep[l] = job.weights[k] - job.step[l]
        job.more[l] = job.step[l]
        job.step[l] = job.passage[l] = 0.0
    job.entering = entering


def delayed_lanes_viterbi(Layout layout,                     # IN
                          Lines lines,                       # IN
                          const double[::1] log_weights,     # IN, one an edge
                          const double[::1] log_start,       # IN
                          const double[:, ::1] log_transmat,  # IN
                          double largest,                    # IN, of what is finite in these
                          const double[:, ::1] log_table,    # IN
                          const int32_t[::1] rows,           # IN or None: row t is step t
                          const int64_t[::1] offsets,        # IN
                          const int64_t[::1] order,          # IN, the sequences, longest first
                          const int64_t[::1] labels,         # IN, what to write for each state
                          int64_t[::1] path,                 # OUT, labels
                          double[::1] log_prob):             # OUT, -inf where none is feasible
    """Decode sequences, 8 at a time; False: scores are too far apart, and nothing was done."""
    cdef Job job
    cdef const Core *core = &lines.core
    cdef int64_t i, n_threads, longest = offsets[order[0] + 1] - offsets[order[0]]
    cdef int64_t size = log_table.shape[0] * log_table.shape[1]
    cdef double *rounded
    cdef Span span = span_of(&log_table[0, 0], size)
    cdef Memory memory = Memory()
    if not choose_grid(&span, False, largest, longest + 2 * min(core.longest, longest) + 8,
                       &job.grid):
        return False
    job.g, job.core, job.table = &layout.graph, core, &log_table[0, 0]
    job.rows, job.rounded = NULL if rows is None else &rows[0], NULL
    job.weights = memory.table(core.first[core.n_places], 1)
    for i in range(core.first[core.n_places]):
        job.weights[i] = whole(job.grid.scale * log_weights[core.edges[i]])
    job.step, job.passage = memory.table(core.n_lines, 1), memory.table(core.n_lines, 1)
    for i in range(core.n_lines):
        job.step[i] = whole(job.grid.scale * log_weights[core.through[i]])
        job.passage[i] = core.delay[i] * job.step[i]
    job.more = memory.rows(layout.graph.n_states, 1)
    job.entering = NULL
    for i in range(LANES):
        job.keep[i] = 0.0
    if lines.uniform and not job.grid.impossible:
        take_steps_along(&job, memory.table(LANES, LANES))
    if rows is not None and 4 * log_table.shape[0] <= offsets[offsets.shape[0] - 1]:
        rounded = memory.table(size + 7, 1)
        for i in range(size):
            rounded[i] = whole((job.table[i] - job.grid.level) * job.grid.scale) + job.more[
                i % layout.graph.n_states]
        job.rounded = rounded
    job.offsets, job.order, job.n = &offsets[0], &order[0], order.shape[0]
    job.log_weights, job.log_start = &log_weights[0], &log_start[0]
    job.log_transmat, job.labels = &log_transmat[0, 0], &labels[0]
    job.path, job.log_prob = &path[0], &log_prob[0]
    job.n_plain = 0
    while job.n_plain < 8 * core.n_plain and core.nodes[job.n_plain] >= 0:
        job.n_plain += 1
    job.n_notes = 2 * core.n_lines if core.aligned else 2 * core.n_places + core.n_lines
    job.inside = memory.table(core.begin[core.n_lines], 1)
    for i in range(core.begin[core.n_lines]):
        job.inside[i] = whole(job.grid.scale * layout.graph.log_final[core.inside[i]])
    n_threads = threads_for(n_groups(job.n))
    job.works = <Work *> memory.room(n_threads * sizeof(Work))
    for i in range(n_threads):
        memory.part()
        new_work(&job, memory, longest, job.works + i)
    with nogil:
        share(decode_piece, &job, n_groups(job.n))
    return True
