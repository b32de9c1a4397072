/* Both ends of a sweep over one sequence, for graphs of up to 8 nodes; see two_ended.pyx.
 *
 * A row is one vector that stays in a register, so a step waits for its own arithmetic only.
 * Processors without vectors are left to the general kernel.
 */
#ifndef ISA

#include "simd/vector.h"

/* One direction: row = emission * sums, sums = row before it times the weights. */
typedef struct {
    const double *weights; /* (8, 8): row k is what node k gives to each node */
    const double *table;   /* emissions; 8 can be read of any row, though it may have fewer */
    int64_t stride;        /* of the table */
    const int32_t *rows;   /* of the table: for this step, and on from there or back */
    double *out;           /* the row of the output of this step, n_states wide */
    int64_t step;          /* 1 ahead, -1 back, 0 idle */
    int64_t at;            /* the next step of the data */
    int64_t exponent;      /* the row was divided by 2^exponent */
    double row[8];
    double least[8];       /* of the positive sums, by node */
    double most;           /* of the factors that made posteriors sum to 1 */
    double total;          /* of the last row that was looked at */
    double counts[64];     /* (8, 8), without the weights */
} End;

/* WALK: rows are computed; LEAVE: and written out; FINISH: the output holds what the other end has
 * left, and becomes the posterior; COUNT: and transitions are counted. */
enum { WALK, LEAVE, FINISH, COUNT };

/* Rows are looked at once in so many steps: a total out of range ends a run, or is scaled back. */
#define LOOK 16
#define BATCH 64 /* the most steps of a run */
#define SOUND(total) ((total) >= 1e-200 && (total) <= 1e100)
#define IN_RANGE(total) ((total) > 1e-30 && (total) < 1e30)

#define STEPS "discrete/two_ended_steps.h"
#define VECTORS_ONLY
#include "simd/each.h"
#undef VECTORS_ONLY

#define sweep_run(...) DISPATCH_VECTORS(sweep_run)(__VA_ARGS__)
#define convert(...) DISPATCH_VECTORS(convert)(__VA_ARGS__)

#else

#include "simd/exp.h"

/* Of logarithms of ratios; lanes that are neither above log_lossy nor -inf are not fine. */
TARGET INLINE W8 NAME(probabilities)(W8 ratio, double log_lossy, int *fine)
{
    const W8 lossy = SPREAD(log_lossy);
    *fine &= ABOVE(ratio, lossy) | EQUAL(ratio, -INFINITY);
    return PICK(ratio, lossy, NAME(exp_within)(ratio), SPREAD(0.0));
}

/* Rows of log-likelihoods, divided by their maximum, as probabilities; the maxima go to tops. Whether
 * some element is not fine. */
TARGET static int NAME(convert)(int64_t n, int64_t n_states, const double *rows, double log_lossy,
                                double *out, double *tops)
{
    int64_t size = n * n_states, i = 0;
    int fine = 0xFF;
    for (int64_t t = 0; t < n; t++) {
        const double *row = rows + t * n_states;
        double top = -INFINITY;
        for (int64_t k = 0; k < n_states; k++)
            top = row[k] > top ? row[k] : top;
        tops[t] = top;
        top = top > -INFINITY ? top : 0.0;
        for (int64_t k = 0; k < n_states; k++)
            out[t * n_states + k] = row[k] - top;
    }
    for (; i + 8 <= size; i += 8)
        STORE(out + i, NAME(probabilities)(LOAD(out + i), log_lossy, &fine));
    if (i < size)
        STORE_HEAD(out + i, NAME(probabilities)(HEAD(out + i, size - i), log_lossy, &fine), size - i);
    return fine != 0xFF;
}

/* One step of one end; K nodes, the mode and the direction are constants of the compiler.
 * Broadcasts of the row serve the sums and the counts; sums * emission is taken apart into one
 * fused operation, which leaves the sums themselves out of what the next step waits for. */
TARGET INLINE W8 NAME(step)(const int K, const int mode, int64_t n_states, int64_t i,
                            const End *end, const W8 *weights, const double *others, W8 row,
                            W8 *least, W8 *most, W8 *counts)
{
    W8 from[8];
    for (int k = 0; k < K; k++)
        from[k] = LANE(row, k);
    W8 even = MUL(from[0], weights[0]), odd = MUL(from[1], weights[1]);
    for (int k = 2; k < K; k += 2)
        even = FMA(from[k], weights[k], even);
    for (int k = 3; k < K; k += 2)
        odd = FMA(from[k], weights[k], odd);
    W8 emission = LOAD(end->table + end->stride * end->rows[i]);
    W8 sums = ADD(even, odd);
    row = FMA(even, emission, MUL(odd, emission));
    *least = LEAST(sums, *least);
    double *out = mode == WALK ? 0 : end->out + i * n_states;
    if (mode == LEAVE)
        STORE_HEAD(out, row, n_states);
    if (mode >= FINISH) {
        W8 other = LOAD(others), joint = MUL(sums, other);
        W8 factor = SPREAD(1.0 / TOTAL(joint));
        *most = MAX(factor, *most);
        STORE_HEAD(out, MUL(joint, factor), n_states);
        if (mode == COUNT) {
            other = MUL(other, factor);
            for (int k = 0; k < K; k++)
                counts[k] = FMA(from[k], other, counts[k]);
        }
    }
    return row;
}

