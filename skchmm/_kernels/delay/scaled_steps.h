/* Steps of the recursions of delay/scaled.pxd, for up to 8 states; one vector is a row.
 *
 * Emissions are plain numbers, and so are weights. Exponents stay as they are for a *group* of
 * steps. A group ends where a product of emissions gets too small, and where what comes out of lines is
 * too large for the exponents of their tails; a single step can hold anything. */
#ifndef ISA
#ifndef SKCHMM_DELAY_SCALED_STEPS_H
#define SKCHMM_DELAY_SCALED_STEPS_H

#include "delay/plain_steps.h"

#define MOST_STEPS 64           /* of a group */
#define WINDOW_STEPS 32         /* whose marginals are divided at once */
#define LEAST_PRODUCT ldexp(1.0, -300) /* of the emissions of a group, but for a single step */
#define FAR_ABOVE 150.0         /* exponents may be so much larger than those of a group */
#define LARGEST_HELD ldexp(1.0, 450) /* of the numbers of a group, next to the 1 that it begins with */

typedef struct {
    int64_t begin;              /* its first step; it ends where the next one begins */
    int live;                   /* whether anything is in a tail, or enters a line */
    double run[8], run_e[8];    /* the products before it, x 2^e */
    double tail_e[8];           /* exponents of tails */
    double enter_e[8];          /* and of what enters lines */
} StepGroup;

typedef struct {
    int64_t high;               /* the last step of a group of the way back */
    double e[8];                /* exponents of what follows */
} BackGroup;

typedef struct {
    int64_t S, T, delay, most;
    double step[8];             /* the transition within each line, and */
    double keep[8];             /* how many times that a tail keeps of itself */
    double ahead[64], edges[64]; /* weights of edges into heads, over these, by source; 0 or NOTHING */
    double back[64], edges_back[64]; /* the same by target */
    double final[8], final_inside[8];
    double *tails;              /* (T, 8), or NULL: only what enters lines is kept, */
    double *enter;              /* (mask + 1, 8) */
    int64_t mask;
    double *after;              /* (T, 8): what follows, and a row before */
    StepGroup *groups;          /* (group_mask + 1) */
    int64_t n_groups, group_mask, most_groups;
    int64_t from;               /* the group that lines are read from; -1: none */
    double x[8], e[8];          /* tails, or what follows them, */
    double run[8], run_e[8];    /* and products */
    BackGroup *back_groups;
    int64_t n_back, from_back;
    double norm_x, norm_e;      /* one over the sum over all paths */
    const double *factors;      /* (rows, 8): emissions times transitions, or NULL, and */
    const double *inverses;     /* one over these */
} Scaled;

/* f for a number of states that the compiler knows. */
#define BY_STATES(f, S, ...)                                                                \
    ((S) <= 3 ? NAME(f)(3, __VA_ARGS__) : (S) == 4 ? NAME(f)(4, __VA_ARGS__)                \
     : (S) == 5 ? NAME(f)(5, __VA_ARGS__) : (S) == 6 ? NAME(f)(6, __VA_ARGS__)              \
     : NAME(f)(8, __VA_ARGS__))

#define STEPS "delay/scaled_steps.h"
#include "simd/each.h"

#define scaled_open(...) DISPATCH(scaled_open)(__VA_ARGS__)
#define scaled_factors(...) DISPATCH(scaled_factors)(__VA_ARGS__)
#define scaled_ahead(...) DISPATCH(scaled_ahead)(__VA_ARGS__)
#define scaled_mass(...) DISPATCH(scaled_mass)(__VA_ARGS__)
#define scaled_back(...) DISPATCH(scaled_back)(__VA_ARGS__)
#define scaled_window(...) DISPATCH(scaled_window)(__VA_ARGS__)

#endif
#else

#define WIDE NAME(Wide)

