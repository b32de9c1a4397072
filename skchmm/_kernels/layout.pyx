"""The arrays of an augmented graph, held once so that a kernel call does not unpack them."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import os

import numpy as np

# The instruction set: 0 plain C, 1 AVX2, 2 AVX-512; the best there is unless told otherwise.
cdef const Steps *STEPS = choose_steps(int(os.environ.get("SKCHMM_SIMD", 2)))


cdef const Steps *steps() noexcept nogil:
    return STEPS


def instruction_set():
    """What the kernels run on: "plain", "avx2" or "avx512"."""
    return STEPS.name.decode()


def use_instruction_set(int at_most):
    """Choose 0 (plain C), 1 (AVX2) or 2 (AVX-512), as far as the processor has it."""
    global STEPS
    STEPS = choose_steps(at_most)
    return instruction_set()


cdef double *new_table(int64_t n_rows, int64_t stride) except NULL:
    """Rows that may be read 8 elements beyond either end, where there are zeros.

    They begin on a cache line: a vector that lies across two costs twice.
    """
    cdef int64_t n = n_rows * stride
    cdef char *memory = <char *> malloc((n + 24) * sizeof(double))
    cdef double *rows
    if memory == NULL:
        raise MemoryError
    rows = <double *> (memory + 128 - (<uintptr_t> memory) % 64)
    (<void **> rows)[-9] = memory  # for free_rows; 8 elements lie between
    memset(rows - 8, 0, 8 * sizeof(double))
    memset(rows + n, 0, 8 * sizeof(double))
    return rows


cdef double *new_rows(int64_t n_rows, int64_t stride) except NULL:
    """The same with zeros everywhere."""
    cdef double *rows = new_table(n_rows, stride)
    memset(rows, 0, n_rows * stride * sizeof(double))
    return rows


cdef void free_rows(double *rows) noexcept:
    if rows != NULL:
        free((<void **> rows)[-9])


cdef class Layout:
    """Pointers into the arrays of an AugmentedGraph (which are kept alive here)."""

    def __init__(self, node_states, start_nodes, accept, epochs, indptr, sources, ahead, back):
        # A pointer needs at least one element to point at.
        def held(array, dtype):
            array = np.ascontiguousarray(array, dtype=dtype)
            return array if array.size else np.zeros(1, dtype=dtype)

        self.arrays = [held(node_states, np.int32), held(start_nodes, np.int32),
                       held(accept, np.uint8), held(epochs, np.int64),
                       held(np.ravel(indptr), np.int32), held(sources, np.int32)]
        cdef const int32_t[::1] states_view = self.arrays[0], starts_view = self.arrays[1]
        cdef const uint8_t[::1] accept_view = self.arrays[2]
        cdef const int64_t[::1] epochs_view = self.arrays[3]
        cdef const int32_t[::1] indptr_view = self.arrays[4], sources_view = self.arrays[5]
        self.graph.n_nodes = len(node_states)
        self.graph.n_states = len(start_nodes)
        self.graph.n_epochs = len(epochs)
        self.graph.stride = 8 * ahead.n_blocks
        self.graph.plain = np.array_equal(node_states, np.arange(len(start_nodes)))
        self.graph.node_states = &states_view[0]
        self.graph.start_nodes = &starts_view[0]
        self.graph.accept = &accept_view[0]
        self.graph.epochs = &epochs_view[0]
        self.graph.indptr = &indptr_view[0]
        self.graph.sources = &sources_view[0]
        self.hold_blocks(&self.graph.ahead, ahead, held)
        self.hold_blocks(&self.graph.back, back, held)

    cdef hold_blocks(self, Blocks *blocks, python_blocks, held):
        arrays = [held(getattr(python_blocks, name), np.int32)
                  for name in ("start", "shifted", "source")]
        self.arrays += arrays
        cdef const int32_t[::1] start = arrays[0], shifted = arrays[1], source = arrays[2]
        blocks.n_blocks = python_blocks.n_blocks
        blocks.start, blocks.shifted, blocks.source = &start[0], &shifted[0], &source[0]
