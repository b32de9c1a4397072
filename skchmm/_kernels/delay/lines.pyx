"""The arrays of a graph's delay lines, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport Blocks, hold

import numpy as np


cdef bint tails_before_heads(const Core *c):
    """Whether tails have edges from themselves alone, and heads from tails, one row each."""
    cdef const Blocks *b = &c.blocks
    return (c.aligned and c.same > 0 and c.n_plain == 1 and c.n_heads == 1 and b.start[1] == 1
            and b.shifted[0] == 0 and b.source[0] == 0 and b.shifted[1] == b.start[2])


cdef class Lines:
    """Pointers into arrays (which are kept alive here); see `Core` in lines.h and graph/delays.py.

    `states` are those of the places, -1 where they were filled up. `direct` says whether there are
    two blocks of places, and in both place m is the one of state m. `uniform`: besides, all lines
    have one delay, tails have edges from themselves alone, and heads from tails: minimum durations.
    `log_final` is what a path scores that ends in one of `inside`.
    """

    def __init__(self, n_states, n_plain, nodes, states, place, first, sources, edges, delay, tail,
                 through, arriving, into, inside, log_final, blocks, back):
        cdef Core *core = &self.core
        self.arrays = []
        core.n_plain, core.n_places, core.n_lines = n_plain, len(nodes), len(delay)
        core.n_heads = len(nodes) // 8 - n_plain
        core.aligned = len(tail) <= 8 * n_plain and np.array_equal(tail, np.arange(len(tail)))
        core.longest = max(delay)
        core.same = core.longest if min(delay) == core.longest else 0
        self.hold_blocks(&core.blocks, blocks)
        self.hold_blocks(&core.back, back)
        core.nodes, core.place = self.numbers(nodes), self.numbers(place)
        core.states = self.numbers(np.maximum(states, 0))
        core.first, core.sources = self.numbers(first), self.numbers(sources)
        core.edges, core.tail = self.numbers(edges), self.numbers(tail)
        core.through = self.numbers(through)
        core.arriving, core.into = self.numbers(arriving), self.numbers(into)
        core.inside = self.numbers(inside)
        begin = np.concatenate([[0], np.cumsum(delay)])
        core.open = not log_final.any()
        core.ends_alike = np.array_equal(log_final, np.repeat(log_final[begin[:-1]], delay))
        core.delay = <const int64_t *> hold(self.arrays, delay, np.int64)
        core.begin = <const int64_t *> hold(self.arrays, begin, np.int64)
        by_block = np.reshape(states, (-1, 8))
        starts, lanes = by_block[:, 0], np.arange(8)
        core.by_state = bool(((by_block < 0) | (by_block == starts[:, None] + lanes)).all())
        core.emit = self.numbers(
            np.maximum(starts, 0) if core.by_state else 8 * np.arange(len(starts)))
        each = np.where(lanes < n_states, lanes, -1)
        self.direct = by_block.shape == (2, 8) and bool((by_block == each).all())
        self.uniform = self.direct and tails_before_heads(core)

    cdef const int32_t *numbers(self, array) except NULL:
        return <const int32_t *> hold(self.arrays, array, np.int32)

    cdef hold_blocks(self, Blocks *held, blocks):
        held.n_blocks = blocks.n_blocks
        held.start = self.numbers(blocks.start)
        held.shifted = self.numbers(blocks.shifted)
        held.source = self.numbers(blocks.source)

    @property
    def n_lines(self):
        return self.core.n_lines

    @property
    def n_blocks(self):
        """Of the places."""
        return self.core.n_places // 8
