/* Steps of the recursions of delay/lanes_sums.pyx, for 8 sequences; one vector operation an edge.
 *
 * A number is x 2^e. Exponents stay as they are for a group of steps, and are whole numbers in doubles;
 * NOTHING is that of 0. Places are numbered without gaps here: those that are no heads, then the heads. */
#ifndef ISA
#ifndef SKCHMM_DELAY_LANES_SUM_STEPS_H
#define SKCHMM_DELAY_LANES_SUM_STEPS_H

#include "lanes/fill_steps.h"

#define NOTHING (-1e18)
#define FAR 100.0               /* exponents may differ by so much from what they should be */
#define MOST 64                 /* steps of a group */
#define NEGLIGIBLE (-600.0)     /* 2^this of a term next to another is not seen in their sum */

/* The core of a graph with delay lines, and its weights. */
typedef struct {
    int64_t n_plain, n_lines;
    const int32_t *first;       /* edges into place m: first[m] .. first[m + 1] */
    const int32_t *sources;
    const int32_t *out;         /* edges from place m that is no head: out[m] .. */
    const int32_t *targets;
    const int32_t *arriving;    /* lines into place m: into[arriving[m]] .. */
    const int32_t *into;
    const int32_t *tail;        /* place of each line */
    const int64_t *delay;
    const int32_t *states;      /* of places */
    const double *step;         /* (lines): the transition within each */
    const double *final;        /* (lines): what ending inside is worth */
} LaneCore;

#define LEAST_PRODUCT ldexp(1.0, -200) /* of the emissions of a group, but for a single step */

#define STEPS "delay/lanes_sum_steps.h"
#include "simd/each.h"

#define delay_lanes_exp(...) DISPATCH(delay_lanes_exp)(__VA_ARGS__)
#define delay_lanes_normal(...) DISPATCH(delay_lanes_normal)(__VA_ARGS__)
#define delay_lanes_reach(...) DISPATCH(delay_lanes_reach)(__VA_ARGS__)
#define delay_lanes_weigh(...) DISPATCH(delay_lanes_weigh)(__VA_ARGS__)
#define delay_lanes_apart(...) DISPATCH(delay_lanes_apart)(__VA_ARGS__)
#define delay_lanes_sizes(...) DISPATCH(delay_lanes_sizes)(__VA_ARGS__)
#define delay_lanes_larger(...) DISPATCH(delay_lanes_larger)(__VA_ARGS__)
#define delay_lanes_rescale(...) DISPATCH(delay_lanes_rescale)(__VA_ARGS__)
#define delay_lanes_factors(...) DISPATCH(delay_lanes_factors)(__VA_ARGS__)
#define delay_lanes_ahead(...) DISPATCH(delay_lanes_ahead)(__VA_ARGS__)
#define delay_lanes_back(...) DISPATCH(delay_lanes_back)(__VA_ARGS__)
#define delay_lanes_inside(...) DISPATCH(delay_lanes_inside)(__VA_ARGS__)
#define delay_lanes_window(...) DISPATCH(delay_lanes_window)(__VA_ARGS__)
#define delay_lanes_write(...) DISPATCH(delay_lanes_write)(__VA_ARGS__)

#endif
#else

#include "simd/exp.h"

/* Logarithms to probabilities relative to the largest of a step, in place. The largest are added to
 * `total` for the first active(t) lanes. Returns the lanes with one below `least`. */
TARGET static int NAME(delay_lanes_exp)(int64_t n, int64_t n_states, double least,
                                        const int8_t *active, double *table, double *total)
{
    const W8 limit = SPREAD(least);
    int beyond = 0;
    for (int64_t t = 0; t < n; t++, table += 8 * n_states) {
        double tops[8];
        W8 top = LOAD(table), low = top;
        for (int64_t i = 1; i < n_states; i++) {
            top = MAX(top, LOAD(table + 8 * i));
            low = MIN(low, LOAD(table + 8 * i));
        }
        STORE(tops, top);
        for (int l = 0; l < active[t]; l++)
            total[l] += tops[l];
        beyond |= (0xFF & ~ABOVE(SUB(low, top), limit)) & ((1 << active[t]) - 1);
        for (int64_t i = 0; i < n_states; i++) {
            W8 x = SUB(LOAD(table + 8 * i), top);
            STORE(table + 8 * i, NAME(exp_within)(PICK(x, limit, x, limit)));
        }
    }
    return beyond;
}

