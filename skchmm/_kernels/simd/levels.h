/* The levels of vector instructions: 0 is plain C; 1 is AVX2 or, on ARM, NEON; 2 is AVX-512. */
#ifndef SKCHMM_LEVELS_H
#define SKCHMM_LEVELS_H

/* GCC for Windows does not align vectors of more than 16 bytes on the stack: there it is plain C, as
 * with compilers that are not known. */
#if defined(__clang__) || defined(_MSC_VER) || (defined(__GNUC__) && !defined(_WIN32))
#if defined(__x86_64__) || defined(_M_X64)
#define SKCHMM_X86 1
#elif defined(__aarch64__) || defined(_M_ARM64)
#define SKCHMM_ARM 1
#endif
#endif

#endif
