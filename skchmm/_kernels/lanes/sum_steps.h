/* Steps of the recursions of lanes/sums.pyx, for 8 sequences; one vector operation an edge. */
#ifndef ISA

#include "lanes/fill_steps.h"
#include "lanes/put_steps.h"
#include "lanes/side.h"

/* Numbers of 8 sequences are kept within these bounds. */
#define LANES_LOW 1e20
#define LANES_HIGH 1e155
/* The sum of alpha beta at every step, a power of two: rows of alpha are about as large, so those of beta
 * can hold small marginals. Of those below the least one, times that, the way back keeps nothing. */
#define LANES_WHOLE 0x1p448
#define LANES_LEAST_MARGINAL (1e-180 * LANES_WHOLE)
/* Ratios below e^-this are not held: exponents would grow beyond the whole numbers of doubles. */
#define LANES_RATIO 1e8
/* Steps that a node takes before the next one does, and of which expected counts are added up before
 * they go to memory. */
#define LANES_STEPS 8
/* Steps that a node goes back, where nothing has to be watched. */
#define BACK_STEPS 16

#define STEPS "lanes/sum_steps.h"
#include "simd/each.h"

#define lanes_exp(...) DISPATCH(lanes_exp)(__VA_ARGS__)
#define lanes_sum_run(...) DISPATCH(lanes_sum_run)(__VA_ARGS__)
#define lanes_back_run(...) DISPATCH(lanes_back_run)(__VA_ARGS__)
#define lanes_first(...) DISPATCH(lanes_first)(__VA_ARGS__)

#else

#include "simd/exp.h"

/* Logarithms to probabilities relative to the largest of a step, in place. The largest are added
 * to `total` for the first active(t) lanes. A step in which one of these has a ratio below log_lossy
 * is marked, and its numbers are exp 2^-scales. Returns whether there is one. Lanes with a ratio that
 * is positive but not held are added to `beyond`. */
TARGET static int NAME(lanes_exp)(int64_t n, int64_t n_states, double log_lossy,
                                  const int8_t *active, double *table, double *total,
                                  double *scales, uint8_t *lossy, int *beyond)
{
    const W8 zero = SPREAD(0.0), none = SPREAD(-INFINITY), limit = SPREAD(log_lossy);
    const W8 held = SPREAD(-LANES_RATIO);
    int any = 0;
    for (int64_t t = 0; t < n; t++, table += 8 * n_states, scales += 8 * n_states) {
        double tops[8];
        W8 top = LOAD(table);
        for (int64_t i = 1; i < n_states; i++)
            top = MAX(top, LOAD(table + 8 * i));
        STORE(tops, top);
        for (int l = 0; l < active[t]; l++)
            total[l] += tops[l];
        top = PICK(top, none, top, zero);
        int small = 0;
        for (int64_t i = 0; i < n_states; i++) {
            W8 x = SUB(LOAD(table + 8 * i), top);
            small |= ABOVE(limit, x) & ABOVE(x, none);
            STORE(table + 8 * i, x);
        }
        lossy[t] = (small & ((1 << active[t]) - 1)) != 0;
        any |= lossy[t];
        for (int64_t i = 0; i < n_states; i++) {
            W8 x = LOAD(table + 8 * i);
            if (lossy[t]) {
                *beyond |= ABOVE(held, x) & ABOVE(x, none) & ((1 << active[t]) - 1);
                x = PICK(held, x, none, x);
                W8 k = ROUND(MUL(x, SPREAD(PER_LOG2)));
                k = PICK(limit, x, PICK(x, none, k, zero), zero);
                x = FMA(k, SPREAD(-LOG2_REST), FMA(k, SPREAD(-LOG2_FIRST), x));
                STORE(scales + 8 * i, k);
            }
            STORE(table + 8 * i, NAME(exp_of)(x));
        }
    }
    return any;
}

/* Up to n steps, each row after the one before it; the steps done. Stops after a step in which one
 * of the `watched` lanes has a positive number outside [LOW, HIGH], a sum or what emissions make of
 * it; the extremes of all lanes are then in low and high. Weights are (edges, 8). */
#define BEGIN SPREAD(0.0)
#define TAKE(sum, edge) sum = FMA(from, LOAD(weights + 8 * (edge)), sum)
#define FINISH(i, sum)                                         \
    do {                                                       \
        W8 x = MUL(sum, LOAD(emit + STATE(i)));                \
        smallest = LEAST(x, LEAST(sum, smallest));             \
        largest = MAX(largest, sum);                           \
        STORE(out + NODE(i), x);                               \
    } while (0)
