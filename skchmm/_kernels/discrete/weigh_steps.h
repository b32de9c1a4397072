/* Exponents of nodes, and weights of blocks between them; see discrete/exponents.pxd. */
#ifndef ISA

#include "shared/blocks.h"
#include "simd/vector.h"

#define UNKNOWN (-1e30) /* the exponent of nothing */
/* A node has an exponent of at most so much less than one that leads to it. One that nothing has
 * reached yet has what an edge will bring it, less what emissions take from that, if something can
 * reach it in so many steps. */
#define SLACK 32.0
#define FALL 3.0
#define STEPS_AHEAD 8
#define NEVER (INT64_MAX - 1) /* a step after all */
/* Weights are raised to this, so that what should be positive is; it is negligible in sums that are
 * not tiny. */
#define LEAST_WEIGHT 1e-165

#define STEPS "discrete/weigh_steps.h"
#include "simd/each.h"

#define weigh_blocks(...) DISPATCH(weigh_blocks)(__VA_ARGS__)
#define raise_blocks(...) DISPATCH(raise_blocks)(__VA_ARGS__)

#else

/* out = weights 2^(exponent of the source of an edge - that of its target). Going back,
 * blocks are of sources. */
TARGET static void NAME(weigh_blocks)(const Blocks *b, const double *weights,
                                      const double *exponents, int back, double *out)
{
    const W8 high = SPREAD(1000.0), low = SPREAD(-1000.0);
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 here = LOAD(exponents + 8 * i);
        for (int64_t k = b->start[i]; k < b->start[i + 1]; k++) {
            const double *other = exponents + b->source[k];
            W8 there = k < b->shifted[i] ? SPREAD(*other) : LOAD(other);
            W8 power = back ? SUB(here, there) : SUB(there, here);
            W8 weight = LOAD(weights + 8 * k);
            W8 scaled = MUL(weight, POWER(MIN(MAX(power, low), high)));
            STORE(out + 8 * k, MAX(scaled, MIN(weight, SPREAD(LEAST_WEIGHT))));
        }
    }
}

/* A round over the edges, for the exponents of a row; whether some exponent was raised. Those that
 * are unknown become known, or stay what they are. */
TARGET static int NAME(raise_blocks)(const Blocks *b, const double *weights, const double *row,
                                     int on, double *exponents)
{
    const W8 zero = SPREAD(0.0), slack = SPREAD(SLACK), fall = SPREAD(FALL);
    const W8 least = SPREAD(on ? 2.0 * UNKNOWN : 0.5 * UNKNOWN);
    int raised = 0;
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 known = LOAD(row + 8 * i), before = LOAD(exponents + 8 * i), here = before;
        for (int64_t k = b->start[i]; k < b->start[i + 1]; k++) {
            const double *other = exponents + b->source[k];
            W8 there = k < b->shifted[i] ? SPREAD(*other) : LOAD(other);
            W8 weight = LOAD(weights + 8 * k);
            W8 less = PICK(known, zero, slack, MAX(SUB(fall, EXPONENT(weight)), zero));
            here = PICK(weight, zero, MAX(SUB(there, less), here), here);
        }
        here = PICK(before, least, here, before);
        raised |= ABOVE(here, before) != 0;
        STORE(exponents + 8 * i, here);
    }
    return raised;
}

#endif