/* The weights of a graph, from those by entry of its blocks and of its lines. */
TARGET static void NAME(scaled_open)(Scaled *f, const Core *c, int64_t S, const double *x, const double *e,
                                   const double *line_x, const double *line_e)
{
    const Blocks *b = &c->blocks;
    const W8 zero = SPREAD(0.0), step = NAME(shifted)(LOAD(line_x), LOAD(line_e));
    double most = 0.0;
    f->S = S;
    f->delay = c->same;
    STORE(f->step, step);
    STORE(f->keep, DIV(NAME(shifted)(LOAD(x), LOAD(e)), step));
    for (int64_t k = 0; k < 64; k++)
        f->ahead[k] = 0.0;
    for (int64_t k = b->start[1]; k < b->start[2]; k++)
        STORE(f->ahead + 8 * b->source[k],
              DIV(NAME(shifted)(LOAD(x + 8 * k), LOAD(e + 8 * k)), step));
    for (int64_t k = 0; k < 64; k++)
        f->back[k] = f->ahead[k % 8 * 8 + k / 8];
    for (int64_t k = 0; k < 64; k += 8) {
        STORE(f->edges + k, PICK(LOAD(f->ahead + k), zero, zero, SPREAD(NOTHING)));
        STORE(f->edges_back + k, PICK(LOAD(f->back + k), zero, zero, SPREAD(NOTHING)));
    }
    for (int64_t k = 0; k < S; k++)
        most = fmax(most, fabs(log2(f->keep[k])));
    f->most = most * MOST_STEPS > 100.0 ? 1 + (int64_t)(100.0 / most) : MOST_STEPS;
}

/* Emissions times the transitions within lines; lanes without a state have 1. */
TARGET INLINE W8 NAME(factor)(const double *row, int64_t n_states, W8 beyond, W8 step)
{ return MUL(ADD(SOME(row, n_states), beyond), step); }

TARGET static void NAME(scaled_factors)(const Scaled *f, int64_t n, const double *emit, double *factors,
                                      double *inverses)
{
    const W8 beyond = NAME(lanes_from)(f->S), step = LOAD(f->step);
    for (int64_t i = 0; i < n; i++) {
        W8 factor = NAME(factor)(emit + i * f->S, f->S, beyond, step);
        STORE(factors + 8 * i, factor);
        STORE(inverses + 8 * i, DIV(SPREAD(1.0), factor));
    }
}

/* The products before each of up to n steps and after the last, and one over them; how many steps
 * these are. */
TARGET INLINE int64_t NAME(products)(const Scaled *f, int64_t n, const double *emit, const int32_t *rows,
                                     W8 run, double *products, double *inverses)
{
    const W8 least = SPREAD(LEAST_PRODUCT), one = SPREAD(1.0), step = LOAD(f->step);
    const W8 beyond = NAME(lanes_from)(f->S);
    W8 inverse = DIV(one, run);
    int64_t i = 0;
    STORE(products, run);
    STORE(inverses, inverse);
    while (i < n) {
        if (f->factors) {
            run = MUL(run, LOAD(f->factors + 8 * rows[i]));
            inverse = MUL(inverse, LOAD(f->inverses + 8 * rows[i]));
        } else {
            run = MUL(run, NAME(factor)(emit + i * f->S, f->S, beyond, step));
            inverse = DIV(one, run);
        }
        if (ABOVE(least, run) && i > 0)
            break;
        i++;
        STORE(products + 8 * i, run);
        STORE(inverses + 8 * i, inverse);
    }
    return i;
}

/* The largest exponent at the other ends of edges. */
TARGET INLINE W8 NAME(largest_end)(const Scaled *f, const double *edges, W8 e)
{
    double sizes[8];
    W8 top = SPREAD(2.0 * NOTHING);
    STORE(sizes, e);
    for (int64_t k = 0; k < f->S; k++)
        top = MAX(top, ADD(SPREAD(sizes[k]), LOAD(edges + 8 * k)));
    return top;
}
/* Weights of edges from exponents e to others. */
TARGET INLINE void NAME(weigh_edges)(const Scaled *f, const double *base, W8 e, W8 to, double *out)
{
    double sizes[8];
    STORE(sizes, e);
    for (int64_t k = 0; k < f->S; k++) {
        W8 by = MIN(SUB(SPREAD(sizes[k]), to), SPREAD(900.0));
        STORE(out + 8 * k, NAME(shifted)(LOAD(base + 8 * k), by));
    }
    for (int64_t k = f->S; k < 8; k++)
        STORE(out + 8 * k, SPREAD(0.0));
}

