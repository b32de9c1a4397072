"""The two ends of a sweep: what they need, and how they advance side by side; see two_ended.pyx."""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from .places cimport MOST, Places


cdef extern from "discrete/two_ended_steps.h" nogil:
    ctypedef struct Shape:
        int64_t n_places
        int64_t width
        int64_t n_terms
        int64_t depth
        bint band
        const double *inside
        const double *last

    ctypedef struct Change:
        int64_t at
        double exponents[16]

    ctypedef struct End:
        const double *weights
        double *scaled
        const double *reach
        int64_t jump
        const int32_t *from_ "from"
        const double *table
        int64_t stride
        const int32_t *rows
        double *left
        int64_t left_stride
        double *out
        int64_t out_stride
        int64_t n_out
        int64_t step
        int64_t at
        double row[16]
        double below[24]
        double past[24]
        double top
        double exponents[16]
        double theirs[16]
        double least[16]
        double floor
        double most
        double total
        Change *changes
        int64_t n_changes
        int64_t room
        double counts[256]

    enum:
        BATCH
        LOOK
    int BELOW
    double UNKNOWN, FLOOR
    int WALK, LEAVE, FINISH, COUNT
    bint SOUND(double total)
    void weigh(const Shape *shape, End *end)
    void sweep_run(int64_t n, const Shape *shape, int mode, End *ahead, End *back)
    bint convert(int64_t n, int64_t n_states, const double *rows, double log_lossy, double *out,
                 double *tops)
    void put_by_state(int64_t n, int64_t n_states, const int32_t *first, const double *rows,
                      int64_t stride, double *out, int64_t out_stride)


cdef struct Kept:
    # An end, before a section.
    double row[16]
    double exponents[16]


cdef struct Sweep:
    int64_t S
    Places places
    Shape shape
    int32_t *first               # of each state, the first place, or -1
    int64_t n_others             # places that are not the first of their state
    int32_t others[16]
    const double *log_table
    const int32_t *rows          # NULL: row t is step t
    double log_lossy
    const double *start          # by place
    const double *final
    const double *weights        # (width, width), by source and target
    double *table                # all of log_table converted, by place, or NULL: batch by batch
    double *tops
    int32_t in_turn[BATCH]       # 0, 1, 2 ...: rows of a batch
    double *gathered             # (BATCH, S)
    double *converted[2]         # (BATCH, S)
    double *emissions            # (2, BATCH, width)
    double *marginals            # (2, BATCH, width)
    double *gamma                # NULL: likelihoods alone
    double *left                 # rows of a section, or NULL: they are left in gamma
    int64_t left_first           # the step of the first of them
    int64_t section              # steps
    Kept *kept
    double joined[256]           # counts of transitions between sections, by place
    End ahead
    End back
    End idle


cdef inline bint place(Sweep *w, End *end, int64_t n, double *total) noexcept nogil:
    """Make the next n steps of an end ready, and add what their emissions were divided by.

    False if there is a lossy row among them.
    """
    cdef int64_t i, k, first, side = 0 if end.step > 0 else 1, width = w.places.width
    cdef double top = 0.0, second = 0.0
    cdef double tops[BATCH]
    cdef double *buffer = w.converted[side]
    cdef const double *log_rows
    if end.step == 0:
        return True
    if w.gamma != NULL:
        end.left, end.left_stride = w.gamma + end.at * w.S, w.S
        end.out, end.out_stride, end.n_out = end.left, w.S, w.S
        if w.left != NULL:
            end.left, end.left_stride = w.left + (end.at - w.left_first) * width, width
        if not w.places.in_order:
            end.out = w.marginals + (side * BATCH + (0 if end.step > 0 else n - 1)) * width
            end.out_stride = end.n_out = width
    if w.table != NULL:
        end.table, end.stride, end.rows = w.table, width, w.rows + end.at
        for i in range(0, n - 1, 2):
            top += w.tops[end.rows[i * end.step]]
            second += w.tops[end.rows[(i + 1) * end.step]]
        if n % 2:
            top += w.tops[end.rows[(n - 1) * end.step]]
        total[0] += top + second
        return True  # lossy rows are NaN
    first = end.at if end.step > 0 else end.at - (n - 1)
    end.table, end.stride, end.rows = buffer, w.S, w.in_turn + (0 if end.step > 0 else n - 1)
    log_rows = w.log_table + first * w.S
    if w.rows != NULL:
        log_rows = w.gathered
        for i in range(n):
            memcpy(w.gathered + i * w.S, w.log_table + w.rows[first + i] * w.S,
                   w.S * sizeof(double))
    if convert(n, w.S, log_rows, w.log_lossy, buffer, tops):
        memset(buffer, 0, BATCH * w.S * sizeof(double))
        return False
    if not w.places.in_order:
        end.table, end.stride = w.emissions + side * BATCH * width, width
        for i in range(n):
            for k in range(w.places.n):
                (<double *> end.table)[i * width + k] = buffer[i * w.S + w.places.state[k]]
    for i in range(n):
        top += tops[i]
    total[0] += top
    return True


