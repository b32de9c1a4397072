/* What threads may do to a number at the same time. */
#ifndef SKCHMM_ATOMICS_H
#define SKCHMM_ATOMICS_H

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define THREAD_LOCAL __declspec(thread)
#define PAUSE() _mm_pause()
#define ATOMIC_LOAD(p) _InterlockedOr((p), 0)
#define ATOMIC_SWAP(p, value) _InterlockedExchange((p), (value))
#define ATOMIC_SWAP_IF(p, old, value) (_InterlockedCompareExchange((p), (value), (old)) == (old))
#define ATOMIC_ADD(p, n) (_InterlockedExchangeAdd((p), (n)) + (n))
#define ATOMIC_NEXT(p) _InterlockedExchangeAdd64((p), 1)
#else
#define THREAD_LOCAL __thread
#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif
#define ATOMIC_LOAD(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define ATOMIC_SWAP(p, value) __atomic_exchange_n((p), (value), __ATOMIC_SEQ_CST)
#define ATOMIC_SWAP_IF(p, old, value) __sync_bool_compare_and_swap((p), (old), (value))
#define ATOMIC_ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define ATOMIC_NEXT(p) __atomic_fetch_add((p), 1, __ATOMIC_SEQ_CST)
#endif

#endif
