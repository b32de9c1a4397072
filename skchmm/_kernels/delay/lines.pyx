"""The arrays of a graph's delay lines, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t

from ..shared.layout cimport hold

import numpy as np


cdef class Lines:
    """Pointers into arrays (which are kept alive here); see `Core` in lines.h and graph/delays.py.

    `states` are those of the places, -1 where they were filled up.
    """

    def __init__(self, n_plain, nodes, states, place, first, sources, edges, delay, tail, through,
                 arriving, into, inside, blocks):
        cdef Core *core = &self.core
        self.arrays = []
        core.n_plain, core.n_places, core.n_lines = n_plain, len(nodes), len(delay)
        core.n_heads = len(nodes) // 8 - n_plain
        core.aligned = np.array_equal(tail, np.arange(len(tail)))
        core.longest = max(delay)
        core.same = core.longest if min(delay) == core.longest else 0
        core.blocks.n_blocks = blocks.n_blocks
        core.blocks.start = self.numbers(blocks.start)
        core.blocks.shifted = self.numbers(blocks.shifted)
        core.blocks.source = self.numbers(blocks.source)
        core.nodes, core.place = self.numbers(nodes), self.numbers(place)
        core.states = self.numbers(np.maximum(states, 0))
        core.first, core.sources = self.numbers(first), self.numbers(sources)
        core.edges, core.tail = self.numbers(edges), self.numbers(tail)
        core.through = self.numbers(through)
        core.arriving, core.into = self.numbers(arriving), self.numbers(into)
        core.inside = self.numbers(inside)
        core.delay = <const int64_t *> hold(self.arrays, delay, np.int64)
        begin = np.concatenate([[0], np.cumsum(delay)])
        core.begin = <const int64_t *> hold(self.arrays, begin, np.int64)
        by_block = np.reshape(states, (-1, 8))
        starts, lanes = by_block[:, 0], np.arange(8)
        core.by_state = bool(((by_block < 0) | (by_block == starts[:, None] + lanes)).all())
        core.emit = self.numbers(
            np.maximum(starts, 0) if core.by_state else 8 * np.arange(len(starts)))

    cdef const int32_t *numbers(self, array) except NULL:
        return <const int32_t *> hold(self.arrays, array, np.int32)

    @property
    def n_lines(self):
        return self.core.n_lines

    @property
    def n_blocks(self):
        """Of the places."""
        return self.core.n_places // 8