/* The row, scaled by a power of two if its total has drifted. */
TARGET INLINE W8 NAME(look)(End *end, W8 row)
{
    int exponent = 0;
    end->total = TOTAL(row);
    if (RARELY(!IN_RANGE(end->total) && SOUND(end->total))) {
        frexp(end->total, &exponent);
        end->exponent += exponent - 1;
        row = MUL(row, SPREAD(ldexp(1.0, 1 - exponent)));
    }
    return row;
}

TARGET INLINE void NAME(run_nodes)(const int K, const int mode, int64_t n, int64_t n_states,
                                   End *ahead, End *back)
{
    W8 weights[8], back_weights[8], counts[8], back_counts[8];
    for (int k = 0; k < K; k++) {
        weights[k] = LOAD(ahead->weights + 8 * k);
        back_weights[k] = LOAD(back->weights + 8 * k);
        if (mode == COUNT) {
            counts[k] = LOAD(ahead->counts + 8 * k);
            back_counts[k] = LOAD(back->counts + 8 * k);
        }
    }
    W8 row = LOAD(ahead->row), back_row = LOAD(back->row);
    W8 least = LOAD(ahead->least), back_least = LOAD(back->least);
    W8 most = SPREAD(ahead->most), back_most = SPREAD(back->most);
    /* Loads of a few lanes from between what was just stored would wait for it. */
    double others[8 * BATCH], back_others[8 * BATCH];
    if (mode >= FINISH)
        for (int64_t i = 0; i < n; i++) {
            STORE(others + 8 * i, SOME(ahead->out + i * n_states, n_states));
            STORE(back_others + 8 * i, SOME(back->out - i * n_states, n_states));
        }
    for (int64_t i = 0; i < n;) {
        for (int64_t stop = i + LOOK < n ? i + LOOK : n; i < stop; i++) {
            row = NAME(step)(K, mode, n_states, i, ahead, weights, others + 8 * i, row, &least,
                             &most, counts);
            back_row = NAME(step)(K, mode, n_states, -i, back, back_weights, back_others + 8 * i,
                                  back_row, &back_least, &back_most, back_counts);
        }
        row = NAME(look)(ahead, row);
        back_row = NAME(look)(back, back_row);
        if (!SOUND(ahead->total) || !SOUND(back->total))
            break;
    }
    STORE(ahead->row, row);
    STORE(back->row, back_row);
    STORE(ahead->least, least);
    STORE(back->least, back_least);
    ahead->most = LARGEST(most);
    back->most = LARGEST(back_most);
    if (mode == COUNT)
        for (int k = 0; k < K; k++) {
            STORE(ahead->counts + 8 * k, counts[k]);
            STORE(back->counts + 8 * k, back_counts[k]);
        }
}

#define RUN(K)                                                                           \
    TARGET static void NAME(run_##K)(int64_t n, int64_t n_states, int mode, End *ahead,  \
                                     End *back)                                          \
    {                                                                                    \
        if (mode == WALK)                                                                \
            NAME(run_nodes)(K, WALK, n, n_states, ahead, back);                          \
        else if (mode == LEAVE)                                                          \
            NAME(run_nodes)(K, LEAVE, n, n_states, ahead, back);                         \
        else if (mode == FINISH)                                                         \
            NAME(run_nodes)(K, FINISH, n, n_states, ahead, back);                        \
        else                                                                             \
            NAME(run_nodes)(K, COUNT, n, n_states, ahead, back);                         \
    }
RUN(3)
RUN(4)
RUN(5)
RUN(6)
RUN(8)

/* n steps ahead and n back, side by side; one of the ends may be idle where n is 1. */
TARGET static void NAME(sweep_run)(int64_t n, int64_t n_states, int mode, End *ahead, End *back)
{
    if (n_states <= 3)
        NAME(run_3)(n, n_states, mode, ahead, back);
    else if (n_states == 4)
        NAME(run_4)(n, n_states, mode, ahead, back);
    else if (n_states == 5)
        NAME(run_5)(n, n_states, mode, ahead, back);
    else if (n_states == 6)
        NAME(run_6)(n, n_states, mode, ahead, back);
    else
        NAME(run_8)(n, n_states, mode, ahead, back);
}
#undef RUN

#endif