/* The same n numbers (of 8 lanes) with 1 <= x < 2. */
TARGET static void NAME(delay_lanes_normal)(int64_t n, double *x, double *e)
{
    const W8 zero = SPREAD(0.0), nothing = SPREAD(NOTHING);
    for (int64_t i = 0; i < 8 * n; i += 8) {
        W8 here = LOAD(x + i), size = EXPONENT(MAX(here, SPREAD(1e-300)));
        STORE(x + i, MUL(here, POWER(SUB(zero, size))));
        STORE(e + i, PICK(here, zero, ADD(LOAD(e + i), size), nothing));
    }
}

/* For each of n places the largest exponent of those that lead to it by edges, and what it has already
 * in `out`. */
TARGET static void NAME(delay_lanes_reach)(int64_t n, const int32_t *first, const int32_t *others,
                                           const double *e, double *out)
{
    for (int64_t m = 0; m < n; m++) {
        W8 top = LOAD(out + 8 * m);
        for (int64_t k = first[m]; k < first[m + 1]; k++)
            top = MAX(top, LOAD(e + 8 * others[k]));
        STORE(out + 8 * m, top);
    }
}

/* Weights (edges, 8) = base 2^(exponent of the other end before - that of the place after). */
TARGET static void NAME(delay_lanes_weigh)(int64_t n, const int32_t *first, const int32_t *others,
                                           const double *base, const double *before,
                                           const double *after, double *out)
{
    const W8 least = SPREAD(NEGLIGIBLE), most = SPREAD(700.0), zero = SPREAD(0.0);
    for (int64_t m = 0; m < n; m++) {
        W8 to = LOAD(after + 8 * m);
        for (int64_t k = first[m]; k < first[m + 1]; k++) {
            W8 by = SUB(LOAD(before + 8 * others[k]), to);
            W8 power = PICK(by, least, POWER(MIN(MAX(by, least), most)), zero);
            STORE(out + 8 * k, MUL(SPREAD(base[k]), power));
        }
    }
}

/* Lanes in which some of n exponents b is more than `limit` above a; or `either` way, where a is something. */
TARGET static int NAME(delay_lanes_apart)(int64_t n, const double *a, const double *b, double limit,
                                          int either)
{
    const W8 far = SPREAD(limit), nothing = SPREAD(0.5 * NOTHING);
    int lanes = 0;
    for (int64_t i = 0; i < 8 * n; i += 8) {
        W8 x = LOAD(a + i), y = LOAD(b + i);
        int above = ABOVE(SUB(y, x), far);
        lanes |= either ? (above | ABOVE(SUB(x, y), far)) & ABOVE(x, nothing) : above;
    }
    return lanes;
}

/* n exponents a + sign b, NOTHING where a is; and the larger of both. */
TARGET static void NAME(delay_lanes_sizes)(int64_t n, const double *a, double sign, const double *b,
                                           double *out)
{
    const W8 nothing = SPREAD(NOTHING), known = SPREAD(0.5 * NOTHING), by = SPREAD(sign);
    for (int64_t i = 0; i < 8 * n; i += 8) {
        W8 x = LOAD(a + i);
        STORE(out + i, PICK(x, known, FMA(by, LOAD(b + i), x), nothing));
    }
}
TARGET static void NAME(delay_lanes_larger)(int64_t n, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < 8 * n; i += 8)
        STORE(out + i, MAX(LOAD(a + i), LOAD(b + i)));
}

/* x 2^before as x 2^after. */
TARGET static void NAME(delay_lanes_rescale)(int64_t n, const double *before, const double *after,
                                             double *x)
{
    const W8 least = SPREAD(NEGLIGIBLE), most = SPREAD(700.0);
    for (int64_t i = 0; i < 8 * n; i += 8) {
        W8 by = MIN(MAX(SUB(LOAD(before + i), LOAD(after + i)), least), most);
        STORE(x + i, MUL(LOAD(x + i), POWER(by)));
    }
}