/* The sum over the edges from K places, or into them. */
TARGET INLINE W8 NAME(edges_sum)(const int K, const double *from, const W8 *weights)
{
    W8 even = MUL(SPREAD(from[0]), weights[0]), odd = MUL(SPREAD(from[1]), weights[1]);
    for (int k = 2; k < K; k += 2)
        even = FMA(SPREAD(from[k]), weights[k], even);
    for (int k = 3; k < K; k += 2)
        odd = FMA(SPREAD(from[k]), weights[k], odd);
    return ADD(even, odd);
}

/* n steps that read lines at `come`, if at all. */
TARGET INLINE W8 NAME(ahead_run)(const int K, int64_t n, const double *products,
                                 const double *inverses, const double *weights, W8 x, W8 keep,
                                 W8 scale, const double *come, double *enter, double *tails)
{
    W8 held[8];
    double from[8];
    for (int k = 0; k < K; k++)
        held[k] = LOAD(weights + 8 * k);
    for (int64_t i = 0; i < 8 * n; i += 8) {
        STORE(from, MUL(x, LOAD(products + i)));
        STORE(enter + i, MUL(NAME(edges_sum)(K, from, held), LOAD(inverses + i)));
        x = MUL(x, keep);
        if (come)
            x = FMA(LOAD(come + i), scale, x);
        if (tails)
            STORE(tails + i, x);
    }
    return x;
}

/* n steps back. */
TARGET INLINE W8 NAME(back_run)(const int K, int64_t n, const double *products, const double *inverses,
                                const double *weights, W8 x, W8 keep, W8 tail_factor,
                                W8 enter_factor, const double *come, int64_t stride, double *enter,
                                double *tails, double *after)
{
    W8 held[8];
    double from[8];
    for (int k = 0; k < K; k++)
        held[k] = LOAD(weights + 8 * k);
    for (int64_t i = 0; i > -8 * n; i -= 8, come -= stride) {
        W8 follow = LOAD(come);
        STORE(tails + i, MUL(MUL(LOAD(tails + i), tail_factor), x));
        STORE(enter + i, MUL(MUL(LOAD(enter + i), enter_factor), follow));
        STORE(from, MUL(follow, LOAD(inverses + i)));
        x = FMA(LOAD(products + i), NAME(edges_sum)(K, from, held), MUL(x, keep));
        STORE(after + i, x);
    }
    return x;
}
#define GROUP(i) (f->groups + ((i) & f->group_mask))
TARGET INLINE int64_t NAME(group_ahead)(Scaled *f, int64_t t, int64_t n, const double *emit,
                                        const int32_t *rows)
{
    const W8 far = SPREAD(FAR_ABOVE), zero = SPREAD(0.0), one = SPREAD(1.0), keep = LOAD(f->keep);
    const W8 nothing = SPREAD(NOTHING);
    double products[8 * MOST_STEPS + 8], inverses[8 * MOST_STEPS + 8], weights[64];
    WIDE x = NAME(normal)(LOAD(f->x), LOAD(f->e));
    WIDE run = NAME(normal)(LOAD(f->run), LOAD(f->run_e));
    W8 sizes = ADD(x.e, run.e), top = NAME(largest_end)(f, f->edges, sizes), scale = zero;
    int64_t done = 0, moved = 1;
    StepGroup *group = GROUP(f->n_groups++);
    NAME(weigh_edges)(f, f->ahead, sizes, top, weights);
    group->begin = t;
    STORE(group->run, run.x);
    STORE(group->run_e, run.e);
    STORE(group->enter_e, PICK(top, SPREAD(0.5 * NOTHING), SUB(top, run.e), nothing));
    n = NAME(products)(f, n < f->most ? n : f->most, emit, rows, run.x, products, inverses);
    while (done < n) {
        int64_t stop = n, at = (t + done) & f->mask, since = t + done - f->delay;
        const double *come = NULL;
        while (f->from + 1 < f->n_groups && GROUP(f->from + 1)->begin <= since) {
            f->from++;
            moved = 1;
        }
        if (f->from + 1 < f->n_groups) {
            int64_t next = GROUP(f->from + 1)->begin + f->delay - t;
            stop = next < stop ? next : stop;
        }
        if (f->from >= 0) {
            int64_t rest = f->mask + 1 - (since & f->mask);
            come = f->enter + 8 * (since & f->mask);
            stop = stop - done > rest ? done + rest : stop;
        }
        if (stop - done > f->mask + 1 - at)
            stop = done + f->mask + 1 - at;
        if (f->from >= 0 && moved) {
            W8 size = LOAD(GROUP(f->from)->enter_e), by = SUB(size, x.e);
            if (RARELY(ABOVE(ADD(by, EXPONENT(LOAD(products + 8 * done))), far))) {
                if (done > 0)
                    break;
                /* A single step: tails get exponents that no edge of this step knows. */
                W8 larger = PICK(by, far, size, x.e);
                BY_STATES(ahead_run, f->S, 1, products, inverses, weights, x.x, keep, zero, NULL,
                          f->enter + 8 * at, NULL);
                x.x = NAME(shifted)(MUL(x.x, keep), SUB(x.e, larger));
                x.x = ADD(x.x, NAME(shifted)(LOAD(come), SUB(size, larger)));
                x.e = larger;
                if (f->tails)
                    STORE(f->tails + 8 * t, x.x);
                done = 1;
                break;
            }
            scale = NAME(shifted)(one, by);
        }
        moved = 0;
        x.x = BY_STATES(ahead_run, f->S, stop - done, products + 8 * done, inverses + 8 * done,
                        weights, x.x, keep, scale, come, f->enter + 8 * at,
                        f->tails ? f->tails + 8 * (t + done) : NULL);
        done = stop;
    }
    STORE(group->tail_e, x.e);
    group->live = ABOVE(x.x, zero) != 0;
    STORE(f->x, x.x);
    STORE(f->e, x.e);
    STORE(f->run, LOAD(products + 8 * done));
    STORE(f->run_e, run.e);
    return done;
}

