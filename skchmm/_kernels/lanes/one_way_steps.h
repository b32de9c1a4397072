/* Steps of the recursions of lanes/sums.pyx on one-way graphs, for 8 sequences: one node takes several
 * steps, or two do together, then the next; see side.h. */
#ifndef ISA

#include "lanes/sum_steps.h"

/* Nodes that take their steps together. */
#define NODES 2

#define STEPS "lanes/one_way_steps.h"
#include "simd/each.h"

#define one_way_sum_run(...) DISPATCH(one_way_sum_run)(__VA_ARGS__)
#define one_way_back_run(...) DISPATCH(one_way_back_run)(__VA_ARGS__)

#else

/* What N nodes with D others each keep while they take their steps together, since one alone waits for
 * itself. N and D are constants of the compiler; D is -1 where there are many, of a single node. */
typedef struct {
    W8 own[NODES], kept[NODES][3], x[NODES];
    const double *from[NODES][3], *here;
    const int32_t *at[NODES];
} NAME(Along);
TARGET INLINE NAME(Along) NAME(along)(const int N, const int D, const int32_t *at,
                                      const double *weights, const double *rows)
{
    NAME(Along) a;
    a.here = rows;
    for (int k = 0; k < N; k++, at += 6 + 2 * D) {
        a.at[k] = at;
        a.own[k] = at[2] >= 0 ? LOAD(weights + at[2]) : SPREAD(0.0);
        a.x[k] = LOAD(rows + at[0]);
        for (int j = 0; j < D; j++) {
            a.kept[k][j] = LOAD(weights + OTHER_EDGE(j));
            a.from[k][j] = rows + OTHER_PLACE(j);
        }
    }
    return a;
}

/* The sum of a step over the others of node k and itself; they go on to the next row. */
TARGET INLINE W8 NAME(sum_up)(NAME(Along) *a, const int k, const int D, const double *weights,
                              int64_t row)
{
    W8 sum = SPREAD(0.0);
    for (int j = 0; j < D; j++) {
        sum = FMA(LOAD(a->from[k][j]), a->kept[k][j], sum);
        a->from[k][j] += row;
    }
    if (D < 0) {
        const int32_t *at = a->at[k];
        for (int32_t j = 0; j < at[3]; j++)
            sum = FMA(LOAD(a->here + OTHER_PLACE(j)), LOAD(weights + OTHER_EDGE(j)), sum);
        a->here += row;
    }
    return FMA(a->x[k], a->own[k], sum);
}

/* For ONE_WAY_NODES: a node alone, or with the next one where both have one other. */
#define PAIRED(NODES_OF, D)                                              \
    do {                                                                 \
        if ((D) == 1 && m + 1 < g->n_nodes && at[8 + 3] == 1) {          \
            NODES_OF(2, 1);                                              \
            m++;                                                         \
            at += 8;                                                     \
        } else                                                           \
            NODES_OF(1, D);                                              \
    } while (0)
#define ALL_AHEAD(D) PAIRED(AHEAD, D)
#define ALL_BACK(D) PAIRED(BACK, D)

/* Up to n steps, LANES_STEPS at a time, each row after the one before it; the steps done. Stops after
 * steps in which one of the `watched` lanes has a positive number outside [LOW, HIGH]: the extremes of all
 * lanes in these steps are then in low and high. The largest is the second
 * operand, which it remains where infinity, times no loop, has become no number. */
