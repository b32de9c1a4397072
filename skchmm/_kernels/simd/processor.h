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

#if defined(SKCHMM_X86)
#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#include <intrin.h>
#define CPUID(leaf, r) __cpuidex((int *)(r), (leaf), 0)
#define SAVED_REGISTERS() ((unsigned)_xgetbv(0))
#else
#include <cpuid.h>
#define CPUID(leaf, r) __cpuid_count((leaf), 0, (r)[0], (r)[1], (r)[2], (r)[3])
static unsigned SAVED_REGISTERS(void)
{
    unsigned low, high;
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}
#endif
#define BIT(word, k) ((word) >> (k) & 1)
/* By the processor, and by the system, which has to save the registers of a thread. */
static int processor_level(void)
{
    unsigned r[4], more[4], saved;
    CPUID(0, r);
    if (r[0] < 7)
        return 0;
    CPUID(1, r);
    if (!BIT(r[2], 27) || !BIT(r[2], 28) || !BIT(r[2], 12)) /* XGETBV, AVX, FMA */
        return 0;
    CPUID(7, more);
    saved = SAVED_REGISTERS();
    if ((saved & 0x06) != 0x06 || !BIT(more[1], 5)) /* AVX2 */
        return 0;
    return (saved & 0xE6) == 0xE6 && BIT(more[1], 16) && BIT(more[1], 17) ? 2 : 1; /* AVX-512 F, DQ */
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
