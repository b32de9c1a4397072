/* Recursions on 8 sequences at once, for one instruction set; included by blocks.h after
 * blocks_steps.h, whose macros it uses.
 *
 * A row holds 8 numbers a node, one a sequence, so an edge is one operation for all of them and
 * nothing is gathered or padded. Edges are listed by target (by source, going back).
 */

/* exp(x) for x <= 0; what is below 1e-307 is 0. */
TARGET static inline W8 NAME(exp_of)(W8 x)
{
    static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                               1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    W8 least = SPREAD(-707.0), kept = MAX(x, least);
    W8 k = ROUND(MUL(kept, SPREAD(1.4426950408889634)));
    W8 r = FMA(k, SPREAD(-0.693145751953125), kept);
    r = FMA(k, SPREAD(-1.4286068203094172e-06), r);
    W8 p = SPREAD(c[0]);
    for (int i = 1; i < 14; i++)
        p = FMA(p, r, SPREAD(c[i]));
    return PICK(x, least, MUL(p, POWER(k)), SPREAD(0.0));
}

/* out(t, i, lane) = table(at(t, lane), i) */
TARGET static void NAME(lanes_fill)(int64_t n, int64_t n_states, const double *table,
                                    const int64_t *at, double *out)
{
    for (int64_t t = 0; t < n; t++, at += 8, out += 8 * n_states)
        for (int64_t i = 0; i < n_states; i += 8) {
            W8 x[8];
            for (int l = 0; l < 8; l++)
                x[l] = HEAD(table + at[l] * n_states + i, n_states - i);
            TRANSPOSE(x);
            for (int64_t j = 0; j < 8 && j < n_states - i; j++)
                STORE(out + 8 * (i + j), x[j]);
        }
}

/* Logarithms to probabilities relative to the largest of a step, in place. The largest are added
 * to `total` for the first active(t) lanes. A step in which one of these has a ratio below log_lossy
 * is marked, and its numbers are exp 2^-scales. Returns whether there is one. */
TARGET static int NAME(lanes_exp)(int64_t n, int64_t n_states, double log_lossy,
                                  const int8_t *active, double *table, double *total,
                                  double *scales, uint8_t *lossy)
{
    const W8 zero = SPREAD(0.0), none = SPREAD(-INFINITY), limit = SPREAD(log_lossy);
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
                W8 k = ROUND(MUL(x, SPREAD(1.4426950408889634)));
                k = PICK(limit, x, PICK(x, none, k, zero), zero);
                x = FMA(k, SPREAD(-1.4286068203094172e-06), FMA(k, SPREAD(-0.693145751953125), x));
                STORE(scales + 8 * i, k);
            }
            STORE(table + 8 * i, NAME(exp_of)(x));
        }
    }
    return any;
}

/* All nodes of a step. Where the number of edges is known to the compiler there is no inner loop,
 * whose end would be guessed wrongly at every other node of a sparse graph. FOUR nodes with the same
 * others are done at once; written out, so that what they work on stays in registers. */
#define ALL_NODES(ONE, FOUR)                                                          \
    do {                                                                              \
        const int32_t *at = g->nodes;                                                 \
        int64_t k = g->edge;                                                          \
        while (at[2] > 0) {                                                           \
            const int64_t alike = at[0], degree = at[1];                              \
            int64_t left = at[2];                                                     \
            at += 3;                                                                  \
            if (alike == 4) {                                                         \
                for (; left > 0; left--, at += 5 + degree, k += 4 * degree)           \
                    FOUR(degree);                                                     \
            } else                                                                    \
                switch (degree) {                                                     \
                case 1: EACH_NODE(ONE, 1); break;                                     \
                case 2: EACH_NODE(ONE, 2); break;                                     \
                case 3: EACH_NODE(ONE, 3); break;                                     \
                case 4: EACH_NODE(ONE, 4); break;                                     \
                default: EACH_NODE(ONE, degree);                                      \
                }                                                                     \
        }                                                                             \
    } while (0)
#define EACH_NODE(ONE, D)                                 \
    for (; left > 0; left--, at += 2 + (D), k += (D)) {   \
        ONE(D);                                           \
    }
#define NODE(i) (at[0] + 8 * (i))
#define STATE(i) at[1 + (i)]
#define OTHER(row, alike, j) LOAD((row) + at[1 + (alike) + (j)])

/* n steps; values in two rows in turn, of which the last is returned. choices(t, node, lane) is the
 * source that won, the first of equals; there are at most 256 nodes. */