/* n factors out = norm 2^(a + sign b + shift), 0 where that is next to nothing; shift is one for all. */
TARGET static void NAME(delay_lanes_factors)(int64_t n, const double *a, const double *b, double sign,
                                             const double *shift, const double *norm, double *out)
{
    const W8 least = SPREAD(-450.0), most = SPREAD(1000.0), zero = SPREAD(0.0);
    const W8 nothing = SPREAD(0.5 * NOTHING);
    for (int64_t i = 0; i < 8 * n; i += 8) {
        W8 known = LOAD(a + i), by = FMA(SPREAD(sign), LOAD(b + i), known);
        by = shift ? ADD(by, LOAD(shift)) : by;
        W8 power = PICK(by, least, POWER(MIN(MAX(by, least), most)), zero);
        power = PICK(known, nothing, power, zero);
        STORE(out + i, norm ? MUL(LOAD(norm), power) : power);
    }
}

/* The sum over n edges; where their number is known to the compiler there is no loop. */
#define EDGE(i) LOAD(row + 8 * others[i]), LOAD(weights + 8 * (i))
TARGET INLINE W8 NAME(edge_sum)(const int32_t *others, const double *weights, int64_t n,
                                const double *row)
{
    switch (n) {
    case 0: return SPREAD(0.0);
    case 1: return MUL(EDGE(0));
    case 2: return FMA(EDGE(1), MUL(EDGE(0)));
    case 4: return ADD(FMA(EDGE(1), MUL(EDGE(0))), FMA(EDGE(3), MUL(EDGE(2))));
    case 5: return ADD(FMA(EDGE(1), MUL(EDGE(0))), FMA(EDGE(4), FMA(EDGE(3), MUL(EDGE(2)))));
    }
    W8 sum = MUL(EDGE(0)), second = MUL(EDGE(1));
    int64_t i = 2;
    for (; i + 1 < n; i += 2) {
        sum = FMA(EDGE(i), sum);
        second = FMA(EDGE(i + 1), second);
    }
    if (i < n)
        sum = FMA(EDGE(i), sum);
    return ADD(sum, second);
}
#undef EDGE

/* Whether one more step makes the products of emissions and `decay` too small. */
TARGET INLINE int NAME(too_small)(int64_t n_states, const double *emit, double decay, double *products)
{
    W8 low = SPREAD(1.0);
    for (int64_t i = 0; i < n_states; i++) {
        W8 product = MUL(LOAD(products + 8 * i), MUL(LOAD(emit + 8 * i), SPREAD(decay)));
        STORE(products + 8 * i, product);
        low = MIN(low, product);
    }
    return ABOVE(SPREAD(LEAST_PRODUCT), low);
}

/* The products of one more step. */
TARGET INLINE void NAME(run_on)(const LaneCore *c, const double *emit, double *run)
{
    for (int64_t l = 0; l < c->n_lines; l++) {
        W8 factor = MUL(LOAD(emit + 8 * c->states[c->n_plain + l]), SPREAD(c->step[l]));
        STORE(run + 8 * l, MUL(LOAD(run + 8 * l), factor));
    }
}

/* Up to n steps from step t on, of a group that begins at `begin`; how many they are. alpha is the row
 * before them. `scale` brings what comes out of a line to the exponent of its tail. Before step `inside`
 * all paths are inside lines since the first step. */