TARGET static int64_t NAME(lanes_sum_run)(const Side *g, const double *weights, int64_t n,
                                          int64_t n_states, const double *emit, double *here,
                                          int watched, double *low, double *high)
{
    const W8 zero = SPREAD(0.0), infinity = SPREAD(INFINITY);
    int64_t t = 0;
    while (t < n) {
        double *out = here + 8 * g->n_nodes;
        W8 smallest = infinity, largest = zero;
        ALL_NODES(TAKE_ONE, TAKE_FOUR);
        here = out;
        emit += 8 * n_states;
        t++;
        int outside = ABOVE(SPREAD(LANES_LOW), smallest) | ABOVE(largest, SPREAD(LANES_HIGH));
        if (outside & watched) {
            STORE(low, smallest);
            STORE(high, largest);
            break;
        }
    }
    return t;
}
#undef FINISH

/* joint = alpha beta and v = emit beta, of the nodes of a step. */
TARGET INLINE void NAME(lanes_join)(const Side *g, const double *alpha, const double *emit,
                                    const double *beta, double *joint, double *v)
{
    for (int64_t m = 0; m < g->n_nodes; m++) {
        W8 after = LOAD(beta + 8 * m);
        STORE(joint + 8 * m, MUL(LOAD(alpha + 8 * m), after));
        STORE(v + 8 * m, MUL(LOAD(emit + 8 * g->states[m]), after));
    }
}

/* 1 / sum, of what is WHOLE but for rounding. */
TARGET INLINE W8 NAME(one_over)(W8 sum)
{
    const W8 part = SPREAD(1.0 / LANES_WHOLE);
    return MUL(SUB(SPREAD(2.0), MUL(sum, part)), part);
}

/* The marginals of a step: `joint` of the nodes of each state divided by its sum. Returns 1 / sum;
 * gamma goes down a row. */
TARGET INLINE W8 NAME(lanes_gamma)(const Side *g, int64_t n_states, int active,
                                   const double *joint, double **gamma, double *by_state)
{
    W8 mass = SPREAD(0.0);
    int64_t m = 0;
    for (int64_t i = 0; i < n_states; i++) {
        W8 sum = SPREAD(0.0);
        for (; m < g->n_nodes && g->states[m] == i; m++)
            sum = ADD(sum, LOAD(joint + 8 * m));
        mass = ADD(mass, sum);
        STORE(by_state + 8 * i, sum);
    }
    W8 scale = NAME(one_over)(mass);
    for (int64_t i = 0; i < n_states; i += 8) {
        W8 x[8];
        for (int64_t j = 0; j < 8; j++)
            x[j] = i + j < n_states ? MUL(LOAD(by_state + 8 * (i + j)), scale) : scale;
        TRANSPOSE(x);
        for (int l = 0; l < active; l++)
            STORE_HEAD(gamma[l] + i, x[l], n_states - i);
    }
    for (int l = 0; l < active; l++)
        gamma[l] -= n_states;
    return scale;
}

/* The marginals of the first step. */
TARGET static void NAME(lanes_first)(const Side *g, int64_t n_states, int active,
                                     const double *alpha, const double *emit, double **gamma,
                                     const double *beta, double *by_state, double *joint,
                                     double *v)
{
    NAME(lanes_join)(g, alpha, emit, beta, joint, v);
    NAME(lanes_gamma)(g, n_states, active, joint, gamma, by_state);
}

/* counts(edge, lane) += weight * sum over n steps of alpha(source) v(target); alpha at the last of
 * them, v at the first, n rows of each. */
#define COUNT(edge, sum)                            \
    STORE(counts + 8 * (edge),                      \
          FMA(LOAD(weights + 8 * (edge)), sum, LOAD(counts + 8 * (edge))))
