/* Results below 2.2e-308 become 0 from faint_off() on, in this thread, until faint_back(): an Intel
 * processor takes 150 cycles for one of them. Kernels of probabilities take none of that size for exact:
 * they keep what counts far above it, or leave the sequence to another kernel. */
#ifndef SKCHMM_FAINT_H
#define SKCHMM_FAINT_H

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#define FLUSH_TO_ZERO 0x8000u
static inline unsigned faint_off(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_TO_ZERO);
    return before;
}
static inline void faint_back(unsigned before) { _mm_setcsr(before); }
#else /* other processors are as fast with them */
static inline unsigned faint_off(void) { return 0; }
static inline void faint_back(unsigned before) { (void)before; }
#endif

#endif