#define AHEAD(N, D)                                                                 \
    do {                                                                            \
        NAME(Along) a = NAME(along)(N, D, at, weights, rows);                       \
        const double *b[NODES];                                                     \
        double *to[NODES];                                                          \
        for (int k = 0; k < (N); k++) {                                             \
            b[k] = emit + a.at[k][1];                                               \
            to[k] = rows + a.at[k][0];                                              \
        }                                                                           \
        for (int64_t i = 0; i < steps; i++) {                                       \
            for (int k = 0; k < (N); k++) {                                         \
                W8 sum = NAME(sum_up)(&a, k, D, weights, row);                      \
                a.x[k] = MUL(sum, LOAD(b[k]));                                      \
                b[k] += 8 * n_states;                                               \
                smallest = LEAST(a.x[k], LEAST(sum, smallest));                     \
                largest = MAX(sum, largest);                                        \
                to[k] += row;                                                       \
                STORE(to[k], a.x[k]);                                               \
            }                                                                       \
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
        ONE_WAY_NODES(ALL_AHEAD);
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

/* n steps back, as lanes_back_run takes them. by_state: BACK_STEPS + 1 rows, and 8 numbers of every
 * lane after them. */
#define BACK(N, D)                                                                          \
    do {                                                                                    \
        NAME(Along) a = NAME(along)(N, D, at, weights, v);                                  \
        const double *there[NODES], *b[NODES];                                              \
        double *to[NODES], *mass[NODES];                                                    \
        W8 after[NODES], both[NODES];                                                       \
        int first[NODES];                                                                   \
        for (int k = 0; k < (N); k++) {                                                     \
            there[k] = alpha + a.at[k][0];                                                  \
            to[k] = v + a.at[k][0];                                                         \
            b[k] = emit + a.at[k][1];                                                       \
            mass[k] = by_state + S * steps + a.at[k][1];                                    \
            first[k] = a.at[k][5];                                                          \
        }                                                                                   \
        for (int64_t i = 0; i < steps; i++) {                                               \
            for (int k = 0; k < (N); k++) {                                                 \
                there[k] -= row;                                                            \
                b[k] -= S;                                                                  \
                mass[k] -= S;                                                               \
                to[k] += row;                                                               \
                const W8 sum = NAME(sum_up)(&a, k, D, weights, row);                        \
                const W8 before = LOAD(there[k]);                                           \
                after[k] = sum;                                                             \
                both[k] = PICK(before, zero, MUL(before, sum), zero);                       \
                a.x[k] = PICK(before, zero, MUL(LOAD(b[k]), sum), zero);                    \
                STORE(to[k], a.x[k]);                                                       \
                STORE(mass[k], first[k] ? both[k] : ADD(LOAD(mass[k]), both[k]));           \
            }                                                                               \
        }                                                                                   \
        for (int k = 0; k < (N); k++) {                                                     \
            STORE(to[k], PICK(both[k], least, a.x[k], zero));                               \
            STORE(beta + a.at[k][0], PICK(both[k], least, after[k], zero));                 \
        }                                                                                   \
    } while (0)
TARGET static void NAME(one_way_back_run)(const OneWay *g, const Side *side, const double *weights,
                                          int64_t n, int64_t n_states, int active,
                                          const double *alpha, const double *emit, double **gamma,
                                          double *beta, double *v, double *by_state,
                                          double *counts)
{
    const int64_t row = 8 * g->n_nodes, S = 8 * n_states;
    const W8 zero = SPREAD(0.0), least = SPREAD(LANES_LEAST_MARGINAL);
    double *first = by_state + S * BACK_STEPS; /* the masses of the step that is gone back from */
    double scales[8 * (BACK_STEPS + 1)] = {0.0};
    int64_t steps;
    memset(first, 0, S * sizeof(double));
    for (int64_t m = 0; m < g->n_nodes; m++) {
        const int64_t i = 8 * side->states[m];
        W8 after = LOAD(beta + 8 * m);
        STORE(first + i, FMA(LOAD(alpha + 8 * m), after, LOAD(first + i)));
        STORE(v + 8 * m, MUL(LOAD(emit + i), after));
    }
    for (; n > 0; n -= steps) {
        steps = n < BACK_STEPS ? n : BACK_STEPS;
        if (steps < BACK_STEPS)
            memmove(by_state + S * steps, first, S * sizeof(double));
        double *out[8], *end[8];
        for (int l = 0; l < active; l++) {
            end[l] = gamma[l] + n_states;
            gamma[l] -= steps * n_states;
            out[l] = gamma[l] + n_states;
            for (double *p = out[l]; p < end[l]; p += 8)
                SOON_WRITTEN(p);
        }
        ONE_WAY_NODES(ALL_BACK);
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
#undef ALL_AHEAD
#undef ALL_BACK
#undef PAIRED

#endif
