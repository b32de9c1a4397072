/* Log-densities of Gaussians, 8 of them at a time: O(n S d), or O(n S d^2) where covariances are full. */
#ifndef ISA

#include "simd/vector.h"
#define STEPS "data/normal_steps.h"
#include "simd/each.h"

#define normal_rows(...) DISPATCH(normal_rows)(__VA_ARGS__)
#define full_normal_rows(...) DISPATCH(full_normal_rows)(__VA_ARGS__)

#else

/* Stores 8 elements of a row of n, from k on. They run over into the next row, which is written after
 * it, but not beyond the end of the table. */
TARGET static inline void NAME(store_row)(double *row, int64_t n, int64_t k, const double *end, W8 x)
{
    if (row + k + 8 <= end) {
        STORE(row + k, x);
        return;
    }
    double last[8];
    STORE(last, x);
    for (int64_t i = k; i < n && i < k + 8; i++)
        row[i] = last[i - k];
}

/* Log-densities of n rows under S Gaussians with diagonal covariances; NaN is integrated out.
 * means (negative), scales (1 / standard deviation) and norms (log 2 pi variance) are (d, 8 ceil(S / 8)). */
TARGET static void NAME(normal_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                     const double *means, const double *scales,
                                     const double *norms, double *out)
{
    int64_t width = (S + 7) / 8 * 8;
    for (int64_t t = 0; t < n; t++)
        for (int64_t k = 0; k < width; k += 8) {
            W8 sum = SPREAD(0.0);
            for (int64_t j = 0; j < d; j++) {
                double x = X[t * d + j];
                if (x != x)
                    continue;
                W8 z = MUL(ADD(SPREAD(x), LOAD(means + j * width + k)), LOAD(scales + j * width + k));
                sum = ADD(sum, FMA(z, z, LOAD(norms + j * width + k)));
            }
            NAME(store_row)(out + t * S, S, k, out + n * S, MUL(sum, SPREAD(-0.5)));
        }
}

/* As normal_rows for full covariances and rows without NaN, of at most 16 columns. whiten holds the
 * rows of the lower triangles that make a Gaussian standard normal, (d (d + 1) / 2, 8 ceil(S / 8)),
 * and norms the log-determinants and constants, one a Gaussian. */
TARGET static void NAME(full_normal_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                          const double *means, const double *whiten,
                                          const double *norms, double *out)
{
    int64_t width = (S + 7) / 8 * 8;
    W8 centred[16];
    for (int64_t t = 0; t < n; t++)
        for (int64_t k = 0; k < width; k += 8) {
            const double *entry = whiten + k;
            W8 sum = LOAD(norms + k);
            for (int64_t i = 0; i < d; i++) {
                centred[i] = ADD(SPREAD(X[t * d + i]), LOAD(means + i * width + k));
                W8 z = SPREAD(0.0);
                for (int64_t j = 0; j <= i; j++, entry += width)
                    z = FMA(LOAD(entry), centred[j], z);
                sum = FMA(z, z, sum);
            }
            NAME(store_row)(out + t * S, S, k, out + n * S, MUL(sum, SPREAD(-0.5)));
        }
}

#endif
