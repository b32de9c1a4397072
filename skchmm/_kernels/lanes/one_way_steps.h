/* Steps of the recursions of lanes/sums.pyx on one-way graphs, for 8 sequences: one node takes several
 * steps, then the next; see side.h. */
#ifndef ISA

#include "lanes/sum_steps.h"

#define STEPS "lanes/one_way_steps.h"
#include "simd/each.h"

#define one_way_sum_run(...) DISPATCH(one_way_sum_run)(__VA_ARGS__)
#define one_way_back_run(...) DISPATCH(one_way_back_run)(__VA_ARGS__)

#else

/* What a node keeps: the weight of its own loop, weights and places of its first D others. */
#define KEEP(D, rows)                                                               \
    const W8 own = at[2] >= 0 ? LOAD(weights + at[2]) : SPREAD(0.0);                \
    W8 kept[(D) > 0 ? (D) : 1];                                                     \
    const double *from[(D) > 0 ? (D) : 1], *here = (rows);                          \
    for (int j = 0; j < (D); j++) {                                                 \
        kept[j] = LOAD(weights + OTHER_EDGE(j));                                    \
        from[j] = (rows) + OTHER_PLACE(j);                                          \
    }

/* Its sum of a step over others and itself, x; they go on to the next row. */
#define SUM_UP(D)                                                                           \
    W8 sum = SPREAD(0.0);                                                                   \
    for (int j = 0; j < (D); j++) {                                                         \
        sum = FMA(LOAD(from[j]), kept[j], sum);                                             \
        from[j] += row;                                                                     \
    }                                                                                       \
    if ((D) < 0) {                                                                          \
        for (int32_t j = 0; j < at[3]; j++)                                                 \
            sum = FMA(LOAD(here + OTHER_PLACE(j)), LOAD(weights + OTHER_EDGE(j)), sum);     \
        here += row;                                                                        \
    }                                                                                       \
    sum = FMA(x, own, sum)

/* Up to n steps, LANES_STEPS at a time, each row after the one before it; the steps done. Stops after
 * steps in which one of the `watched` lanes has a positive number outside [LOW, HIGH]: the extremes of all
 * lanes in these steps are then in low and high. The largest is the second
 * operand, which it remains where infinity, times no loop, has become no number. */
#define AHEAD(D)                                                                    \
    do {                                                                            \
        KEEP(D, rows)                                                               \
        const double *b = emit + at[1];                                             \
        double *to = rows + at[0];                                                  \
        W8 x = LOAD(to);                                                            \
        for (int64_t i = 0; i < steps; i++, b += 8 * n_states) {                    \
            SUM_UP(D);                                                              \
            x = MUL(sum, LOAD(b));                                                  \
            smallest = LEAST(x, LEAST(sum, smallest));                              \
            largest = MAX(sum, largest);                                            \
            to += row;                                                              \
            STORE(to, x);                                                           \
        }                                                                           \
    } while (0)
TARGET static int64_t NAME(one_way_sum_run)(const OneWay *g, const double *weights, int64_t n,
                                            int64_t n_states, const double *emit, double *rows,
                                            int watched, double *low, double *high)
{
    const int64_t row = 8 * g->n_nodes;
    int64_t t = 0;
    while (t < n) {
        const int64_t steps = n - t < LANES_STEPS ? n - t : LANES_STEPS;
        W8 smallest = SPREAD(INFINITY), largest = SPREAD(0.0);
        ONE_WAY_NODES(AHEAD);
        rows += steps * row;
        emit += 8 * steps * n_states;
        t += steps;
        int outside = ABOVE(SPREAD(LANES_LOW), smallest) | ABOVE(largest, SPREAD(LANES_HIGH));
        if (outside & watched) {
            STORE(low, smallest);
            STORE(high, largest);
            break;
        }
    }
    return t;
}
#undef AHEAD

/* n steps back, as lanes_back_run takes them. by_state: LANES_STEPS + 1 rows, and 8 numbers of every
 * lane after them. */
