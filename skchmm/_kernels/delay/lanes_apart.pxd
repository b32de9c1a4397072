"""Forward-backward over minimum durations of one length, 8 sequences at a time, one per lane.

The recursions of delay/scaled.pxd, where every number has an exponent of its own in every step as
in delay/apart.pxd: emissions may be far apart. Tails are not kept: before a batch of steps goes
back, they are worked out again from what enters lines.
"""
from libc.math cimport INFINITY, M_LN2, fabs, frexp, log, log2
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..lanes.edges cimport LANES, Group, active_at
from ..shared.interrupt cimport stopped
from ..shared.memory cimport Memory
from .lane_groups cimport NOTHING, add_up, set_nothing
from .lane_work cimport ApartModel, Job, LaneApart, Work


cdef extern from "delay/lanes_apart_steps.h" nogil:
    const int64_t APART_STEPS

    bint lanes_apart_ahead(LaneApart *, int64_t batch, int64_t t, int64_t n, const double *emit)
    void lanes_apart_inside(const LaneApart *, int64_t k, int64_t begin, int64_t end, double *out)
    void lanes_apart_back(LaneApart *, int64_t batch, int64_t t, int64_t n, double *emit,
                          int inside)


cdef inline bint make_apart(Job *job) noexcept nogil:
    """The model of uniform lines; False: heads have edges from their own tails, or tails fade."""
    cdef ApartModel *m = &job.apart
    cdef int64_t P = job.c.n_plain, j, k, i
    m.S, m.delay = P, job.c.delay[0]
    for k in range(LANES * LANES):
        m.ahead[k] = m.back[k] = 0.0
        m.edges[k] = m.edges_back[k] = NOTHING
    for j in range(P):
        m.step[j], m.keep[j] = job.c.step[j], 0.0
        m.final[j], m.final_inside[j] = job.g.final[job.core.nodes[j]], job.c.final[j]
        for i in range(job.c.first[j], job.c.first[j + 1]):
            m.keep[j] = job.compact.base[i] / m.step[j]
        if not m.keep[j] > 0.0 or fabs(log2(m.keep[j])) * APART_STEPS > 100.0:
            return False
        for i in range(job.c.first[P + j], job.c.first[P + j + 1]):
            k = job.c.sources[i]
            if k == j:
                return False
            m.ahead[LANES * j + k] = m.back[LANES * k + j] = job.compact.base[i] / m.step[j]
            m.edges[LANES * j + k] = m.edges_back[LANES * k + j] = 0.0
    return P > 1


cdef inline int open_lane_apart(const Job *job, Memory memory, int64_t longest,
                                Work *w) except -1:
    cdef int64_t width = 2 * LANES * job.apart.S, batches = longest // APART_STEPS + LANES + 2
    cdef LaneApart *a = &w.apart
    a.model, a.mask = &job.apart, w.mask
    a.enter = memory.table(longest, width)
    a.after = memory.table(w.mask + 1 if job.gamma != NULL else 1, width)
    a.tails, a.runs = memory.table(batches, width), memory.table(batches, width)
    return 0


cdef inline void first_apart(const Job *job, Work *w) noexcept nogil:
    """Step 0, all of whose product comes after it."""
    cdef LaneApart *a = &w.apart
    cdef const ApartModel *m = &job.apart
    cdef int64_t i, k, l, at
    cdef int power
    cdef double begin
    for k in range(m.S):
        for l in range(LANES):
            at = 2 * LANES * k + l
            a.x[at] = a.enter[at] = 0.0
            a.x[at + LANES] = a.enter[at + LANES] = NOTHING
            a.runs[at], a.runs[at + LANES] = 1.0, 0.0
            a.run[at] = 2.0 * frexp(m.step[k] * w.emit[k * LANES + l], &power)
            a.run[at + LANES] = power - 1
    for i in range(m.S):
        begin = job.start[i] / m.step[i]
        if job.g.start_nodes[i] >= 0 and begin > 0.0:
            k = job.compact.place[job.g.start_nodes[i]]
            for l in range(LANES):
                at = 2 * LANES * (k if k < m.S else k - m.S) + l
                if k < m.S:
                    a.x[at], a.x[at + LANES] = begin, 0.0
                else:
                    a.enter[at], a.enter[at + LANES] = begin, 0.0
    for at in range(2 * LANES * m.S):
        a.tails[at] = a.x[at]


