/* What 8 sequences side by side have found, to where each of them has its place. */
#ifndef ISA

#include "simd/vector.h"

#define STEPS "lanes/put_steps.h"
#include "simd/each.h"

#define lanes_put(...) DISPATCH(lanes_put)(__VA_ARGS__)

#else

/* n numbers of every lane, and room for 8 more, to where `out` has a place for the lane; that place
 * goes on. `end`: what lies there belongs to others. */
#define PUT(n, NUMBER_OF)                                                                       \
    for (int64_t i = 0; i < (n); i += 8) {                                                      \
        W8 x[8];                                                                                \
        for (int j = 0; j < 8; j++) {                                                           \
            x[j] = NUMBER_OF(i + j);                                                            \
        }                                                                                       \
        TRANSPOSE(x);                                                                           \
        for (int l = 0; l < active; l++) {                                                      \
            double *place = out[l] + i;                                                         \
            if (end[l] - place >= 8)                                                            \
                STORE(place, x[l]); /* what comes next is written over what is too much */      \
            else                                                                                \
                STORE_HEAD(place, x[l], (n) - i);                                               \
        }                                                                                       \
    }                                                                                           \
    for (int l = 0; l < active; l++)                                                            \
        out[l] += (n);
#define AS_IT_IS(k) LOAD(numbers + 8 * (k))
TARGET static void NAME(lanes_put)(int64_t n, const double *numbers, int active, double **out,
                                   double *const *end)
{ PUT(n, AS_IT_IS) }
#undef AS_IT_IS

/* The same of rows, each times what `scales` has for it in every lane, and room for one more. */
#define SCALED(k)                                                           \
    MUL(LOAD(numbers + 8 * (k)), LOAD(scales + 8 * row));                   \
    const int64_t full = column + 1 == width;                               \
    column = full ? 0 : column + 1;                                         \
    row += full
TARGET static void NAME(lanes_put_scaled)(int64_t n, int64_t width, const double *numbers,
                                          const double *scales, int active, double **out,
                                          double *const *end)
{
    int64_t row = 0, column = 0;
    PUT(n * width, SCALED)
}
#undef SCALED
#undef PUT

#endif