#define BACK(D)                                                                             \
    do {                                                                                    \
        KEEP(D, v)                                                                          \
        const int first_of_state = at[5];                                                   \
        const double *a = alpha + at[0], *b = emit + at[1];                                 \
        double *to = v + at[0], *mass = by_state + S * steps + at[1];                       \
        W8 x = LOAD(to), after = zero, both = zero;                                         \
        for (int64_t i = 0; i < steps; i++) {                                               \
            SUM_UP(D);                                                                      \
            a -= row;                                                                       \
            b -= S;                                                                         \
            mass -= S;                                                                      \
            to += row;                                                                      \
            const W8 before = LOAD(a);                                                      \
            after = sum;                                                                    \
            both = PICK(before, zero, MUL(before, sum), zero);                              \
            x = PICK(before, zero, MUL(LOAD(b), sum), zero);                                \
            STORE(to, x);                                                                   \
            STORE(mass, first_of_state ? both : ADD(LOAD(mass), both));                     \
        }                                                                                   \
        STORE(to, PICK(both, least, x, zero));                                              \
        STORE(beta + at[0], PICK(both, least, after, zero));                                \
    } while (0)
TARGET static void NAME(one_way_back_run)(const OneWay *g, const Side *side, const double *weights,
                                          int64_t n, int64_t n_states, int active,
                                          const double *alpha, const double *emit, double **gamma,
                                          double *beta, double *v, double *by_state,
                                          double *counts)
{
    const int64_t row = 8 * g->n_nodes, S = 8 * n_states;
    const W8 zero = SPREAD(0.0), least = SPREAD(LANES_LEAST_MARGINAL);
    double *first = by_state + S * LANES_STEPS; /* the masses of the step that is gone back from */
    double scales[8 * (LANES_STEPS + 1)] = {0.0};
    int64_t steps;
    memset(first, 0, S * sizeof(double));
    for (int64_t m = 0; m < g->n_nodes; m++) {
        const int64_t i = 8 * side->states[m];
        W8 after = LOAD(beta + 8 * m);
        STORE(first + i, FMA(LOAD(alpha + 8 * m), after, LOAD(first + i)));
        STORE(v + 8 * m, MUL(LOAD(emit + i), after));
    }
    for (; n > 0; n -= steps) {
        steps = n < LANES_STEPS ? n : LANES_STEPS;
        if (steps < LANES_STEPS)
            memmove(by_state + S * steps, first, S * sizeof(double));
        double *out[8], *end[8];
        for (int l = 0; l < active; l++) {
            end[l] = gamma[l] + n_states;
            gamma[l] -= steps * n_states;
            out[l] = gamma[l] + n_states;
            for (double *p = out[l]; p < end[l]; p += 8)
                SOON_WRITTEN(p);
        }
        ONE_WAY_NODES(BACK);
        for (int64_t i = 0; i < steps; i++) {
            const double *masses = by_state + S * (i + 1);
            W8 sum = SPREAD(0.0);
            for (int64_t k = 0; k < S; k += 8)
                sum = ADD(sum, LOAD(masses + k));
            const W8 scale = NAME(one_over)(sum);
            STORE(scales + 8 * i, scale);
            if (counts)
                for (int64_t m = (steps - 1 - i) * row, k = 0; k < row; k += 8)
                    STORE(v + m + k, MUL(LOAD(v + m + k), scale));
        }
        NAME(lanes_put_scaled)(steps, n_states, by_state + S, scales, active, out, end);
        alpha -= steps * row;
        emit -= steps * S;
        if (counts)
            NAME(lanes_count)(side, weights, steps, alpha + (steps - 1) * row, v, counts);
        for (int64_t m = 0; m < row; m += 8)
            STORE(v + m, LOAD(v + steps * row + m));
        for (int64_t k = 0; k < S; k += 8)
            STORE(first + k, LOAD(by_state + k));
    }
}
#undef BACK
#undef SUM_UP
#undef KEEP

#endif