cdef inline void end_lanes(const Job *job, const Group *group, Work *w, int64_t T) noexcept nogil:
    """The sums over all paths of the sequences that end before step T."""
    cdef LaneApart *a = &w.apart
    cdef const ApartModel *m = &job.apart
    cdef int64_t k, l, at, s
    cdef double inside[8][16]
    cdef double x, e
    cdef bint any_ends = False
    for l in range(group.n):
        any_ends = any_ends or group.length[l] == T
    if not any_ends:
        return
    for k in range(m.S):
        lanes_apart_inside(a, k, max(T - m.delay, 0), T, inside[k])
    for l in range(LANES):
        if group.length[l] != T:
            continue
        x, e = 0.0, NOTHING
        for k in range(m.S):
            at = 2 * LANES * k + l
            a.ends[at], a.ends[at + LANES] = a.run[at], a.run[at + LANES]
            add_up(&x, &e, a.x[at] * a.run[at] * m.final[k], a.x[at + LANES] + a.run[at + LANES])
            add_up(&x, &e, inside[k][l] * a.run[at] * m.final_inside[k],
                   inside[k][l + LANES] + a.run[at + LANES])
        a.norm_x[l] = a.norm_e[l] = 0.0
        s = group.sequence[l]
        if l < group.n:
            job.log_z[s] = -INFINITY
        if x > 0.0:
            a.norm_x[l], a.norm_e[l] = 1.0 / x, -e
            if l < group.n:
                job.log_z[s] = w.total[l] + e * M_LN2 + log(x)


cdef inline int64_t apart_forward(const Job *job, const Group *group, Work *w) noexcept nogil:
    """How many batches there are."""
    cdef int64_t T = group.length[0], t = 1, n, batch = 1, width = job.g.n_states * LANES
    first_apart(job, w)
    end_lanes(job, group, w, 1)
    w.live = 1
    w.ahead.begin[0] = 0
    while t < T:
        n = min(group.length[active_at(group, t) - 1] - t, APART_STEPS)
        if not lanes_apart_ahead(&w.apart, batch, t, n, w.emit + t * width):
            w.live = batch + 1
        w.ahead.begin[batch] = t
        t += n
        batch += 1
        end_lanes(job, group, w, t)
        if stopped(&w.watch, n):
            break
    return batch


cdef inline void wake_lanes(const Job *job, const Group *group, Work *w, int64_t T) noexcept nogil:
    """Sequences whose last step is T - 1."""
    cdef LaneApart *a = &w.apart
    cdef const ApartModel *m = &job.apart
    cdef int64_t k, l, at, row = 2 * LANES * m.S * ((T - 1) & a.mask)
    for l in range(LANES):
        if group.length[l] != T:
            continue
        for k in range(m.S):
            at = 2 * LANES * k + l
            a.x[at] = a.ends[at] * m.final[k]
            a.x[at + LANES] = a.ends[at + LANES] if m.final[k] > 0.0 else NOTHING
            a.after[row + at], a.after[row + at + LANES] = a.x[at], a.x[at + LANES]


cdef inline void apart_backward(const Job *job, const Group *group, Work *w,
                                int64_t batch) noexcept nogil:
    """Posteriors of entering lines, and in place of emissions those of tails."""
    cdef LaneApart *a = &w.apart
    cdef const ApartModel *m = &job.apart
    cdef int64_t end = group.length[0], t, k, width = m.S * LANES, shortest = end, l
    cdef int inside
    memset(a.x, 0, sizeof(a.x))
    for k in range(m.S):
        set_nothing(a.x + 2 * LANES * k + LANES, 1)
        for l in range(LANES):
            a.beyond[2 * LANES * k + l] = a.ends[2 * LANES * k + l] * m.final_inside[k]
            a.beyond[2 * LANES * k + LANES + l] = (
                a.ends[2 * LANES * k + LANES + l] if m.final_inside[k] > 0.0 else NOTHING)
    for l in range(LANES):
        a.lengths[l] = group.length[l]
        shortest = min(shortest, group.length[l])
    while batch > 0:
        batch -= 1
        t = w.ahead.begin[batch]
        wake_lanes(job, group, w, end)
        if 0 < batch < w.live:
            memset(w.emit + t * width, 0, (end - t) * width * sizeof(double))
        else:
            inside = 0 if end - 1 + m.delay < shortest else (
                1 if t + m.delay >= group.length[0] else 2)
            lanes_apart_back(a, batch, t, end - t, w.emit + t * width, inside)
        if stopped(&w.watch, end - t):
            return
        end = t