TARGET static void NAME(lanes_count)(const Side *g, const double *weights, int64_t n,
                                     const double *alpha, const double *v, double *counts)
{
    const int64_t row = 8 * g->n_nodes;
    int64_t k = g->edge;
    for (const int32_t *at = g->nodes; at[2] > 0;) {
        const int64_t alike = at[0], degree = at[1], size = 1 + alike + degree;
        const int32_t *end = at + 3 + at[2] * size;
        for (at += 3; at < end; at += size)
            for (int64_t i = 0; i < alike; i++) {
                const double *from = alpha + NODE(i);
                const int32_t *other = at + 1 + alike, *last = other + degree;
                for (; other + 3 < last; other += 4, k += 4) {
                    const double *to[4] = {v + other[0], v + other[1], v + other[2], v + other[3]};
                    W8 a = BEGIN, b = a, c = a, d = a;
                    for (int64_t t = 0; t < n * row; t += row) {
                        W8 x = LOAD(from - t);
                        a = FMA(x, LOAD(to[0] + t), a);
                        b = FMA(x, LOAD(to[1] + t), b);
                        c = FMA(x, LOAD(to[2] + t), c);
                        d = FMA(x, LOAD(to[3] + t), d);
                    }
                    COUNT(k, a);
                    COUNT(k + 1, b);
                    COUNT(k + 2, c);
                    COUNT(k + 3, d);
                }
                for (; other < last; other++, k++) {
                    const double *to = v + other[0];
                    W8 a = BEGIN;
                    for (int64_t t = 0; t < n * row; t += row)
                        a = FMA(LOAD(from - t), LOAD(to + t), a);
                    COUNT(k, a);
                }
            }
    }
}
#undef COUNT

/* One step back, from v: joint and v of the step before, or its beta for a run that other weights
 * follow. Nodes without alpha, or with such a small marginal, have nothing. */
#define FINISH(i, sum)                                                                       \
    do {                                                                                     \
        W8 both = MUL(LOAD(alpha + NODE(i)), sum);                                           \
        STORE(joint + NODE(i), PICK(both, least, both, zero));                               \
        STORE(next + NODE(i), PICK(both, least, MUL(LOAD(emit + STATE(i)), sum), zero));     \
    } while (0)
TARGET INLINE void NAME(lanes_step_back)(const Side *g, const double *weights, const double *alpha,
                                         const double *emit, const double *here, double *joint,
                                         double *next)
{
    const W8 zero = SPREAD(0.0), least = SPREAD(LANES_LEAST_MARGINAL);
    ALL_NODES(TAKE_ONE, TAKE_FOUR);
}
#undef FINISH
#define FINISH(i, sum) \
    STORE(beta + NODE(i), PICK(MUL(LOAD(alpha + NODE(i)), sum), least, sum, zero))
TARGET INLINE void NAME(lanes_last_back)(const Side *g, const double *weights, const double *alpha,
                                         const double *here, double *beta)
{
    const W8 zero = SPREAD(0.0), least = SPREAD(LANES_LEAST_MARGINAL);
    ALL_NODES(TAKE_ONE, TAKE_FOUR);
}
#undef FINISH

/* n steps back: writes the marginals of step t for the first `active` lanes, then takes beta from t
 * to t - 1. alpha, emit and gamma are given at the first t and go down from there. Rows of beta are
 * such that alpha . beta is WHOLE but for rounding. counts(edge, lane), by source, are added to where
 * given. v: LANES_STEPS + 1 rows. */
TARGET static void NAME(lanes_back_run)(const Side *g, const double *weights, int64_t n,
                                        int64_t n_states, int active, const double *alpha,
                                        const double *emit, double **gamma, double *beta,
                                        double *joint, double *v, double *by_state,
                                        double *counts)
{
    const int64_t row = 8 * g->n_nodes;
    int64_t kept = 0;
    NAME(lanes_join)(g, alpha, emit, beta, joint, v);
    for (int64_t t = 0; t < n; t++) {
        double *here = v + kept * row, *next = v + (counts ? kept + 1 : !kept) * row;
        W8 scale = NAME(lanes_gamma)(g, n_states, active, joint, gamma, by_state);
        alpha -= row;
        emit -= 8 * n_states;
        if (t < n - 1)
            NAME(lanes_step_back)(g, weights, alpha, emit, here, joint, next);
        else
            NAME(lanes_last_back)(g, weights, alpha, here, beta);
        if (!counts) {
            kept = !kept;
            continue;
        }
        for (int64_t m = 0; m < row; m += 8)
            STORE(here + m, MUL(LOAD(here + m), scale));
        kept++;
        if (kept == LANES_STEPS || t == n - 1) {
            NAME(lanes_count)(g, weights, kept, alpha + (kept - 1) * row, v, counts);
            memcpy(v, next, row * sizeof(double));
            kept = 0;
        }
    }
}
#undef TAKE
#undef BEGIN

#endif
