/* Steps of the recursions of delay/apart.pxd, for up to 8 states; one vector is a row.
 *
 * The recursions are those of delay/scaled.pxd. Here every number has an exponent of its own in every
 * step, x 2^e, so emissions may be as far apart as they like, and no step waits for a branch: what
 * is added up is brought to the larger exponent first. Exponents are whole numbers in doubles; x is 0
 * where e is about NOTHING, and nowhere else. Tails are brought back to 1 <= x < 2 where a batch of
 * steps begins. What is added to them then comes from sums over edges, in which x is not far from 1: they
 * are made at a level that changes where it would be. */
#ifndef ISA
#ifndef SKCHMM_DELAY_APART_STEPS_H
#define SKCHMM_DELAY_APART_STEPS_H

#include "delay/scaled_steps.h"

#define WIDE_ROW 32             /* tails and what enters lines, then the exponents of both */
#define HELD ldexp(1.0, 300)    /* numbers may be so much larger, or smaller, than their exponents say */

typedef struct {
    const Scaled *c;            /* weights, and where paths end */
    double *rows;               /* (mask + 1, WIDE_ROW) */
    int64_t mask;
    double *after_x, *after_e;  /* (after_mask + 1, 8): what follows */
    int64_t after_mask;
    double *runs;               /* (batches, 16): the products before each */
    int64_t live;               /* the first step after 0 in which something may be in a tail, or enter */
    double x[8], e[8];          /* tails, or what follows them, */
    double run[8], run_e[8];    /* and products */
    int64_t block;              /* on the way back, where a block of `delay` steps begins, */
    double rest[8];             /* and what enters in it from a step on; see scaled_window */
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

/* Where sums over edges are made: weights from sources of about 2^from to targets of 2^to. */
typedef struct { W8 from, to, least, weights[8]; } NAME(Level);

/* None yet: the first sources find one. */
TARGET INLINE NAME(Level) NAME(no_level)(void)
{ NAME(Level) level = {.from = SPREAD(NOTHING), .least = SPREAD(INFINITY)}; return level; }

/* The level of sources x 2^e. What it takes for nothing is less than 2^-400 of a sum, as long as all sources
 * are within 2^HELD of where they are now. */
TARGET INLINE void NAME(find_level)(const int K, WIDE sources, const double *weights,
                                    const double *edges, NAME(Level) *level)
{
    double sizes[8];
    W8 size[8], top = SPREAD(2.0 * NOTHING);
    level->from = NAME(normal)(sources.x, sources.e).e;
    level->least = PICK(sources.x, SPREAD(0.0), SPREAD(1.0 / HELD), SPREAD(-1.0));
    STORE(sizes, level->from);
    for (int k = 0; k < K; k++) {
        size[k] = ADD(SPREAD(sizes[k]), LOAD(edges + 8 * k));
        top = MAX(top, size[k]);
    }
    for (int k = 0; k < K; k++)
        level->weights[k] = LOWER(LOAD(weights + 8 * k), SUB(size[k], top));
    level->to = top;
}

/* The sum over the edges from K places, or into them; the level is found anew where sources have moved. */
TARGET INLINE WIDE NAME(wide_edges)(const int K, WIDE sources, const double *weights,
                                    const double *edges, NAME(Level) *level)
{
    const W8 most = SPREAD(HELD), far = SPREAD(900.0);
    double from[8];
    W8 here = LOWER(sources.x, MIN(SUB(sources.e, level->from), far));
    if (RARELY(ABOVE(level->least, here) | ABOVE(here, most))) {
        NAME(find_level)(K, sources, weights, edges, level);
        here = LOWER(sources.x, MIN(SUB(sources.e, level->from), far));
    }
    STORE(from, here);
    WIDE r = {NAME(edges_sum)(K, from, level->weights), level->to};
    return r;
}

/* n steps from step t on; lines are read if something comes out of them. */
TARGET INLINE WIDE NAME(wide_ahead)(const int K, const Apart *a, int64_t t, int64_t n,
                                    const double *products, const double *product_sizes,
                                    const double *inverses, WIDE x)
{
    const Scaled *c = a->c;
    const W8 keep = LOAD(c->keep);
    NAME(Level) level = NAME(no_level)();
    for (int64_t i = 0; i < 8 * n; i += 8, t++) {
        double *row = a->rows + WIDE_ROW * (t & a->mask);
        const W8 size = LOAD(product_sizes + i);
        WIDE enter = {MUL(x.x, LOAD(products + i)), ADD(x.e, size)};
        enter = NAME(wide_edges)(K, enter, c->ahead, c->edges, &level);
        x.x = MUL(x.x, keep);
        const int64_t since = t - c->delay;
        if (since == 0 || since >= a->live) {
            const double *come = a->rows + WIDE_ROW * (since & a->mask);
            x = NAME(sum_of)(x, NAME(wide)(come + 8, come + 24));
        }
        enter.x = MUL(enter.x, LOAD(inverses + i));
        enter.e = SUB(enter.e, size);
        NAME(put)(row, row + 16, x);
        NAME(put)(row + 8, row + 24, enter);
    }
    return x;
}

/* A batch of n steps from step t on. */
TARGET static void NAME(apart_ahead)(Apart *a, int64_t batch, int64_t t, int64_t n, const double *emit,
                                     const int32_t *rows)
{
    double products[8 * MOST_STEPS], sizes[8 * MOST_STEPS], inverses[8 * MOST_STEPS];
    WIDE x = NAME(normal)(LOAD(a->x), LOAD(a->e)), run = NAME(wide)(a->run, a->run_e);
    NAME(put)(a->runs + 16 * batch, a->runs + 16 * batch + 8, run);
    run = NAME(wide_products)(a->c, n, emit, rows, run, products, sizes, inverses);
    if (t + n <= a->c->delay && !ABOVE(x.x, SPREAD(0.0)))
        a->live = t + n; /* all paths are inside the lines that they began in */
    else
        x = BY_STATES(wide_ahead, a->c->S, a, t, n, products, sizes, inverses, x);
    NAME(put)(a->run, a->run_e, run);
    NAME(put)(a->x, a->e, x);
}

/* The sum over all paths, x 2^e. */
TARGET static void NAME(apart_mass)(const Apart *a, double *x, double *e)
{
    const Scaled *c = a->c;
    const WIDE run = NAME(wide)(a->run, a->run_e);
    WIDE inside, sums[4]; /* that do not wait for each other */
    double terms[8], sizes[8];
    int64_t t = c->T > c->delay ? c->T - c->delay : 0;
    for (int i = 0; i < 4; i++)
        sums[i] = NAME(nothing)();
    if (t == 0)
        sums[0] = NAME(wide)(a->rows + 8, a->rows + 24);
    for (t = t < a->live ? a->live : t; t < c->T; t++) {
        const double *row = a->rows + WIDE_ROW * (t & a->mask);
        sums[t & 3] = NAME(sum_of)(sums[t & 3], NAME(wide)(row + 8, row + 24));
    }
    inside = NAME(sum_of)(NAME(sum_of)(sums[0], sums[1]), NAME(sum_of)(sums[2], sums[3]));
    inside.x = MUL(MUL(inside.x, run.x), LOAD(c->final_inside));
    NAME(put)(terms, sizes, inside);
    for (int64_t k = 0; k < c->S; k++)
        add_up(x, e, terms[k], sizes[k] + a->run_e[k]);
    STORE(terms, MUL(MUL(LOAD(a->x), run.x), LOAD(c->final)));
    for (int64_t k = 0; k < c->S; k++)
        add_up(x, e, terms[k], a->e[k] + a->run_e[k]);
}

/* n steps back, the last of which is step t. */
TARGET INLINE WIDE NAME(wide_back)(const int K, Apart *a, int64_t t, int64_t n,
                                   const double *products, const double *product_sizes,
                                   const double *inverses, WIDE x)
{
    const Scaled *c = a->c;
    const W8 keep = LOAD(c->keep), norm_x = SPREAD(c->norm_x), norm_e = SPREAD(c->norm_e);
    const WIDE beyond = NAME(normal)(MUL(LOAD(a->run), LOAD(c->final_inside)), LOAD(a->run_e));
    NAME(Level) level = NAME(no_level)();
    W8 rest = LOAD(a->rest);
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
        share = LOWER(share, ADD(ADD(LOAD(row + 24), norm_e), follow.e));
        rest = ADD(rest, share);
        STORE(row + 8, share);
        STORE(row + 24, rest);
        if (t == a->block) {
            rest = SPREAD(0.0);
            a->block -= c->delay;
        }
        const W8 size = LOAD(product_sizes + i);
        WIDE enter = {MUL(follow.x, LOAD(inverses + i)), SUB(follow.e, size)};
        enter = NAME(wide_edges)(K, enter, c->back, c->edges_back, &level);
        enter.x = MUL(enter.x, LOAD(products + i));
        enter.e = ADD(enter.e, size);
        x.x = MUL(x.x, keep);
        x = NAME(sum_of)(x, enter);
        NAME(put)(a->after_x + before, a->after_e + before, x);
    }
    STORE(a->rest, rest);
    return x;
}

/* A batch back, of the n steps from step t on; posteriors of tails and of entering lines replace what
 * rows hold. */
TARGET static void NAME(apart_back)(Apart *a, int64_t batch, int64_t t, int64_t n, const double *emit,
                                    const int32_t *rows)
{
    const double *run = a->runs + 16 * batch;
    if (t > 0 && t < a->live)
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