cdef inline void add_up(const Sweep *w, const End *end, int64_t n) noexcept nogil:
    """The marginals of the last n steps of an end, by state."""
    cdef int64_t _step, k
    cdef const int32_t *first = w.first
    cdef double *gamma = w.gamma + end.at * w.S
    cdef const double *row = end.out
    if end.step == 0:
        return
    if w.S <= MOST and w.n_others == 0:
        put_by_state(n, w.S, w.first, row, end.step * end.out_stride, gamma, end.step * w.S)
        return
    for _step in range(n):
        for k in range(w.S):
            gamma[k] = row[first[k]] if first[k] >= 0 else 0.0
        for k in range(w.n_others):
            gamma[w.places.state[w.others[k]]] += row[w.others[k]]
        gamma += end.step * w.S
        row += end.step * end.out_stride


cdef inline bint sound(const End *end) noexcept nogil:
    """Whether nothing can have been lost so far."""
    cdef int64_t k
    cdef double least = INFINITY
    for k in range(MOST):
        least = min(least, end.least[k])
    return end.step == 0 or least >= end.floor and SOUND(end.total) and end.most <= 1.0 / FLOOR


cdef inline int64_t within_change(End *end, End *other, int64_t n) noexcept nogil:
    """How many of the next n steps of an end have rows of the other with the same exponents."""
    cdef const Change *last
    if end.step == 0:
        return n
    while end.step * (end.at - other.changes[other.n_changes - 1].at) > 0:
        other.n_changes -= 1
    last = other.changes + other.n_changes - 1
    memcpy(end.theirs, last.exponents, sizeof(end.theirs))
    return min(n, end.step * (last.at - end.at) + 1)


cdef inline bint advance(Sweep *w, End *ahead, End *back, int64_t n, int mode,
                         double *total) noexcept nogil:
    """n steps of both; False if they cannot be relied on."""
    cdef int64_t m
    while n > 0:
        m = min(n, BATCH)
        if mode >= FINISH:
            m = within_change(ahead, &w.back, within_change(back, &w.ahead, m))
        if not (place(w, ahead, m, total) and place(w, back, m, total)):
            return False
        sweep_run(m, &w.shape, mode, ahead, back)
        if mode >= FINISH and not w.places.in_order:
            add_up(w, ahead, m)
            add_up(w, back, m)
        ahead.at += m * ahead.step
        back.at += m * back.step
        if not (sound(ahead) and sound(back)):
            return False
        n -= m
    return True


cdef inline void begin_leaving(End *end) noexcept nogil:
    """From here on changes are noted."""
    end.changes[0].at = end.at
    memcpy(end.changes[0].exponents, end.exponents, sizeof(end.exponents))
    end.n_changes = 1


cdef inline bint begin_at(Sweep *w, End *end, int64_t at, const double *sums,
                          double *total) noexcept nogil:
    """The first row of an end."""
    cdef int64_t k
    cdef const double *emission
    end.at, end.floor, end.most, end.total = at, FLOOR, 0.0, 0.0
    memset(end.exponents, 0, sizeof(end.exponents))
    memset(end.row, 0, sizeof(end.row))
    memset(end.below, 0, sizeof(end.below))
    weigh(&w.shape, end)
    begin_leaving(end)
    if not place(w, end, 1, total):
        return False
    emission = end.table + end.rows[0] * end.stride
    for k in range(w.places.n):
        end.row[k] = sums[k] * emission[k]
        end.total += end.row[k]
        end.least[k] = sums[k] if sums[k] > 0.0 else INFINITY
        if w.gamma != NULL:
            end.left[k] = end.row[k] if w.places.length[k] == 1 else 0.0
    end.at += end.step
    return sound(end)
