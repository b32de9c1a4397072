/* Steps of the recursions of delay/apart.pxd, for up to 8 states; one vector is a row.
 *
 * The recursions are those of delay/scaled.pxd. Here every number has an exponent of its own in every
 * step, x 2^e, so emissions may be as far apart as they like, and no step waits for a branch: what
 * is added up is brought to the larger exponent first. Exponents are whole numbers in doubles; x is 0
 * where e is about NOTHING, and nowhere else. What comes into tails is brought back to 1 <= x < 2
 * in every step, and tails where a batch of steps begins: within it they get no more than a few
 * additions and factors. */
#ifndef ISA
#ifndef SKCHMM_DELAY_APART_STEPS_H
#define SKCHMM_DELAY_APART_STEPS_H

#include "delay/scaled_steps.h"

#define WIDE_ROW 32             /* tails and what enters lines, then the exponents of both */

typedef struct {
    const Scaled *c;            /* weights, and where paths end */
    double *rows;               /* (mask + 1, WIDE_ROW) */
    int64_t mask;
    double *after_x, *after_e;  /* (after_mask + 1, 8): what follows */
    int64_t after_mask;
    double *runs;               /* (batches, 16): the products before each */
    int64_t live;               /* the first batch after 0 in which something is in a tail */
    double x[8], e[8];          /* tails, or what follows them, */
    double run[8], run_e[8];    /* and products */
} Apart;

#define STEPS "delay/apart_steps.h"
#include "simd/each.h"

#define apart_ahead(...) DISPATCH(apart_ahead)(__VA_ARGS__)
#define apart_mass(...) DISPATCH(apart_mass)(__VA_ARGS__)
#define apart_back(...) DISPATCH(apart_back)(__VA_ARGS__)

#endif
#else

#define WIDE NAME(Wide)

/* The products before each of n steps and after the last, their exponents, and one over them. */
TARGET INLINE WIDE NAME(wide_products)(const Scaled *c, int64_t n, const double *emit,
                                       const int32_t *rows, WIDE run, double *products, double *sizes,
                                       double *inverses)
{
    const W8 step = LOAD(c->step), beyond = NAME(lanes_from)(c->S);
    for (int64_t i = 0; i < n; i++) {
        STORE(products + 8 * i, run.x);
        STORE(sizes + 8 * i, run.e);
        STORE(inverses + 8 * i, INVERSE(run.x));
        run.x = MUL(run.x, NAME(factor)(emit + (rows ? rows[i] : i) * c->S, c->S, beyond, step));
        run.e = ADD(run.e, EXPONENT(run.x));
        run.x = FRACTION(run.x);
    }
    return run;
}

/* The sum over the edges from K places, or into them. */
TARGET INLINE WIDE NAME(wide_edges)(const int K, const double *from, const double *sizes,
                                    const W8 *weights, const W8 *edges)
{
    W8 size[8], even, odd;
    for (int k = 0; k < K; k++)
        size[k] = ADD(SPREAD(sizes[k]), edges[k]);
    W8 top = MAX(MAX(size[0], size[1]), size[2]);
    for (int k = 3; k < K; k++)
        top = MAX(top, size[k]);
    even = MUL(SPREAD(from[0]), LOWER(weights[0], SUB(size[0], top)));
    odd = MUL(SPREAD(from[1]), LOWER(weights[1], SUB(size[1], top)));
    for (int k = 2; k < K; k += 2)
        even = FMA(SPREAD(from[k]), LOWER(weights[k], SUB(size[k], top)), even);
    for (int k = 3; k < K; k += 2)
        odd = FMA(SPREAD(from[k]), LOWER(weights[k], SUB(size[k], top)), odd);
    WIDE r = {ADD(even, odd), top};
    return r;
}

/* n steps from step t on; lines are read if something comes out of them. */
TARGET INLINE WIDE NAME(wide_ahead)(const int K, const Apart *a, int64_t t, int64_t n,
                                    const double *products, const double *product_sizes,
                                    const double *inverses, WIDE x)
{
    const Scaled *c = a->c;
    const W8 keep = LOAD(c->keep);
    W8 weights[8], edges[8];
    double from[8], sizes[8];
    for (int k = 0; k < K; k++) {
        weights[k] = LOAD(c->ahead + 8 * k);
        edges[k] = LOAD(c->edges + 8 * k);
    }
    for (int64_t i = 0; i < 8 * n; i += 8, t++) {
        double *row = a->rows + WIDE_ROW * (t & a->mask);
        STORE(from, MUL(x.x, LOAD(products + i)));
        STORE(sizes, ADD(x.e, LOAD(product_sizes + i)));
        WIDE enter = NAME(wide_edges)(K, from, sizes, weights, edges);
        x.x = MUL(x.x, keep);
        if (t >= c->delay) {
            const double *come = a->rows + WIDE_ROW * ((t - c->delay) & a->mask);
            x = NAME(sum_of)(x, NAME(wide)(come + 8, come + 24));
        }
        enter = NAME(brought_back)(MUL(enter.x, LOAD(inverses + i)),
                                   SUB(enter.e, LOAD(product_sizes + i)));
        NAME(put)(row, row + 16, x);
        NAME(put)(row + 8, row + 24, enter);
    }
    return x;
}

/* n steps from step t on in which all paths are inside the lines that they began in. */
TARGET INLINE void NAME(wide_inside)(const Apart *a, int64_t t, int64_t n)
{
    const WIDE nothing = NAME(nothing)();
    for (; n > 0; n--, t++) {
        double *row = a->rows + WIDE_ROW * (t & a->mask);
        NAME(put)(row, row + 16, nothing);
        NAME(put)(row + 8, row + 24, nothing);
    }
}

