/* Weights of blocks between nodes with exponents; see discrete/exponents.pxd. */
#ifndef ISA

#include "shared/blocks.h"
#include "simd/vector.h"

#define UNKNOWN (-1e30) /* the exponent of nothing */
/* A node has an exponent of at most so much less than one that leads to it, which is seen to in so many
 * rounds over the edges at most. */
#define SLACK 16.0
#define ROUNDS 16
/* Weights are raised to this, so that what should be positive is; it is negligible in sums that are
 * not tiny. */
#define LEAST_WEIGHT 1e-165

#define STEPS "discrete/weigh_steps.h"
#include "simd/each.h"

#define weigh_blocks(...) DISPATCH(weigh_blocks)(__VA_ARGS__)

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

#endif
