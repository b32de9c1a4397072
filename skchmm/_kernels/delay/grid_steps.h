/* Log-likelihoods as whole numbers; see delay/grid.pxd. */
#ifndef ISA
#ifndef SKCHMM_GRID_STEPS_H
#define SKCHMM_GRID_STEPS_H

#include "simd/vector.h"

#define STEPS "delay/grid_steps.h"
#include "simd/each.h"

#define delay_span(...) DISPATCH(delay_span)(__VA_ARGS__)
#define delay_round(...) DISPATCH(delay_round)(__VA_ARGS__)

#endif
#else

/* The largest, the smallest and the sum of n numbers, and how many these are; -inf does not count. */
TARGET static void NAME(delay_span)(int64_t n, const double *x, double *top, double *low,
                                    double *total, int64_t *count)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(0.0), one = SPREAD(1.0), all = SPREAD(INFINITY);
    W8 largest = none, smallest = all, sum = zero, finite = zero;
    double lanes[8];
    for (int64_t i = 0; i < n; i += 8) {
        W8 here = i + 8 <= n ? LOAD(x + i) : HEAD(x + i, n - i);
        largest = MAX(largest, here);
        smallest = MIN(smallest, PICK(here, none, here, all));
        sum = ADD(sum, PICK(here, none, here, zero));
        finite = ADD(finite, PICK(here, none, one, zero));
    }
    *top = LARGEST(largest);
    *low = -LARGEST(SUB(zero, smallest));
    *total = TOTAL(sum);
    STORE(lanes, finite);
    *count = 0;
    for (int i = 0; i < 8; i++)
        *count += (int64_t)lanes[i];
}

/* Rows of log-likelihoods as whole numbers; of each, up to 7 numbers more are written, which mean
 * nothing. */
TARGET static void NAME(delay_round)(int64_t n_rows, int64_t n, const double *rows, double level,
                                     double scale, int64_t stride, double *out)
{
    const W8 offset = SPREAD(level), factor = SPREAD(scale);
    for (int64_t r = 0; r < n_rows; r++, rows += n, out += stride) {
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            STORE(out + i, ROUND(MUL(SUB(LOAD(rows + i), offset), factor)));
        if (i < n)
            STORE(out + i, ROUND(MUL(SUB(SOME(rows + i, n - i), offset), factor)));
    }
}

#endif