TARGET INLINE int NAME(too_large)(const Scaled *f)
{ return ABOVE(LOAD(f->x), SPREAD(LARGEST_HELD)) != 0; }

/* n steps from step t on; rows of emissions, or numbers of rows of `factors`. Returns 0 where the numbers
 * of a group are too far apart, or groups too many. */
TARGET static int NAME(scaled_ahead)(Scaled *f, int64_t t, int64_t n, const double *emit,
                                   const int32_t *rows)
{
    for (int64_t i = 0; i < n;) {
        if (f->tails && f->n_groups == f->most_groups)
            return 0;
        i += NAME(group_ahead)(f, t + i, n - i, emit + i * f->S, rows ? rows + i : NULL);
        if (NAME(too_large)(f))
            return 0;
    }
    return 1;
}

/* The sum over all paths, x 2^e. */
TARGET static void NAME(scaled_mass)(const Scaled *f, double *x, double *e)
{
    const W8 run = LOAD(f->run), run_e = LOAD(f->run_e);
    double terms[8], sizes[8];
    int64_t end = f->T;
    STORE(terms, MUL(MUL(LOAD(f->x), run), LOAD(f->final)));
    STORE(sizes, ADD(LOAD(f->e), run_e));
    for (int64_t k = 0; k < f->S; k++)
        add_up(x, e, terms[k], sizes[k]);
    for (int64_t i = f->n_groups - 1; i >= 0 && end > f->T - f->delay; i--) {
        const StepGroup *group = GROUP(i);
        int64_t t = group->begin > f->T - f->delay ? group->begin : f->T - f->delay;
        W8 sum = SPREAD(0.0);
        for (; t < end; t++)
            sum = ADD(sum, LOAD(f->enter + 8 * (t & f->mask)));
        STORE(terms, MUL(MUL(sum, run), LOAD(f->final_inside)));
        STORE(sizes, ADD(LOAD(group->enter_e), run_e));
        for (int64_t k = 0; k < f->S; k++)
            add_up(x, e, terms[k], sizes[k]);
        end = group->begin;
    }
}

