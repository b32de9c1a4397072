"""The way back along the best path of delay/viterbi.pyx.

Where nodes of one state are as good, all of them are followed until the labels before them decide;
see shared/ties.pxd. Inside a line there is only one way.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from ..shared.memory cimport Memory
from .grid cimport whole
from .lines cimport Core


cdef struct Member:
    int32_t place                # of the core; or a line,
    int32_t k                    # of whose nodes it is this one; -1: a place that is no head


cdef struct Trail:
    Member *members              # of one state, at step t
    int64_t n
    Member *found                # those of the step before
    int64_t n_found
    int32_t found_state
    int64_t *marks               # of each place, the step in which it was found
    int64_t step
    int32_t state
    double top
    int64_t t
    int64_t *path                # states, written up to step t


cdef struct Notes:
    int64_t begin                # the first step of the chunk
    const double *values         # from the row before it on
    int64_t width
    const uint8_t *notes
    int64_t n_notes
    int lane                     # of 8 sequences side by side, which one; -1: there is only one


cdef inline bint edge_is_better(const Notes *notes, const uint8_t *row,
                                int64_t place) noexcept nogil:
    """Whether an edge into a place is better than all lines into it, in a step's row of notes."""
    if notes.lane >= 0:
        return row[2 * place] >> notes.lane & 1
    return row[2 * (place // 8)] >> (place % 8) & 1


cdef inline bint line_is_better(const Notes *notes, const uint8_t *row,
                                int64_t place) noexcept nogil:
    return edge_is_better(notes, row + 1, place)


cdef inline bint among_best(const Core *c, const Notes *notes, const uint8_t *row,
                            int64_t line) noexcept nogil:
    """Whether a line is among the best ones into its tail."""
    if c.aligned:
        return True
    if notes.lane >= 0:
        return row[2 * c.n_places + line] >> notes.lane & 1
    return row[2 * (c.n_places // 8) + line // 8] >> (line % 8) & 1


cdef inline int open_trail(Trail *trail, Memory memory, const Core *core,
                           int64_t longest) except -1:
    """Every place, and all nodes of lines that a sequence can be inside of."""
    cdef int64_t l, n = core.n_places
    for l in range(core.n_lines):
        n += min(core.delay[l], longest)
    trail.members = <Member *> memory.room(n * sizeof(Member))
    trail.found = <Member *> memory.room(n * sizeof(Member))
    trail.marks = <int64_t *> memory.room(core.n_places * sizeof(int64_t))
    trail.step = trail.n = 0
    for l in range(core.n_places):
        trail.marks[l] = -1
    return 0


cdef inline void add(Trail *trail, int32_t state, int32_t place, int32_t k) noexcept nogil:
    """One more member of the step before; only those of the lowest state are kept."""
    if trail.n_found > 0:
        if state > trail.found_state:
            return
        if state < trail.found_state:
            trail.n_found = 0
    if k < 0:
        if trail.marks[place] == trail.step and trail.n_found > 0:
            return
        trail.marks[place] = trail.step
    trail.found_state = state
    trail.found[trail.n_found].place, trail.found[trail.n_found].k = place, k
    trail.n_found += 1


cdef inline bint end_in(Trail *trail, double value, int32_t state, int32_t place,
                        int32_t k) noexcept nogil:
    """One more end; whether it is the first of the best so far."""
    cdef bint first = value > trail.top or (
        value == trail.top and value > -INFINITY and state < trail.state)
    if first:
        trail.n, trail.top, trail.state = 0, value, state
    if value > -INFINITY and value == trail.top and state == trail.state:
        trail.members[trail.n].place, trail.members[trail.n].k = place, k
        trail.n += 1
    return first


cdef inline void step_into(const Core *c, double scale, const double *log_weights,
                           const Notes *notes, int64_t t, int64_t place,
                           Trail *trail) noexcept nogil:
    """The best nodes before a place at step t."""
    cdef const uint8_t *row = notes.notes + (t - notes.begin) * notes.n_notes
    cdef const double *before = notes.values + (t - notes.begin) * notes.width
    cdef int64_t k, l, stride = 1
    cdef bint edges = True, lines = c.arriving[place] < c.arriving[place + 1]
    cdef double top = -INFINITY, value
    if notes.lane >= 0:
        before += notes.lane
        stride = 8
    if lines:
        edges = not line_is_better(notes, row, place)
        lines = not edge_is_better(notes, row, place)
    if edges:
        for k in range(c.first[place], c.first[place + 1]):
            value = before[stride * c.sources[k]] + whole(scale * log_weights[c.edges[k]])
            top = max(top, value)
        for k in range(c.first[place], c.first[place + 1]):
            value = before[stride * c.sources[k]] + whole(scale * log_weights[c.edges[k]])
            if value == top and top > -INFINITY:
                add(trail, c.states[c.sources[k]], c.sources[k], -1)
    if lines:
        for k in range(c.arriving[place], c.arriving[place + 1]):
            l = c.into[k]
            if among_best(c, notes, row, l):
                add(trail, c.states[place], <int32_t> l, <int32_t> (c.delay[l] - 1))


cdef inline int64_t stay(const Core *c, const Notes *notes, int64_t place, int64_t t,
                         int64_t state, int64_t *path) noexcept nogil:
    """Back in a tail whose only edge comes from itself, as long as its line is worse; to where."""
    cdef int64_t n = notes.n_notes
    cdef const uint8_t *row = notes.notes + (t - notes.begin) * n
    if (c.arriving[place] == c.arriving[place + 1]
            or c.first[place + 1] - c.first[place] != 1 or c.sources[c.first[place]] != place):
        return t
    while t >= notes.begin and edge_is_better(notes, row, place):
        t -= 1
        path[t] = state
        row -= n
    return t


cdef inline void trace(const Core *c, double scale, const double *log_weights, const Notes *notes,
                       Trail *trail) noexcept nogil:
    """Back to the step before the chunk, or inside a line further; the states of the path."""
    cdef int64_t i, t, k, place, heads = 8 * c.n_plain
    cdef Member *swap
    while trail.t >= notes.begin:
        t = trail.t
        if trail.n == 1 and trail.members[0].k > 0:
            for i in range(t - trail.members[0].k, t):
                trail.path[i] = trail.state
            t -= trail.members[0].k
            trail.members[0].k = 0
            trail.t = t
            continue
        if trail.n == 1 and trail.members[0].k < 0:
            trail.t = stay(c, notes, trail.members[0].place, t, trail.state, trail.path)
            if trail.t < t:
                continue
        trail.step += 1
        trail.n_found = 0
        for i in range(trail.n):
            k, place = trail.members[i].k, trail.members[i].place
            if k > 0:
                add(trail, trail.state, <int32_t> place, <int32_t> (k - 1))
            else:
                step_into(c, scale, log_weights, notes, t, place + heads if k == 0 else place,
                          trail)
        swap = trail.members
        trail.members, trail.n = trail.found, trail.n_found
        trail.found = swap
        trail.state = trail.found_state
        trail.t -= 1
        trail.path[trail.t] = trail.state
