/* Weighted sums over rows, for 8 columns of weights at a time: O(n S d), or O(n S d^2) for products. */
#ifndef ISA

#include "simd/vector.h"
#define STEPS "data/moment_steps.h"
#include "simd/each.h"

#define moment_rows(...) DISPATCH(moment_rows)(__VA_ARGS__)
#define product_rows(...) DISPATCH(product_rows)(__VA_ARGS__)

#else

/* Adds the weights of a row, times 1, x and x squared, to three sums. */
TARGET static inline void NAME(add_moments)(W8 *sums, W8 weights, W8 x)
{
    W8 first = MUL(weights, x);
    sums[0] = ADD(sums[0], weights);
    sums[1] = ADD(sums[1], first);
    sums[2] = FMA(first, x, sums[2]);
}

/* Sums over n rows of S weights, times 1, x and x squared, for x in d columns of X less a shift for
 * each weight; NaN is left out. sums is (3, d, 8 ceil(S / 8)), with junk beyond S, and shift (d, ...).
 * The sums of two columns stay in registers for a run of rows, and the run stays in the cache. */
TARGET static void NAME(moment_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                     const double *shift, const double *weights, double *sums)
{
    const int64_t run = 256, width = (S + 7) / 8 * 8;
    for (int64_t begin = 0; begin < n; begin += run) {
        int64_t end = begin + run < n ? begin + run : n;
        for (int64_t k = 0; k < width; k += 8) {
            /* rows of which 8 weights can be read without leaving the table */
            int64_t whole = n * S < k + 8 ? 0 : (n * S - k - 8) / S + 1;
            for (int64_t j = 0; j < d; j += 2) {
                int64_t other = j + 1 < d ? j + 1 : j;
                W8 here[3] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                W8 next[3] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                W8 from = LOAD(shift + j * width + k), too = LOAD(shift + other * width + k);
                for (int64_t t = begin; t < end; t++) {
                    const double *row = weights + t * S + k;
                    W8 w = t < whole ? LOAD(row) : HEAD(row, S - k);
                    double x = X[t * d + j], y = X[t * d + other];
                    if (x == x)
                        NAME(add_moments)(here, w, SUB(SPREAD(x), from));
                    if (y == y)
                        NAME(add_moments)(next, w, SUB(SPREAD(y), too));
                }
                for (int64_t i = 0; i < 3; i++) {
                    double *sum = sums + (i * d + j) * width + k;
                    STORE(sum, ADD(LOAD(sum), here[i]));
                    if (other > j)
                        STORE(sum + width, ADD(LOAD(sum + width), next[i]));
                }
            }
        }
    }
}

/* Sums over n rows of S weights times products of two out of 1 and at most 16 columns of X less a
 * shift, none of them NaN. sums is (1 + d, 1 + d, 8 ceil(S / 8)) with junk beyond S; only the lower
 * triangle of the first two axes is summed. */
TARGET static void NAME(product_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                      const double *shift, const double *weights, double *sums)
{
    enum { RUN = 128, MOST = 17 };
    const int64_t width = (S + 7) / 8 * 8, m = d + 1;
    double centred[RUN * MOST];
    for (int64_t begin = 0; begin < n; begin += RUN) {
        int64_t count = begin + RUN < n ? RUN : n - begin;
        for (int64_t t = 0; t < count; t++) {
            centred[t * m] = 1.0;
            for (int64_t j = 0; j < d; j++)
                centred[t * m + 1 + j] = X[(begin + t) * d + j] - shift[j];
        }
        for (int64_t k = 0; k < width; k += 8)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j <= i; j += 4) {
                    /* four sums at once stay in registers; those beyond i are not kept */
                    const double *a = centred + j, *b = centred + (j + 1 <= i ? j + 1 : i);
                    const double *c = centred + (j + 2 <= i ? j + 2 : i);
                    const double *e = centred + (j + 3 <= i ? j + 3 : i);
                    W8 four[4] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                    for (int64_t t = 0; t < count; t++) {
                        int64_t at = (begin + t) * S + k;
                        W8 w = at + 8 <= n * S ? LOAD(weights + at) : HEAD(weights + at, S - k);
                        w = MUL(w, SPREAD(centred[t * m + i]));
                        four[0] = FMA(w, SPREAD(a[t * m]), four[0]);
                        four[1] = FMA(w, SPREAD(b[t * m]), four[1]);
                        four[2] = FMA(w, SPREAD(c[t * m]), four[2]);
                        four[3] = FMA(w, SPREAD(e[t * m]), four[3]);
                    }
                    for (int64_t q = 0; q < 4 && j + q <= i; q++) {
                        double *sum = sums + (i * m + j + q) * width + k;
                        STORE(sum, ADD(LOAD(sum), four[q]));
                    }
                }
    }
}

#endif
