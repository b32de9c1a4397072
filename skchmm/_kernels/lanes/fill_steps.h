/* Emissions of 8 sequences side by side. */
#ifndef ISA

#include "simd/vector.h"

#define STEPS "lanes/fill_steps.h"
#include "simd/each.h"

#define lanes_fill(...) DISPATCH(lanes_fill)(__VA_ARGS__)

#else

/* out(t, i, lane) = table(at(t, lane), i) */
TARGET static void NAME(lanes_fill)(int64_t n, int64_t n_states, const double *table,
                                    const int64_t *at, double *out)
{
    for (int64_t t = 0; t < n; t++, at += 8, out += 8 * n_states)
        for (int64_t i = 0; i < n_states; i += 8) {
            W8 x[8];
            for (int l = 0; l < 8; l++)
                x[l] = HEAD(table + at[l] * n_states + i, n_states - i);
            TRANSPOSE(x);
            for (int64_t j = 0; j < 8 && j < n_states - i; j++)
                STORE(out + 8 * (i + j), x[j]);
        }
}

#endif