/* 2^(a + b) / Z: a power that is not a double belongs to what is not seen in a sum of probabilities. */
TARGET INLINE W8 NAME(share_of)(const Scaled *f, W8 a, W8 b)
{
    W8 by = MIN(MAX(ADD(ADD(a, b), SPREAD(f->norm_e)), SPREAD(-900.0)), SPREAD(1000.0));
    return MUL(SPREAD(f->norm_x), POWER(by));
}

TARGET INLINE void NAME(new_back_group)(Scaled *f, int64_t high, W8 e)
{
    BackGroup *group = f->back_groups + f->n_back++;
    group->high = high;
    STORE(group->e, e);
}

TARGET INLINE void NAME(group_back)(Scaled *f, const StepGroup *group, int64_t n, const double *emit,
                                    const int32_t *rows)
{
    const W8 keep = LOAD(f->keep), run_e = LOAD(group->run_e), far = SPREAD(FAR_ABOVE);
    const W8 tail_e = LOAD(group->tail_e), enter_e = LOAD(group->enter_e);
    double products[8 * MOST_STEPS + 8], inverses[8 * MOST_STEPS + 8], weights[64], beyond[8];
    WIDE x = NAME(normal)(LOAD(f->x), LOAD(f->e));
    NAME(products)(f, n, emit, rows, LOAD(group->run), products, inverses);
    NAME(new_back_group)(f, group->begin + n - 2, x.e);
    STORE(beyond, MUL(LOAD(f->run), LOAD(f->final_inside)));
    for (int64_t done = n; done > 0;) { /* step t is the one before `done` */
        const int64_t t = group->begin + done - 1, to = t + f->delay;
        int64_t low = group->begin, stride = 8;
        const double *come = f->after + 8 * to;
        double *after = f->after + 8 * (t - 1);
        W8 size;
        if (to >= f->T) {
            low = f->T - f->delay > low ? f->T - f->delay : low;
            come = beyond;
            stride = 0;
            size = LOAD(f->run_e);
        } else {
            while (f->from_back + 1 < f->n_back && f->back_groups[f->from_back + 1].high >= to)
                f->from_back++;
            size = LOAD(f->back_groups[f->from_back].e);
            if (f->from_back + 1 < f->n_back) {
                int64_t next = f->back_groups[f->from_back + 1].high - f->delay + 1;
                low = next > low ? next : low;
            }
        }
        W8 sizes = SUB(size, run_e);
        W8 top = ADD(NAME(largest_end)(f, f->edges_back, sizes), run_e);
        W8 most = ADD(top, EXPONENT(LOAD(products + 8 * done - 8)));
        W8 tail_factor = NAME(share_of)(f, tail_e, x.e), enter_factor = NAME(share_of)(f, enter_e, size);
        double scratch[8], *tails = f->tails + 8 * t;
        if (RARELY(ABOVE(SUB(most, x.e), far))) {
            W8 larger = PICK(SUB(most, x.e), far, most, x.e);
            STORE(tails, MUL(MUL(LOAD(tails), tail_factor), x.x));
            x.x = NAME(shifted)(x.x, SUB(x.e, larger));
            x.e = larger;
            NAME(new_back_group)(f, t - 1, x.e);
            tails = scratch;
            STORE(scratch, SPREAD(0.0));
            low = t;
        }
        NAME(weigh_edges)(f, f->back, sizes, SUB(x.e, run_e), weights);
        x.x = BY_STATES(back_run, f->S, t - low + 1, products + 8 * done - 8,
                        inverses + 8 * done - 8, weights, x.x, keep, tail_factor, enter_factor,
                        come, stride, f->enter + 8 * t, tails, after);
        done -= t - low + 1;
    }
    STORE(f->x, x.x);
    STORE(f->e, x.e);
}

