/* A vector of 8 doubles, under one set of names for every instruction set.
 *
 * Steps of a recursion are written once, with the names below, in a header of their own; each.h
 * compiles that header for every instruction set, and DISPATCH calls what the processor has. A
 * further instruction set is one more header like plain.h, which says what the names mean.
 *
 * What all of them add, multiply and compare is the same, in the same order, so best paths do not
 * depend on the processor; sums may in the last bits, where one of them fuses a product and a sum.
 */
#ifndef SKCHMM_VECTOR_H
#define SKCHMM_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simd/levels.h"

#if defined(__GNUC__) || defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define RARELY(condition) __builtin_expect((condition), 0)
#define SOON_WRITTEN(p) __builtin_prefetch((p), 1)
#elif defined(_MSC_VER)
#define INLINE static __forceinline
#define RARELY(condition) (condition)
#define SOON_WRITTEN(p)
#else
#define INLINE static inline
#define RARELY(condition) (condition)
#define SOON_WRITTEN(p)
#endif

#define JOIN_NAMES(f, isa) f##_##isa
#define JOIN(f, isa) JOIN_NAMES(f, isa)
#define NAME(f) JOIN(f, ISA)            /* f for the instruction set that is compiled */
#define W8 NAME(Vector)

/* Before a loop of constant length over vectors that are to stay in registers; plain C has none. */
#if defined(__clang__)
#define UNROLLED_vectors _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLLED_vectors _Pragma("GCC unroll 8")
#else
#define UNROLLED_vectors
#endif
#define UNROLLED_plain
#define UNROLLED_avx2 UNROLLED_vectors
#define UNROLLED_avx512 UNROLLED_vectors
#define UNROLLED_neon UNROLLED_vectors
#define UNROLLED NAME(UNROLLED)

#define SPREAD NAME(spread)             /* (x): x in every lane */
#define LOAD NAME(load)                 /* (p): p[0] .. p[7] */
#define HEAD NAME(head)                 /* (p, n): p[0] .. p[n - 1], then -inf */
#define SOME NAME(some)                 /* (p, n): the same with zeros; in two-ended sweeps */
#define GATHER NAME(gather)             /* (p, at, n): p[at[0]] .. p[at[n - 1]], then -inf */
#define STORE NAME(store)               /* (p, v) */
#define STORE_HEAD NAME(store_head)     /* (p, v, n): the first n lanes */
#define BYTES NAME(bytes)               /* (p, v): numbers from 0 to 255 */
#define NUMBER_BYTES NAME(number_bytes) /* (p, v): the same of NUMBER + them */
#define ADD NAME(add)
#define SUB NAME(sub)
#define MUL NAME(mul)
#define DIV NAME(div)
#define INVERSE NAME(inverse)           /* (x): 1 / x, to the last bit but one, for 1 <= x < 2 */
#define FMA NAME(fma)                   /* (a, b, c): a b + c */
#define MAX NAME(max)
#define MIN NAME(min)
#define PICK NAME(pick)                 /* (x, y, a, b): a where x > y, else b */
#define SELECT NAME(select)             /* (mask, a, b): a where all its bits are set, b where none is;
                                           in two-ended sweeps */
#define ROUND NAME(round)
#define POWER NAME(power)               /* (k): 2^k, of whole numbers */
#define LOWER NAME(lower)               /* (x, k): x 2^k; next to nothing for whole k below -1000 */
#define RAISE NAME(raise)               /* (x, k): x 2^k, of k in the last bits; x and it are normal */
#define EXPONENT NAME(exponent)         /* (x): the k of 2^k <= x < 2^(k + 1), for positive x */
#define FRACTION NAME(fraction)         /* (x): x over that power, for positive x that is normal */
#define LANE NAME(lane)                 /* (v, k): lane k in every lane; k is a constant */
#define UP NAME(up)                     /* (before, v): the last lane of before, then all but the last */
#define DOWN NAME(down)                 /* (v, after): all but the first lane, then the first of after */
#define SPOTS NAME(Spots)               /* numbers of lanes */
#define SPOTS_AT NAME(spots_at)         /* (at): at[0] .. at[7] */
#define TAKEN NAME(taken)               /* (v, spots): these lanes of it */
#define LEAST NAME(least)               /* (x, least): the smaller one, where x is positive */
#define ABOVE NAME(above)               /* (x, y): a bit for each lane with x > y */
#define EQUAL NAME(equal)               /* (v, x): a bit for each lane that is x */
#define BETWEEN NAME(between)           /* (v, low, high): whether some lane is */
#define LANE_SET NAME(LaneSet)          /* a set of lanes */
#define NO_LANES NAME(no_lanes)         /* (): none of them */
#define OR_EQUAL NAME(or_equal)         /* (set, x, y): and those where x is y, and not infinite */
#define LANE_BITS NAME(lane_bits)       /* (set): a bit for each */
#define TOTAL NAME(total)
#define LARGEST NAME(largest)
#define TRANSPOSE NAME(transpose)       /* (v): of 8 vectors, in place */
#define FEW_REGISTERS NAME(few_registers) /* whether they do not hold a handful of vectors */
#define ONE_REGISTER NAME(one_register) /* whether a vector is in one */

/* Whole numbers below 2^52 are the last bits of a double that this was added to. */
#define NUMBER 4503599627370496.0

/* The first lane of a mask that is not 0. */
static inline int first_lane(int mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(mask);
#else
    int lane = 0;
    while (!(mask >> lane & 1))
        lane++;
    return lane;
#endif
}

#include "plain.h"
#if defined(SKCHMM_X86)
#include "avx2.h"
#include "avx512.h"
#elif defined(SKCHMM_ARM)
#include "neon.h"
#endif

/* Which level is used, see levels.h. A kernel sets the pointer at import, to what all of them look
 * at. */
static const int *instructions;
#if defined(SKCHMM_X86)
#define DISPATCH(f) (*instructions == 2 ? f##_avx512 : *instructions == 1 ? f##_avx2 : f##_plain)
#define DISPATCH_VECTORS(f) (*instructions == 2 ? f##_avx512 : f##_avx2)
#elif defined(SKCHMM_ARM)
#define DISPATCH(f) (*instructions == 1 ? f##_neon : f##_plain)
#define DISPATCH_VECTORS(f) f##_neon
#else
#define DISPATCH(f) f##_plain
#define DISPATCH_VECTORS DISPATCH
#endif

#endif
