/* Steps of causal_sums.pyx, 8 targets at a time:
 *
 *     row(m) = emit(m) sum_{n -> m} before(n) w(n -> m),   out = row / sum of row
 */
#ifndef ISA

#include <math.h>

#include "shared/blocks.h"
#include "simd/vector.h"

#define STEPS "discrete/filter_steps.h"
#include "simd/each.h"

#define filter_run(...) DISPATCH(filter_run)(__VA_ARGS__)

#else

#include "discrete/row_sums.h"
#include "simd/exp.h"

/* Log-likelihoods of a step, one a node, as probabilities; 0 if doubles lose something of them. */
TARGET static int NAME(emissions)(const Blocks *b, const double *logs, double least, double *out)
{
    W8 top = LOAD(logs);
    int lossy = 0;
    for (int64_t i = 1; i < b->n_blocks; i++)
        top = MAX(top, LOAD(logs + 8 * i));
    double largest = LARGEST(top);
    if (!(largest > -INFINITY))
        return 0;
    top = SPREAD(largest);
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 x = SUB(LOAD(logs + 8 * i), top);
        lossy |= BETWEEN(x, -INFINITY, least);
        STORE(out + 8 * i, NAME(exp_of)(x));
    }
    return !lossy;
}

/* Up to n steps; the steps done. `row` is the last row and room for the next, one after the other,
 * and stays in range. Stops before a step some of whose sums are positive and below
 * floor, or of which next to nothing is left; *last says which half is the last row. Where `out` is NULL the step is taken and nothing written. */
TARGET static int64_t NAME(filter_run)(const Blocks *b, const double *weights, int64_t n,
                                       const double *table, const int32_t *rows, double floor,
                                       double *row, int64_t n_states, double *out, int *last,
                                       double least, double *room)
{
    int64_t stride = 8 * b->n_blocks, t = 0;
    int half = *last;
    while (t < n) {
        int64_t at = rows ? rows[t] : t;
        const double *before = row + half * stride, *emit = table + at * stride;
        double *now = row + (1 - half) * stride;
        if (room) {
            if (!NAME(emissions)(b, emit, least, room))
                break;
            emit = room;
        }
        W8 sum = SPREAD(0.0);
        int small = 0;
        for (int64_t i = 0; i < b->n_blocks; i++) {
            W8 u = NAME(row_sums)(b, i, weights, before);
            small |= BETWEEN(u, 0.0, floor);
            u = MUL(u, LOAD(emit + 8 * i));
            sum = ADD(sum, u);
            STORE(now + 8 * i, u);
        }
        double all = TOTAL(sum);
        if (small || !(all >= floor))
            break;
        half = 1 - half;
        if (out) {
            W8 factor = SPREAD(1.0 / all);
            for (int64_t i = 0; i < n_states; i += 8)
                STORE_HEAD(out + i, MUL(LOAD(now + i), factor), n_states - i);
            out += n_states;
        }
        if (!(all > 1e-30 && all < 1e30)) {
            W8 factor = SPREAD(1.0 / all);
            for (int64_t i = 0; i < b->n_blocks; i++)
                STORE(now + 8 * i, MUL(LOAD(now + 8 * i), factor));
        }
        t++;
    }
    *last = half;
    return t;
}

#endif