TARGET static int64_t NAME(delay_lanes_ahead)(const LaneCore *c, const double *weights,
                                              const double *scale, int64_t begin, int64_t t,
                                              int64_t n, int64_t inside, int64_t n_states,
                                              const double *emit, double *alpha, double *ring,
                                              int64_t mask, double *run, double decay,
                                              double *products)
{
    const int64_t from_step = t;
    const int64_t P = c->n_plain, L = c->n_lines;
    const int32_t *first = c->first, *sources = c->sources, *states = c->states;
    const int32_t *arriving = c->arriving, *into = c->into;
    const int64_t *delay = c->delay;
    for (int64_t end = t + n; t < end; t++, emit += 8 * n_states) {
        double *out = alpha + 8 * (P + L);
        if (NAME(too_small)(n_states, emit, decay, products) && t > begin)
            break;
        if (t < inside) {
            memset(out, 0, 8 * (P + L) * sizeof(double));
            memset(ring + 8 * (t & mask) * L, 0, 8 * L * sizeof(double));
            NAME(run_on)(c, emit, run);
            alpha = out;
            continue;
        }
        for (int64_t m = 0; m < P; m++) {
            W8 sum = NAME(edge_sum)(sources + first[m], weights + 8 * first[m],
                                    first[m + 1] - first[m], alpha);
            for (int64_t k = arriving[m]; k < arriving[m + 1]; k++) {
                const int64_t l = into[k], from = t - delay[l];
                if (from >= 0) {
                    W8 come = LOAD(ring + 8 * ((from & mask) * L + l));
                    sum = FMA(MUL(come, LOAD(run + 8 * l)), LOAD(scale + 8 * l), sum);
                }
            }
            STORE(out + 8 * m, MUL(sum, LOAD(emit + 8 * states[m])));
        }
        for (int64_t l = 0; l < L; l++) {
            const int32_t *at = first + P + l;
            W8 sum = NAME(edge_sum)(sources + at[0], weights + 8 * at[0], at[1] - at[0], alpha);
            W8 b = LOAD(emit + 8 * states[P + l]), step = SPREAD(c->step[l]);
            W8 product = MUL(LOAD(run + 8 * l), MUL(b, step));
            sum = MUL(sum, b);
            STORE(out + 8 * (P + l), sum);
            STORE(run + 8 * l, product);
            STORE(ring + 8 * ((t & mask) * L + l), DIV(MUL(sum, step), product));
        }
        alpha = out;
    }
    return t - from_step;
}

/* Up to n steps back from step t on, of which alpha and emissions are given; others lie before. y is what
 * follows; in lanes that are `ending` a path inside a line ends there. Posteriors of heads go to
 * `entering`, sums of the others by state replace the emissions. v is memory for a row. */
TARGET static int64_t NAME(delay_lanes_back)(const LaneCore *c, const double *weights,
                                             const double *scale, const double *factors,
                                             const double *ending, int64_t begin, int64_t t,
                                             int64_t n, int64_t inside, int64_t n_states,
                                             double *emit, const double *alpha, double *entering,
                                             double *y, double *v, double *ring, int64_t mask,
                                             double *run, double decay, double *products)
{
    const int64_t from_step = t;
    const int64_t P = c->n_plain, L = c->n_lines;
    const int32_t *out = c->out, *targets = c->targets, *states = c->states, *tail = c->tail;
    const int64_t *delay = c->delay;
    const W8 half = SPREAD(0.5), zero = SPREAD(0.0);
    for (int64_t end = t - n; t > end; t--, emit -= 8 * n_states, alpha -= 8 * (P + L),
                 entering -= 8 * L) {
        if (NAME(too_small)(n_states, emit, decay, products) && t < begin)
            break;
        if (t > 0 && t < inside) {
            NAME(run_on)(c, emit, run);
            memset(emit, 0, 8 * n_states * sizeof(double));
            memset(entering, 0, 8 * L * sizeof(double));
            continue;
        }
        for (int64_t l = 0; l < L; l++) {
            const double *head = alpha + 8 * (P + l);
            W8 beta = LOAD(ring + 8 * (((t + delay[l]) & mask) * L + l));
            beta = PICK(LOAD(ending + 8 * l), half, SPREAD(c->final[l]), beta);
            beta = MUL(MUL(beta, LOAD(run + 8 * l)), LOAD(scale + 8 * l));
            STORE(entering + 8 * l, MUL(MUL(LOAD(head), LOAD(factors + 8 * (P + l))), beta));
            STORE(v + 8 * (P + l), MUL(beta, LOAD(emit + 8 * states[P + l])));
        }
        for (int64_t m = 0; m < P; m++)
            STORE(v + 8 * m, MUL(LOAD(y + 8 * m), LOAD(emit + 8 * states[m])));
        for (int64_t l = 0; l < L; l++) {
            W8 step = SPREAD(c->step[l]);
            W8 product = MUL(LOAD(run + 8 * l), MUL(LOAD(emit + 8 * states[P + l]), step));
            STORE(run + 8 * l, product);
            STORE(ring + 8 * ((t & mask) * L + l), DIV(MUL(LOAD(v + 8 * tail[l]), step), product));
        }
        for (int64_t i = 0; i < n_states; i++)
            STORE(emit + 8 * i, zero);
        for (int64_t m = 0; m < P; m++) {
            double *sum = emit + 8 * states[m];
            W8 here = MUL(LOAD(alpha + 8 * m), LOAD(factors + 8 * m));
            STORE(sum, FMA(here, LOAD(y + 8 * m), LOAD(sum)));
        }
        for (int64_t m = 0; m < P; m++)
            STORE(y + 8 * m, NAME(edge_sum)(targets + out[m], weights + 8 * out[m],
                                            out[m + 1] - out[m], v));
    }
    return from_step - t;
}

