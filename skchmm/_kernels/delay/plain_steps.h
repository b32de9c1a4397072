/* Rows of log-likelihoods as plain numbers, for delay/scaled.pxd and delay/apart.pxd. */
#ifndef ISA

#include "delay/sum_steps.h"

#define LEAST_ALONE 1e-280      /* of emissions: less is no number next to weights, */
#define LEAST_IN_GROUPS 1e-100  /* nor are products with others where it is less than this */

#define ROWS_AT_ONCE 64

#define STEPS "delay/plain_steps.h"
#include "simd/each.h"

#define plain_convert(...) DISPATCH(plain_convert)(__VA_ARGS__)

#else

#include "simd/rows.h"

/* Rows of log-likelihoods as numbers, divided by their maxima, whose sum is added to total. Returns 2
 * where none is below LEAST_IN_GROUPS, 1 where none is below LEAST_ALONE, else 0. */
TARGET static int NAME(plain_convert)(int64_t n, int64_t n_states, const double *rows, double *out,
                                      double *total)
{
    const W8 least = SPREAD(log(LEAST_ALONE)), small = SPREAD(log(LEAST_IN_GROUPS));
    int fine = 0xFF, large = 0xFF;
    double tops[ROWS_AT_ONCE];
    for (int64_t t = 0; t < n; t += ROWS_AT_ONCE) {
        const int64_t some = n - t < ROWS_AT_ONCE ? n - t : ROWS_AT_ONCE, size = some * n_states;
        double *here = out + t * n_states, sum = 0.0;
        int64_t i = 0;
        NAME(rows_less_tops)(some, n_states, rows + t * n_states, here, tops);
        for (int64_t r = 0; r < some; r++)
            sum += tops[r];
        *total += sum;
        for (; i + 8 <= size; i += 8) {
            W8 x = LOAD(here + i);
            fine &= ABOVE(x, least);
            large &= ABOVE(x, small);
            STORE(here + i, NAME(exp_within)(MAX(x, least)));
        }
        for (; i < size; i++) {
            fine = here[i] > log(LEAST_ALONE) ? fine : 0;
            large = here[i] > log(LEAST_IN_GROUPS) ? large : 0;
            here[i] = exp(here[i]);
        }
    }
    return fine != 0xFF ? 0 : large == 0xFF ? 2 : 1;
}

/* 0 in the first n lanes, 1 in the others. */
TARGET INLINE W8 NAME(lanes_from)(int64_t n)
{
    double lanes[8];
    for (int64_t i = 0; i < 8; i++)
        lanes[i] = i < n ? 0.0 : 1.0;
    return LOAD(lanes);
}

#endif