/* A batch of n steps from step t on. */
TARGET static void NAME(apart_ahead)(Apart *a, int64_t batch, int64_t t, int64_t n, const double *emit,
                                     const int32_t *rows)
{
    double products[8 * MOST_STEPS], sizes[8 * MOST_STEPS], inverses[8 * MOST_STEPS];
    WIDE x = NAME(normal)(LOAD(a->x), LOAD(a->e)), run = NAME(wide)(a->run, a->run_e);
    NAME(put)(a->runs + 16 * batch, a->runs + 16 * batch + 8, run);
    run = NAME(wide_products)(a->c, n, emit, rows, run, products, sizes, inverses);
    if (t + n <= a->c->delay && !ABOVE(x.x, SPREAD(0.0))) {
        NAME(wide_inside)(a, t, n);
        a->live = batch + 1;
    } else
        x = BY_STATES(wide_ahead, a->c->S, a, t, n, products, sizes, inverses, x);
    NAME(put)(a->run, a->run_e, run);
    NAME(put)(a->x, a->e, x);
}

/* The sum over all paths, x 2^e. */
TARGET static void NAME(apart_mass)(const Apart *a, double *x, double *e)
{
    const Scaled *c = a->c;
    const WIDE run = NAME(wide)(a->run, a->run_e);
    WIDE inside = NAME(nothing)();
    double terms[8], sizes[8];
    for (int64_t t = c->T > c->delay ? c->T - c->delay : 0; t < c->T; t++) {
        const double *row = a->rows + WIDE_ROW * (t & a->mask);
        inside = NAME(sum_of)(inside, NAME(wide)(row + 8, row + 24));
    }
    inside.x = MUL(MUL(inside.x, run.x), LOAD(c->final_inside));
    NAME(put)(terms, sizes, inside);
    for (int64_t k = 0; k < c->S; k++)
        add_up(x, e, terms[k], sizes[k] + a->run_e[k]);
    STORE(terms, MUL(MUL(LOAD(a->x), run.x), LOAD(c->final)));
    for (int64_t k = 0; k < c->S; k++)
        add_up(x, e, terms[k], a->e[k] + a->run_e[k]);
}

/* n steps back, the last of which is step t. */
TARGET INLINE WIDE NAME(wide_back)(const int K, const Apart *a, int64_t t, int64_t n,
                                   const double *products, const double *product_sizes,
                                   const double *inverses, WIDE x)
{
    const Scaled *c = a->c;
    const W8 keep = LOAD(c->keep), norm_x = SPREAD(c->norm_x), norm_e = SPREAD(c->norm_e);
    const WIDE beyond = NAME(normal)(MUL(LOAD(a->run), LOAD(c->final_inside)), LOAD(a->run_e));
    W8 weights[8], edges[8];
    double from[8], sizes[8];
    for (int k = 0; k < K; k++) {
        weights[k] = LOAD(c->back + 8 * k);
        edges[k] = LOAD(c->edges_back + 8 * k);
    }
    for (int64_t i = 8 * n - 8; i >= 0; i -= 8, t--) {
        double *row = a->rows + WIDE_ROW * (t & a->mask);
        const int64_t before = 8 * ((t - 1) & a->after_mask);
        WIDE follow = beyond;
        if (t + c->delay < c->T) {
            const int64_t come = 8 * ((t + c->delay) & a->after_mask);
            follow = NAME(wide)(a->after_x + come, a->after_e + come);
        }
        W8 share = MUL(MUL(LOAD(row), norm_x), x.x);
        STORE(row, LOWER(share, ADD(ADD(LOAD(row + 16), norm_e), x.e)));
        share = MUL(MUL(LOAD(row + 8), norm_x), follow.x);
        STORE(row + 8, LOWER(share, ADD(ADD(LOAD(row + 24), norm_e), follow.e)));
        W8 size = LOAD(product_sizes + i);
        STORE(from, MUL(follow.x, LOAD(inverses + i)));
        STORE(sizes, SUB(follow.e, size));
        WIDE enter = NAME(wide_edges)(K, from, sizes, weights, edges);
        enter = NAME(brought_back)(MUL(enter.x, LOAD(products + i)), ADD(enter.e, size));
        x.x = MUL(x.x, keep);
        x = NAME(sum_of)(x, enter);
        NAME(put)(a->after_x + before, a->after_e + before, x);
    }
    return x;
}

/* A batch back, of the n steps from step t on; posteriors of tails and of entering lines replace what
 * rows hold. */
TARGET static void NAME(apart_back)(Apart *a, int64_t batch, int64_t t, int64_t n, const double *emit,
                                    const int32_t *rows)
{
    const double *run = a->runs + 16 * batch;
    if (batch > 0 && batch < a->live)
        return; /* nothing is there */
    double products[8 * MOST_STEPS], sizes[8 * MOST_STEPS], inverses[8 * MOST_STEPS];
    WIDE x = NAME(wide)(a->x, a->e);
    if (t + n == a->c->T) { /* the products of all steps stay where they are */
        x.x = MUL(LOAD(a->run), LOAD(a->c->final));
        x.e = LOAD(a->run_e);
    }
    x = NAME(normal)(x.x, x.e);
    if (t + n == a->c->T) {
        int64_t last = 8 * ((t + n - 1) & a->after_mask);
        NAME(put)(a->after_x + last, a->after_e + last, x);
    }
    NAME(wide_products)(a->c, n, emit, rows, NAME(wide)(run, run + 8), products, sizes, inverses);
    x = BY_STATES(wide_back, a->c->S, a, t + n - 1, n, products, sizes, inverses, x);
    NAME(put)(a->x, a->e, x);
}

#undef WIDE

#endif