/* Add to x 2^e the rows from .. to of a line, whose exponents are `size`. */
TARGET static void NAME(delay_lanes_inside)(int64_t from, int64_t to, const double *ring, int64_t mask,
                                            int64_t width, const double *size, double *x, double *e)
{
    const W8 zero = SPREAD(0.0), least = SPREAD(NEGLIGIBLE);
    W8 sum = zero, old = LOAD(e), by = LOAD(size);
    for (int64_t t = from; t <= to; t++)
        sum = ADD(sum, LOAD(ring + (t & mask) * width));
    W8 size_of_sum = EXPONENT(MAX(sum, SPREAD(1e-300)));
    sum = MUL(sum, POWER(SUB(zero, size_of_sum)));
    by = ADD(by, size_of_sum);
    W8 top = MAX(old, PICK(sum, zero, by, old));
    W8 first = SUB(old, top), second = MIN(SUB(by, top), zero); /* nothing may have any exponent */
    first = PICK(first, least, POWER(MAX(first, least)), zero);
    second = PICK(second, least, POWER(MAX(second, least)), zero);
    STORE(x, FMA(LOAD(x), first, MUL(sum, second)));
    STORE(e, top);
}

/* A path is inside a line from where it enters on for as long as the delay is: add the sums over such a
 * window of T steps to out. Without differences: the end of one run of `delay` steps and the beginning of
 * the next. Rows of `entering` are `width` apart and are lost; those of out are `stride` apart. */
TARGET static void NAME(delay_lanes_window)(int64_t T, int64_t delay, int64_t width, double *entering,
                                            int64_t stride, double *out)
{
    for (int64_t begin = 0; begin < T; begin += delay) {
        int64_t end = begin + delay < T ? begin + delay : T;
        W8 sum = SPREAD(0.0), rest = sum;
        for (int64_t t = begin; t < end; t++) {
            sum = ADD(sum, LOAD(entering + t * width));
            W8 all = ADD(sum, LOAD(out + t * stride));
            if (begin > 0 && t + 1 < begin + delay)
                all = ADD(all, LOAD(entering + (t - delay + 1) * width));
            STORE(out + t * stride, all);
        }
        for (int64_t t = end - 1; t >= begin && end < T; t--) {
            rest = ADD(rest, LOAD(entering + t * width));
            STORE(entering + t * width, rest);
        }
    }
}

/* T rows by state, divided by their sums, to where each lane has its own; row t of the first active(t). */
TARGET static void NAME(delay_lanes_write)(int64_t T, int64_t n_states, const int8_t *active,
                                           const double *rows, double **gamma)
{
    for (int64_t t = 0; t < T; t++, rows += 8 * n_states) {
        W8 total = LOAD(rows);
        for (int64_t i = 1; i < n_states; i++)
            total = ADD(total, LOAD(rows + 8 * i));
        W8 scale = DIV(SPREAD(1.0), total);
        for (int64_t i = 0; i < n_states; i += 8) {
            W8 x[8];
            for (int64_t j = 0; j < 8; j++)
                x[j] = i + j < n_states ? MUL(LOAD(rows + 8 * (i + j)), scale) : scale;
            TRANSPOSE(x);
            for (int l = 0; l < active[t]; l++)
                STORE_HEAD(gamma[l] + t * n_states + i, x[l], n_states - i);
        }
    }
}

#endif