#define START(best, edge) best = ADD(from, SPREAD(weights[edge]))
#define TRY(best, which, edge)                               \
    do {                                                     \
        W8 candidate = ADD(from, SPREAD(weights[edge]));     \
        which = PICK(candidate, best, number, which);        \
        best = MAX(best, candidate);                         \
    } while (0)
#define FINISH(i, best, which)                                     \
    do {                                                           \
        STORE(there + NODE(i), ADD(best, LOAD(emit + STATE(i))));  \
        NUMBER_BYTES(choices + NODE(i), which);                    \
    } while (0)
#define ONE(D)                                                        \
    do {                                                              \
        W8 best = none, which = zero;                                 \
        if ((D) > 0) {                                                \
            W8 from = OTHER(here, 1, 0);                              \
            START(best, k);                                           \
            which = SPREAD(numbers[k]);                               \
        }                                                             \
        for (int64_t j = 1; j < (D); j++) {                           \
            W8 from = OTHER(here, 1, j);                              \
            W8 number = SPREAD(numbers[k + j]);                       \
            TRY(best, which, k + j);                                  \
        }                                                             \
        FINISH(0, best, which);                                       \
    } while (0)
#define FOUR(D)                                                       \
    do {                                                              \
        W8 a, b, c, d, e = SPREAD(numbers[k]), f = e, h = e, i = e;   \
        W8 from = OTHER(here, 4, 0);                                  \
        START(a, k);                                                  \
        START(b, k + (D));                                            \
        START(c, k + 2 * (D));                                        \
        START(d, k + 3 * (D));                                        \
        for (int64_t j = 1; j < (D); j++) {                           \
            W8 from = OTHER(here, 4, j);                              \
            W8 number = SPREAD(numbers[k + j]);                       \
            TRY(a, e, k + j);                                         \
            TRY(b, f, k + j + (D));                                   \
            TRY(c, h, k + j + 2 * (D));                               \
            TRY(d, i, k + j + 3 * (D));                               \
        }                                                             \
        FINISH(0, a, e);                                              \
        FINISH(1, b, f);                                              \
        FINISH(2, c, h);                                              \
        FINISH(3, d, i);                                              \
    } while (0)
TARGET static double *NAME(lanes_choose_run)(const Side *g, const double *weights, int64_t n,
                                             int64_t n_states, const double *emit, double *here,
                                             double *there, uint8_t *choices)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(LANES_NUMBER);
    const double *numbers = g->numbers;
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states, choices += 8 * g->n_nodes) {
        ALL_NODES(ONE, FOUR);
        double *swap = here;
        here = there;
        there = swap;
    }
    return here;
}
#undef START
#undef TRY
#undef FINISH
#undef ONE
#undef FOUR

/* One target, or four, of a recursion that takes in edge by edge. */
#define ONE(D)                                          \
    do {                                                \
        W8 a = BEGIN;                                   \
        for (int64_t j = 0; j < (D); j++) {             \
            W8 from = OTHER(here, 1, j);                \
            TAKE(a, k + j);                             \
        }                                               \
        FINISH(0, a);                                   \
    } while (0)
#define FOUR(D)                                         \
    do {                                                \
        W8 a = BEGIN, b = a, c = a, d = a;              \
        for (int64_t j = 0; j < (D); j++) {             \
            W8 from = OTHER(here, 4, j);                \
            TAKE(a, k + j);                             \
            TAKE(b, k + j + (D));                       \
            TAKE(c, k + j + 2 * (D));                   \
            TAKE(d, k + j + 3 * (D));                   \
        }                                               \
        FINISH(0, a);                                   \
        FINISH(1, b);                                   \
        FINISH(2, c);                                   \
        FINISH(3, d);                                   \
    } while (0)

/* Up to n steps, each row after the one before it; the steps done. Stops after a step in which one
 * of the `watched` lanes has a positive sum outside [LOW, HIGH]; the extremes of all lanes are then
 * in low and high. Weights are (edges, 8). */
