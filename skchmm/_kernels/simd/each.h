/* Compiles the header that STEPS names once for every instruction set. That header includes this one
 * where ISA is not defined, and has the steps where it is. VECTORS_ONLY: plain C only where there is
 * nothing else. */
#if !defined(VECTORS_ONLY) || !(defined(SKCHMM_X86) || defined(SKCHMM_ARM))
#define ISA plain
#define TARGET
#include STEPS
#undef ISA
#undef TARGET
#endif

#ifdef SKCHMM_X86
#define ISA avx2
#define TARGET TARGET_AVX2
#include STEPS
#undef ISA
#undef TARGET

#define ISA avx512
#define TARGET TARGET_AVX512
#include STEPS
#undef ISA
#undef TARGET
#endif

#ifdef SKCHMM_ARM
#define ISA neon
#define TARGET TARGET_NEON
#include STEPS
#undef ISA
#undef TARGET
#endif

#undef STEPS
