/* What threads may do to a number at the same time. All of it is sequentially consistent. */
#ifndef SKCHMM_ATOMICS_H
#define SKCHMM_ATOMICS_H

#if defined(__GNUC__) || defined(__clang__)
#define THREAD_LOCAL __thread
#define ATOMIC_LOAD(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define ATOMIC_SWAP(p, value) __atomic_exchange_n((p), (value), __ATOMIC_SEQ_CST)
#define ATOMIC_SWAP_IF(p, old, value) __sync_bool_compare_and_swap((p), (old), (value))
#define ATOMIC_ADD(p, n) __atomic_add_fetch((p), (n), __ATOMIC_SEQ_CST)
#define ATOMIC_NEXT(p) __atomic_fetch_add((p), 1, __ATOMIC_SEQ_CST)
#elif defined(_MSC_VER)
#include <intrin.h>
#define THREAD_LOCAL __declspec(thread)
#define ATOMIC_LOAD(p) _InterlockedOr((p), 0)
#define ATOMIC_SWAP(p, value) _InterlockedExchange((p), (value))
#define ATOMIC_SWAP_IF(p, old, value) (_InterlockedCompareExchange((p), (value), (old)) == (old))
#define ATOMIC_ADD(p, n) (_InterlockedExchangeAdd((p), (n)) + (n))
#define ATOMIC_NEXT(p) _InterlockedExchangeAdd64((p), 1)
#else /* C11, where an atomic number looks as others do */
#include <stdatomic.h>
#include <stdint.h>
#define THREAD_LOCAL _Thread_local
#define ATOMIC_LOAD(p) atomic_load((_Atomic long *)(p))
#define ATOMIC_SWAP(p, value) atomic_exchange((_Atomic long *)(p), (value))
#define ATOMIC_SWAP_IF(p, old, value) \
    atomic_compare_exchange_strong((_Atomic long *)(p), &(long){old}, (value))
#define ATOMIC_ADD(p, n) (atomic_fetch_add((_Atomic long *)(p), (n)) + (n))
#define ATOMIC_NEXT(p) atomic_fetch_add((_Atomic int64_t *)(p), 1)
#endif

/* Lets the other half of a core work, for some ten nanoseconds. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__)
#define PAUSE() __asm__ __volatile__("isb")
#elif defined(_M_X64)
#define PAUSE() _mm_pause()
#elif defined(_M_ARM64)
#define PAUSE() __isb(_ARM64_BARRIER_SY)
#else
#define PAUSE() ((void)0)
#endif

#endif
