/* A row times the weights, for every instruction set: sum_steps.h and filter_steps.h. */

/* n blocks of rows from the same sources, from block i on. One sum waits for itself most of the time;
 * several do not, and a source is read once for all. n is a constant of the compiler. */
TARGET INLINE void NAME(sums_together)(const int n, const Blocks *b, int64_t i,
                                       const double *weights, const double *before, W8 *sums)
{
    int64_t begin = b->start[i], size = b->start[i + 1] - begin;
    const int32_t *source = b->source + begin;
    weights += 8 * begin;
    for (int j = 0; j < n; j++)
        sums[j] = SPREAD(0.0);
    for (int64_t k = 0; k < size; k++) {
        W8 from = SPREAD(before[source[k]]);
        for (int j = 0; j < n; j++)
            sums[j] = FMA(from, LOAD(weights + 8 * (k + j * size)), sums[j]);
    }
}

/* Blocks from the i-th on, up to 4; how many. */
TARGET INLINE int64_t NAME(row_sums)(const Blocks *b, int64_t i, const double *weights,
                                     const double *before, W8 *sums)
{
    int64_t n = FEW_REGISTERS ? 1 : b->together[i];
    if (n == 4) {
        NAME(sums_together)(4, b, i, weights, before, sums);
    } else if (n == 3) {
        NAME(sums_together)(3, b, i, weights, before, sums);
    } else if (n == 2) {
        NAME(sums_together)(2, b, i, weights, before, sums);
    } else {
        W8 sum = SPREAD(0.0), second = sum;
        int64_t k = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
        for (; k + 1 < shifted; k += 2) {
            sum = FMA(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k), sum);
            second = FMA(SPREAD(before[b->source[k + 1]]), LOAD(weights + 8 * k + 8), second);
        }
        for (; k < shifted; k++)
            sum = FMA(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k), sum);
        for (; k < end; k++)
            second = FMA(LOAD(before + b->source[k]), LOAD(weights + 8 * k), second);
        sums[0] = ADD(sum, second);
    }
    return n;
}