#define BEGIN SPREAD(0.0)
#define TAKE(sum, edge) sum = FMA(from, LOAD(weights + 8 * (edge)), sum)
#define FINISH(i, sum)                                            \
    do {                                                          \
        smallest = MIN(smallest, PICK(sum, zero, sum, infinity)); \
        largest = MAX(largest, sum);                              \
        STORE(out + NODE(i), MUL(sum, LOAD(emit + STATE(i))));    \
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
        ALL_NODES(ONE, FOUR);
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

/* Weights (edges, 8) = base 2^(exponent of the source - that of the target), and 0 in lanes that are
 * not live. Smaller ones than `least` are raised to it, or else dropped. */
TARGET static void NAME(lanes_weigh)(int64_t n, const int32_t *source, const int32_t *target,
                                     const double *base, const double *before,
                                     const double *after, double least, int raise,
                                     const double *live, double *out)
{
    const W8 high = SPREAD(LANES_POWER), low = SPREAD(-LANES_POWER), lanes = LOAD(live);
    for (int64_t k = 0; k < n; k++) {
        W8 d = SUB(LOAD(before + source[k]), LOAD(after + target[k]));
        W8 w = MUL(SPREAD(base[k]), POWER(MIN(MAX(d, low), high)));
        W8 floor = SPREAD(base[k] < least ? base[k] : least);
        w = raise ? MIN(MAX(w, floor), SPREAD(LANES_MOST)) : PICK(w, floor, w, SPREAD(0.0));
        STORE(out + 8 * k, MUL(w, lanes));
    }
}

/* New exponents for the chosen lanes, so that the numbers of a row are about 1; shift is what was added
 * to them. One for all nodes of a lane while they are together, or `close`; the lanes where they are
 * not are returned. A node without a number gets the largest that may come to it. */
TARGET static int NAME(lanes_balance)(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                                      const int32_t *target, const double *chosen,
                                      const double *close, double *row, double *exponents,
                                      double *shift)
{
    const W8 zero = SPREAD(0.0), one = SPREAD(1.0), half = SPREAD(0.5), unknown = SPREAD(-1e30);
    const W8 known = SPREAD(-1e29), most = SPREAD(LANES_POWER), least = SPREAD(-LANES_POWER);
    W8 top = unknown, bottom = SPREAD(1e30);
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 x = LOAD(row + 8 * m), size = ADD(LOAD(exponents + 8 * m), EXPONENT(x));
        bottom = MIN(bottom, PICK(x, zero, size, bottom));
        size = PICK(x, zero, size, unknown);
        top = MAX(top, size);
        STORE(shift + 8 * m, size);
    }
    W8 doing = PICK(top, known, LOAD(chosen), zero);
    W8 apart = PICK(SUB(top, bottom), SPREAD(LANES_TOGETHER), one, zero);
    apart = PICK(LOAD(close), half, zero, PICK(doing, half, apart, zero));
    int uneven = ABOVE(apart, half);
    int changed = uneven;
    for (int64_t i = 0; i < n_nodes && changed; i++) {
        changed = 0;
        for (int64_t k = 0; k < n_edges; k++) {
            W8 size = LOAD(shift + target[k]), from = LOAD(shift + source[k]);
            W8 grown = PICK(LOAD(row + target[k]), zero, size, MAX(size, from));
            changed |= ABOVE(grown, size);
            STORE(shift + target[k], grown);
        }
    }
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 size = LOAD(shift + 8 * m), old = LOAD(exponents + 8 * m);
        size = PICK(apart, half, PICK(size, known, size, top), top);
        W8 change = PICK(doing, half, SUB(size, old), zero);
        STORE(shift + 8 * m, change);
        STORE(exponents + 8 * m, ADD(old, change));
        W8 factor = POWER(MIN(MAX(SUB(zero, change), least), most));
        STORE(row + 8 * m, MUL(LOAD(row + 8 * m), factor));
    }
    return uneven;
}

/* Exponents for the sums of the next step: for each target, that of its largest source. */
TARGET static void NAME(lanes_reach)(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                                     const int32_t *target, const double *row,
                                     const double *exponents, double *out)
{
    const W8 zero = SPREAD(0.0), unknown = SPREAD(-1e30), known = SPREAD(-1e29);
    W8 top = unknown;
    for (int64_t m = 0; m < 8 * n_nodes; m += 8)
        STORE(out + m, unknown);
    for (int64_t k = 0; k < n_edges; k++) {
        W8 x = LOAD(row + source[k]), size = ADD(LOAD(exponents + source[k]), EXPONENT(x));
        W8 from = PICK(x, zero, size, unknown);
        STORE(out + target[k], MAX(LOAD(out + target[k]), from));
        top = MAX(top, from);
    }
    top = PICK(top, known, top, zero);
    for (int64_t m = 0; m < 8 * n_nodes; m += 8)
        STORE(out + m, PICK(LOAD(out + m), known, LOAD(out + m), top));
}

/* exponents = reached + scales of the emissions, if there are; shift is what was added. */
TARGET static void NAME(lanes_move)(int64_t n_nodes, const int32_t *states, const double *reached,
                                    const double *scales, double *exponents, double *shift)
{
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 size = LOAD(reached + 8 * m);
        if (scales)
            size = ADD(size, LOAD(scales + 8 * states[m]));
        STORE(shift + 8 * m, SUB(size, LOAD(exponents + 8 * m)));
        STORE(exponents + 8 * m, size);
    }
}

