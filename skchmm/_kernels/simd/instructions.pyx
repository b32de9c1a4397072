"""Which level of vector instructions the steps of the kernels run on."""
import os

cdef extern from "simd/processor.h" nogil:
    const char **level_names
    int best_level(int at_most)


LEVELS = {"plain": 0, "avx2": 1, "neon": 1, "avx512": 2}


def _limit(text):
    """The level that SKCHMM_SIMD names."""
    name = text.strip().lower()
    if name in ("0", "1", "2"):
        return int(name)
    if name not in LEVELS:
        raise ValueError(
            f"the environment variable SKCHMM_SIMD is {text!r}; it may be one of "
            f"{', '.join(LEVELS)}, or not set"
        )
    return LEVELS[name]


# One number, which every kernel looks at before a run of steps.
cdef int in_use = best_level(_limit(os.environ.get("SKCHMM_SIMD") or "avx512"))


cdef const int *instructions_in_use() noexcept nogil:
    return &in_use


def instruction_set():
    """What the kernels run on: "plain", "avx2", "avx512" or "neon"."""
    return level_names[in_use].decode()


def use_instruction_set(int at_most):
    """Choose 0 (plain C), 1 (AVX2 or NEON) or 2 (AVX-512), as far as the processor has it."""
    global in_use
    in_use = best_level(at_most)
    return instruction_set()
