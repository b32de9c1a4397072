"""Where the nodes of a small graph lie in rows of vectors; see small_graph.pxd."""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    MOST = 16                    # places
    MOST_DEPTH = 4               # nodes of a line


cdef struct Places:
    int64_t n
    int64_t width                # 8 or 16
    int64_t depth                # nodes of the longest line, 1 without any
    bint in_order                # places are states
    bint band
    int64_t source               # of the edge beside the band, by place, or -1
    int64_t target
    int32_t before[8]            # of each of up to 8 places in a band, the one that leads to it,
    int32_t after[8]             # and that it leads to
    int32_t place[MOST]          # of each node
    int32_t row[MOST]            # of each node: how many nodes of its line are before it
    int32_t length[MOST]         # of each place: nodes of its line, or 1
    int32_t state[MOST]          # of each place
