/* Rows of log-likelihoods as probabilities; see scaling.pyx. */
#ifndef ISA

#include "simd/vector.h"

#define STEPS "shared/scale_steps.h"
#include "simd/each.h"

#define scale_run(...) DISPATCH(scale_run)(__VA_ARGS__)

#else

#include "simd/exp.h"

/* Rows less their largest elements, which go to tops; a row of -inf alone stays what it is. */
TARGET INLINE void NAME(take_off_tops)(int64_t n, int64_t n_states, const double *rows,
                                       double *out, double *tops)
{
    for (int64_t t = 0; t < n; t++, rows += n_states, out += n_states) {
        W8 largest = HEAD(rows, n_states);
        for (int64_t k = 8; k < n_states; k += 8)
            largest = MAX(HEAD(rows + k, n_states - k), largest);
        double top = tops[t] = LARGEST(largest);
        W8 off = SPREAD(top > -INFINITY ? top : 0.0);
        for (int64_t k = 0; k < n_states; k += 8)
            STORE_HEAD(out + k, SUB(HEAD(rows + k, n_states - k), off), n_states - k);
    }
}

/* n rows divided by their largest elements, the logarithms of which go to tops. A row with a positive
 * ratio below e^log_lossy is marked. */
TARGET static void NAME(scale_run)(int64_t n, int64_t n_states, const double *rows,
                                   double log_lossy, double *out, double *tops, uint8_t *lossy)
{
    const double least = -707.0; /* of exp_of */
    const int64_t size = n * n_states;
    int64_t i = 0;
    NAME(take_off_tops)(n, n_states, rows, out, tops);
    for (int64_t t = 0; t < n; t++) {
        int small = 0;
        for (int64_t k = 0; k < n_states; k += 8)
            small |= BETWEEN(HEAD(out + t * n_states + k, n_states - k), -INFINITY, log_lossy);
        lossy[t] = small != 0;
    }
    for (; i < size; i += 8) {
        double kept[8];
        W8 x = HEAD(out + i, size - i);
        STORE_HEAD(out + i, NAME(exp_of)(x), size - i);
        if (RARELY(BETWEEN(x, -INFINITY, least))) {
            STORE(kept, x);
            for (int64_t k = 0; k < 8 && i + k < size; k++)
                if (kept[k] <= least)
                    out[i + k] = exp(kept[k]);
        }
    }
}

#endif
