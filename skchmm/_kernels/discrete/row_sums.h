/* Block i of a row times the weights, for every instruction set: sum_steps.h and filter_steps.h. */
TARGET static W8 NAME(row_sums)(const Blocks *b, int64_t i, const double *weights,
                              const double *before)
{
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
    return ADD(sum, second);
}