/* Take such a change back. */
TARGET static void NAME(lanes_undo)(int64_t n_nodes, const double *shift, double *alpha,
                                    double *beta, double *exponents)
{
    const W8 zero = SPREAD(0.0), most = SPREAD(LANES_POWER), least = SPREAD(-LANES_POWER);
    for (int64_t m = 0; m < 8 * n_nodes; m += 8) {
        W8 change = LOAD(shift + m), bounded = MIN(MAX(change, least), most);
        STORE(exponents + m, SUB(LOAD(exponents + m), change));
        STORE(alpha + m, MUL(LOAD(alpha + m), POWER(bounded)));
        STORE(beta + m, MUL(LOAD(beta + m), POWER(SUB(zero, bounded))));
    }
}

/* The marginals of a step: alpha beta of the nodes of each state divided by their sum, which is 1 but
 * for rounding. Returns 1 / sum; gamma goes down a row. v = emit beta. */
TARGET static inline W8 NAME(lanes_gamma)(const Side *g, int64_t n_states, int active,
                                          const double *alpha, const double *emit,
                                          double **gamma, const double *beta, double *by_state,
                                          double *v)
{
    W8 mass = SPREAD(0.0);
    int64_t m = 0;
    for (int64_t i = 0; i < n_states; i++) {
        W8 here = LOAD(emit + 8 * i), sum = SPREAD(0.0);
        for (; m < g->n_nodes && g->states[m] == i; m++) {
            W8 after = LOAD(beta + 8 * m);
            sum = FMA(LOAD(alpha + 8 * m), after, sum);
            STORE(v + 8 * m, MUL(here, after));
        }
        mass = ADD(mass, sum);
        STORE(by_state + 8 * i, sum);
    }
    W8 scale = SUB(SPREAD(2.0), mass);
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
                                     const double *beta, double *by_state, double *v)
{
    NAME(lanes_gamma)(g, n_states, active, alpha, emit, gamma, beta, by_state, v);
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

/* n steps back: writes the marginals of step t for the first `active` lanes, then takes beta from t
 * to t - 1. alpha, emit and gamma are given at the first t and go down from there. Rows of beta are
 * such that alpha . beta is 1 but for rounding; a node without alpha, or of which it would be 1e-180
 * or less, has none. counts(edge, lane), by source, are added to where given. v: LANES_STEPS rows. */
#define FINISH(i, sum)              \
    STORE(beta + NODE(i),           \
          PICK(LOAD(alpha + NODE(i)), zero, PICK(sum, least, sum, zero), zero))
TARGET static void NAME(lanes_back_run)(const Side *g, const double *weights, int64_t n,
                                        int64_t n_states, int active, const double *alpha,
                                        const double *emit, double **gamma, double *beta,
                                        double *v, double *by_state, double *counts)
{
    const W8 zero = SPREAD(0.0), least = SPREAD(1e-200);
    const int64_t row = 8 * g->n_nodes;
    double *here = v;
    for (int64_t t = 0, kept = 0; t < n; t++) {
        W8 scale = NAME(lanes_gamma)(g, n_states, active, alpha, emit, gamma, beta, by_state, here);
        alpha -= row;
        emit -= 8 * n_states;
        ALL_NODES(ONE, FOUR);
        if (counts) {
            for (int64_t m = 0; m < g->n_nodes; m++)
                STORE(here + 8 * m, MUL(LOAD(here + 8 * m), scale));
            kept++;
            here += row;
            if (kept == LANES_STEPS || t == n - 1) {
                NAME(lanes_count)(g, weights, kept, alpha + (kept - 1) * row, v, counts);
                kept = 0;
                here = v;
            }
        }
    }
}
#undef FINISH
#undef TAKE
#undef BEGIN
#undef ONE
#undef FOUR
#undef ALL_NODES
#undef EACH_NODE
#undef NODE
#undef STATE
#undef OTHER

#undef TARGET
#undef NAME
#undef W8
#undef SPREAD
#undef LOAD
#undef STORE
#undef ADD
#undef MUL
#undef MAX
#undef FMA
#undef BETWEEN
#undef TOTAL
#undef LARGEST
#undef STORE_HEAD
#undef PICK
#undef BYTES
#undef HEAD
#undef GATHER
#undef EQUAL
#undef SUB
#undef MIN
#undef ROUND
#undef POWER
#undef ABOVE
#undef TRANSPOSE
#undef EXPONENT
#undef NUMBER_BYTES