/* The way back through some groups, the last one first; posteriors of tails and of entering lines replace
 * what these hold. Returns 0 as scaled_ahead does. */
TARGET static int NAME(scaled_back)(Scaled *f, int64_t first, int64_t last, const double *emit,
                                   const int32_t *rows)
{
    if (last == f->n_groups - 1) { /* R_{T-1} stays where it is */
        STORE(f->e, LOAD(f->run_e));
        STORE(f->x, MUL(LOAD(f->run), LOAD(f->final)));
        STORE(f->after + 8 * (f->T - 1), LOAD(f->x));
        f->n_back = f->from_back = 0;
        NAME(new_back_group)(f, f->T - 1, LOAD(f->e));
    }
    for (int64_t i = last; i >= first; i--) {
        const StepGroup *group = GROUP(i);
        int64_t end = i + 1 < f->n_groups ? GROUP(i + 1)->begin : f->T;
        if (f->n_back + end - group->begin + 1 > f->most_groups)
            return 0;
        if (group->live)
            NAME(group_back)(f, group, end - group->begin, emit + group->begin * f->S,
                             rows ? rows + group->begin : NULL);
        if (NAME(too_large)(f))
            return 0;
    }
    return 1;
}
#undef GROUP

/* Up to WINDOW_STEPS rows of 8, divided by their sums. */
TARGET INLINE void NAME(marginals_of)(int64_t n, const double *rows, int64_t S, int64_t room,
                                      double *gamma)
{
    double shares[WINDOW_STEPS];
    for (int64_t i = 0; i < n; i += 8) {
        W8 x[8];
        for (int64_t k = 0; k < 8; k++)
            x[k] = LOAD(rows + 8 * (i + k < n ? i + k : n - 1));
        STORE(shares + i, NAME(one_over_sums)(x));
    }
    for (int64_t i = 0; i < n; i++) {
        W8 row = MUL(LOAD(rows + 8 * i), SPREAD(shares[i]));
        if (room - i * S >= 8)
            STORE(gamma + i * S, row); /* the next rows are still to come */
        else
            STORE_HEAD(gamma + i * S, row, S);
    }
}

/* delay_window for posteriors of tails and of entering lines, of blocks of `delay` steps; rows are
 * `stride` apart. Of steps before `live`, but for the first, there are none: nothing is in a tail or enters.
 * `rest` has the sums of what enters from a step on, to the end of its block; or is NULL, and they are put
 * in its place. */
TARGET static void NAME(scaled_window)(const Scaled *f, int64_t from, int64_t to, const double *tails,
                                       double *enter, const double *rest, int64_t stride, int64_t live,
                                       double *gamma)
{
    const int64_t delay = f->delay, S = f->S;
    double rows[8 * WINDOW_STEPS];
    int64_t held = 0;
    for (int64_t begin = from; begin < to; begin += delay) {
        const int64_t end = begin + delay < to ? begin + delay : to;
        W8 sum = SPREAD(0.0), later = sum;
        for (int64_t t = begin; t < end; t++) {
            W8 all = sum;
            if (t >= live || t == 0) {
                sum = ADD(sum, LOAD(enter + stride * t));
                all = ADD(sum, LOAD(tails + stride * t));
            }
            if (begin > 0) {
                const int64_t since = t - delay + 1 < live ? live : t - delay + 1;
                if (since < begin)
                    all = ADD(all, LOAD((rest ? rest : enter) + stride * since));
            }
            STORE(rows + 8 * held++, all);
            if (held == WINDOW_STEPS || t == to - 1) {
                const int64_t first = t + 1 - held;
                NAME(marginals_of)(held, rows, S, (to - first) * S, gamma + first * S);
                held = 0;
            }
        }
        for (int64_t t = end - 1; !rest && t >= begin && end < to; t--) {
            later = ADD(later, LOAD(enter + stride * t));
            STORE(enter + stride * t, later);
        }
    }
}
#undef WIDE

#endif
