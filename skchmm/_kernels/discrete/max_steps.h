/* Steps of the recursion of viterbi.pyx, 8 targets at a time:
 *
 *     out(m) = max_{n -> m} (before(n) + weight(n -> m)) + emit(m)
 *
 * O(entries) vector operations; see shared/blocks.h for what an entry is.
 */
#ifndef ISA

#include "shared/blocks.h"
#include "shared/siblings.h"
#include "simd/vector.h"

#define STEPS "discrete/max_steps.h"
#include "simd/each.h"

#define max_step(...) DISPATCH(max_step)(__VA_ARGS__)
#define choose_run(...) DISPATCH(choose_run)(__VA_ARGS__)
#define has_ties(...) DISPATCH(has_ties)(__VA_ARGS__)
#define best_source(...) DISPATCH(best_source)(__VA_ARGS__)

#else

TARGET static void NAME(max_step)(const Blocks *b, const double *weights, const double *before,
                                  const double *emit, double *out)
{
    STORE(out, SPREAD(0.0));
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 best = SPREAD(-INFINITY), second = best;
        int64_t k = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
        for (; k + 1 < shifted; k += 2) {
            best = MAX(best, ADD(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k)));
            second = MAX(second, ADD(SPREAD(before[b->source[k + 1]]), LOAD(weights + 8 * k + 8)));
        }
        for (; k < shifted; k++)
            best = MAX(best, ADD(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k)));
        for (; k < end; k++)
            second = MAX(second, ADD(LOAD(before + b->source[k]), LOAD(weights + 8 * k)));
        STORE(out + 8 * i, ADD(MAX(best, second), LOAD(emit + 8 * i)));
    }
}

/* One entry of the step below: keep the larger candidate and the source that it came from. */
#define TRY(best, which, from, origin)                                \
    do {                                                              \
        W8 candidate = ADD(from, LOAD(weights + 8 * k));              \
        which = PICK(candidate, best, origin, which);                 \
        best = MAX(best, candidate);                                  \
    } while (0)
#define TRY_ROW(best, which) \
    TRY(best, which, SPREAD(here[b->source[k]]), SPREAD((double)b->source[k]))
#define TRY_DIAGONAL(best, which) \
    TRY(best, which, LOAD(here + b->source[k]), ADD(lanes, SPREAD((double)b->source[k])))

/* n max steps that also note which source won in each lane (the first of equals): cheaper than
 * finding it again while a step has few entries. Values go to one row after the other, if they are
 * kept, or to two in turn; returns the last. What lies beyond a row must be numbers. Whether values
 * are kept is a constant of the compiler. */
TARGET INLINE double *NAME(choose)(const int keep, const Blocks *b, const double *weights,
                                   int64_t n, const double *table, const int32_t *rows,
                                   double *here, double *there, uint8_t *choices)
{
    static const double counted[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const W8 lanes = LOAD(counted);
    int64_t stride = 8 * b->n_blocks;
    for (int64_t t = 0; t < n; t++) {
        const double *emit = table + (rows ? rows[t] : t) * stride;
        for (int64_t i = 0; i < b->n_blocks; i++) {
            W8 best = SPREAD(-INFINITY), later = best, which = SPREAD(0.0), later_which = which;
            int64_t first = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
            int64_t k = first, half = first + (end - first + 1) / 2;
            int64_t stop = half < shifted ? half : shifted;
            for (; k < stop; k++)
                TRY_ROW(best, which);
            for (; k < half; k++)
                TRY_DIAGONAL(best, which);
            for (; k < shifted; k++)
                TRY_ROW(later, later_which);
            for (; k < end; k++)
                TRY_DIAGONAL(later, later_which);
            which = PICK(later, best, later_which, which);
            best = MAX(best, later);
            STORE(there + 8 * i, ADD(best, LOAD(emit + 8 * i)));
            BYTES(choices + t * stride + 8 * i, which);
        }
        double *next = keep ? there + stride : here;
        here = there;
        there = next;
    }
    return here;
}

TARGET static double *NAME(choose_run)(const Blocks *b, const double *weights, int64_t n,
                                       const double *table, const int32_t *rows, double *here,
                                       double *there, int keep, uint8_t *choices)
{
    if (keep)
        return NAME(choose)(1, b, weights, n, table, rows, here, there, choices);
    return NAME(choose)(0, b, weights, n, table, rows, here, there, choices);
}

/* Whether siblings are equal in one of n rows. The row after them is read too. */
TARGET static int NAME(has_ties)(const Siblings *s, int64_t n, int64_t stride, const double *rows)
{
    LANE_SET equal = NO_LANES(), later = equal;
    for (int64_t k = 0; k < s->n_shifts; k++) {
        const double *left = rows + s->shifts[2 * k], *right = rows + s->shifts[2 * k + 1];
        const W8 others = LOAD(s->others + 8 * k);
        int64_t t = 0;
        for (; t + 1 < n; t += 2, left += 2 * stride, right += 2 * stride) {
            equal = OR_EQUAL(equal, ADD(LOAD(left), others), LOAD(right));
            later = OR_EQUAL(later, ADD(LOAD(left + stride), others), LOAD(right + stride));
        }
        if (t < n)
            equal = OR_EQUAL(equal, ADD(LOAD(left), others), LOAD(right));
    }
    return (LANE_BITS(equal) | LANE_BITS(later)) != 0;
}

#undef TRY
#undef TRY_ROW
#undef TRY_DIAGONAL

/* The place of the first of n sources that attains the largest before(source) + weight; -1 where all
 * are -inf.
 * Without branches on values: which source wins cannot be predicted. */
TARGET static int64_t NAME(best_source)(int64_t n, const int32_t *sources, const double *weights,
                                        const double *before)
{
    int neighbours = n > 0 && sources[n - 1] - sources[0] == n - 1;
    W8 largest = SPREAD(-INFINITY);
    for (int64_t k = 0; k < n; k += 8) {
        W8 from = neighbours ? HEAD(before + sources[0] + k, n - k) : GATHER(before, sources + k, n - k);
        largest = MAX(largest, ADD(from, HEAD(weights + k, n - k)));
    }
    double best = LARGEST(largest);
    if (best == -INFINITY)
        return -1;
    for (int64_t k = 0;; k += 8) {
        W8 from = neighbours ? HEAD(before + sources[0] + k, n - k) : GATHER(before, sources + k, n - k);
        int hit = EQUAL(ADD(from, HEAD(weights + k, n - k)), best);
        if (hit)
            return k + first_lane(hit);
    }
}

#endif
