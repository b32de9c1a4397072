"""Which instruction set the vector steps of the kernels run on."""
import os

cdef extern from *:
    """
    /* The best there is, but not beyond `at_most`: 0 plain C, 1 AVX2, 2 AVX-512. */
    static int best_instructions(int at_most)
    {
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
        __builtin_cpu_init();
        if (at_most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
            return 2;
        if (at_most >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            return 1;
    #endif
        (void)at_most;
        return 0;
    }
    """
    int best_instructions(int at_most)

# One number, which every kernel looks at before a run of steps.
cdef int in_use = best_instructions(int(os.environ.get("SKCHMM_SIMD", 2)))


cdef const int *instructions_in_use() noexcept nogil:
    return &in_use


def instruction_set():
    """What the kernels run on: "plain", "avx2" or "avx512"."""
    return ("plain", "avx2", "avx512")[in_use]


def use_instruction_set(int at_most):
    """Choose 0 (plain C), 1 (AVX2) or 2 (AVX-512), as far as the processor has it."""
    global in_use
    in_use = best_instructions(at_most)
    return instruction_set()
