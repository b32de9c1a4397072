/* Which level of vector instructions, see levels.h, the processor has. */
#ifndef SKCHMM_PROCESSOR_H
#define SKCHMM_PROCESSOR_H

#include "simd/levels.h"

#if defined(SKCHMM_ARM)
#define LEVEL_NAMES "plain", "neon", "neon"
#else
#define LEVEL_NAMES "plain", "avx2", "avx512"
#endif
static const char *const level_names[3] = {LEVEL_NAMES};

#if defined(SKCHMM_X86) && defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
/* By the processor, and by the system, which has to save the registers of a thread. */
static int processor_level(void)
{
    int first[4], more[4];
    unsigned long long saved;
    __cpuid(first, 0);
    if (first[0] < 7)
        return 0;
    __cpuidex(first, 1, 0);
    if (!(first[2] >> 27 & 1)) /* the system saves more than SSE's */
        return 0;
    saved = _xgetbv(0);
    __cpuidex(more, 7, 0);
    if ((saved & 0x06) != 0x06 || !(more[1] >> 5 & 1) || !(first[2] >> 12 & 1)) /* AVX2, FMA */
        return 0;
    return (saved & 0xE6) == 0xE6 && (more[1] >> 16 & 1) && (more[1] >> 17 & 1) ? 2 : 1; /* F, DQ */
}
#elif defined(SKCHMM_X86)
static int processor_level(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? 2 : 1;
}
#elif defined(SKCHMM_ARM)
static int processor_level(void)
{
    return 1;
}
#else
static int processor_level(void)
{
    return 0;
}
#endif

/* The best there is, but not beyond `at_most`. */
static int best_level(int at_most)
{
    int level = processor_level();
    return at_most < 0 ? 0 : at_most < level ? at_most : level;
}

#endif
