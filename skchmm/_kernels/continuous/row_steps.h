/* Rows of exp(Q t), in blocks of 8 places of which some can be reached from the row's node. */
#ifndef ISA

#include "simd/vector.h"
#define STEPS "continuous/row_steps.h"
#include "simd/each.h"

#define row_power(...) DISPATCH(row_power)(__VA_ARGS__)
#define row_series(...) DISPATCH(row_series)(__VA_ARGS__)
#define row_products(...) DISPATCH(row_products)(__VA_ARGS__)
#define row_best(...) DISPATCH(row_best)(__VA_ARGS__)

#else

/* out += weight * row, where row is dense and has the given blocks. */
TARGET static void NAME(row_power)(int64_t n_blocks, const int32_t *block, double weight,
                                   const double *row, double *out)
{
    W8 w = SPREAD(weight);
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t at = 8 * (int64_t)block[b];
        STORE(out + at, FMA(w, LOAD(row + at), LOAD(out + at)));
    }
}

/* sum_k weights[k] P^k of one row, for the steps of some groups of 4.
 *
 * powers (n_blocks, width, 8); weights (n_groups, width, 4); terms, how many of them each group has;
 * out: the row of the first step, that of the next one lies `stride` ahead. */
TARGET static void NAME(row_series)(int64_t n_blocks, int64_t width, const double *powers,
                                    int64_t n_groups, const double *weights, const int64_t *terms,
                                    double *out, int64_t stride)
{
    for (int64_t b = 0; b < n_blocks; b++) {
        const double *power = powers + b * width * 8;
        for (int64_t g = 0; g < n_groups; g++) {
            const double *weight = weights + g * width * 4;
            double *to = out + 4 * g * stride + 8 * b;
            W8 x0 = SPREAD(0.0), x1 = x0, x2 = x0, x3 = x0;
            for (int64_t k = 0; k < terms[g]; k++) {
                W8 p = LOAD(power + 8 * k);
                x0 = FMA(SPREAD(weight[4 * k]), p, x0);
                x1 = FMA(SPREAD(weight[4 * k + 1]), p, x1);
                x2 = FMA(SPREAD(weight[4 * k + 2]), p, x2);
                x3 = FMA(SPREAD(weight[4 * k + 3]), p, x3);
            }
            STORE(to, x0);
            STORE(to + stride, x1);
            STORE(to + 2 * stride, x2);
            STORE(to + 3 * stride, x3);
        }
    }
}

/* Four dense rows times a matrix in blocks: out += rows M. O(blocks of M). */
TARGET static void NAME(row_products)(int64_t n_places, int64_t stride, const int32_t *node_at,
                                      const int64_t *begin, const int32_t *block,
                                      const double *matrix, const double *rows, double *out)
{
    for (int64_t j = 0; j < n_places; j++) {
        const double *x = rows + j;
        if (x[0] == 0.0 && x[stride] == 0.0 && x[2 * stride] == 0.0 && x[3 * stride] == 0.0)
            continue;
        W8 x0 = SPREAD(x[0]), x1 = SPREAD(x[stride]);
        W8 x2 = SPREAD(x[2 * stride]), x3 = SPREAD(x[3 * stride]);
        for (int64_t b = begin[node_at[j]]; b < begin[node_at[j] + 1]; b++) {
            W8 m = LOAD(matrix + 8 * b);
            double *to = out + 8 * (int64_t)block[b];
            STORE(to, FMA(x0, m, LOAD(to)));
            STORE(to + stride, FMA(x1, m, LOAD(to + stride)));
            STORE(to + 2 * stride, FMA(x2, m, LOAD(to + 2 * stride)));
            STORE(to + 3 * stride, FMA(x3, m, LOAD(to + 3 * stride)));
        }
    }
}

/* best = max(best, p * row), and the number of the row where that is larger. An entry below `weak`
 * that is not impossible counts as `weak`. */
TARGET static void NAME(row_best)(int64_t n_blocks, const int32_t *block, const double *row,
                                  const double *able, double weak, double p, double number,
                                  double *best, double *source)
{
    W8 w = SPREAD(weak), scale = SPREAD(p), self = SPREAD(number);
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t at = 8 * (int64_t)block[b];
        W8 x = MUL(scale, MAX(LOAD(row + 8 * b), MUL(w, LOAD(able + 8 * b)))), old = LOAD(best + at);
        STORE(source + at, PICK(x, old, self, LOAD(source + at)));
        STORE(best + at, MAX(x, old));
    }
}

#endif
