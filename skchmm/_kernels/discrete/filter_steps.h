/* Steps of causal_sums.pyx, 8 targets at a time:
 *
 *     row(m) = emit(m) sum_{n -> m} before(n) w(n -> m),   out = row by state / sum of row
 */
#ifndef ISA

#include <math.h>

#include "shared/blocks.h"
#include "simd/vector.h"

/* Steps after which a row that stays in registers is looked at. */
#define LOOK 16

/* 2^-160, the least that a sum may be of its unit. Where a unit is 2^256 of the next one, what comes
 * from two units below is then less than 2^-192 of any sum, and is left out. */
#define NEAR 6.8422776578360209e-49

#define STEPS "discrete/filter_steps.h"
#include "simd/each.h"

#define filter_run(...) DISPATCH(filter_run)(__VA_ARGS__)
#define scale_run(...) DISPATCH(scale_run)(__VA_ARGS__)

#else

#include "discrete/row_sums.h"
#include "simd/exp.h"

/* Rows of log-likelihoods as probabilities, divided by their maximum; which of them are lossy:
 * doubles lose something of their ratios, or nothing is possible. */
TARGET static void NAME(scale_run)(int64_t n, int64_t n_states, const double *logs, double least,
                                   double *out, uint8_t *lossy)
{
    int64_t size = n * n_states, i = 0;
    int few = 0;
    for (int64_t t = 0; t < n; t++) {
        const double *row = logs + t * n_states;
        double top = row[0];
        for (int64_t k = 1; k < n_states; k++)
            top = row[k] > top ? row[k] : top;
        lossy[t] = !(top > -INFINITY);
        top = top > -INFINITY ? top : 0.0;
        for (int64_t k = 0; k < n_states; k++)
            out[t * n_states + k] = row[k] - top;
    }
    for (; i + 8 <= size; i += 8) {
        W8 x = LOAD(out + i);
        few |= BETWEEN(x, -INFINITY, least);
        STORE(out + i, NAME(exp_of)(x));
    }
    if (i < size) {
        W8 x = HEAD(out + i, size - i);
        few |= BETWEEN(x, -INFINITY, least);
        STORE_HEAD(out + i, NAME(exp_of)(x), size - i);
    }
    for (int64_t t = 0; few && t < n; t++)
        for (int64_t k = 0; k < n_states; k++) {
            double p = out[t * n_states + k];
            lossy[t] |= p < exp(least) && logs[t * n_states + k] > -INFINITY;
        }
}

/* Probabilities of the states, of up to 8 steps and up to 8 states, from rows of K nodes; the sums
 * of the rows. Eight rows on end, so that there is one division for all. */
TARGET INLINE W8 NAME(put_steps)(const int K, int64_t n, W8 *rows, int64_t n_states,
                                 const int32_t *first, double *out, const double *end)
{
    W8 states[8];
    for (int64_t t = n; t < 8; t++)
        rows[t] = SPREAD(1.0);
    TRANSPOSE(rows);
    W8 total = rows[0];
    for (int m = 1; m < K; m++)
        total = ADD(total, rows[m]);
    W8 factor = DIV(SPREAD(1.0), total);
    for (int i = 0; i < 8; i++) {
        if (!first) {
            states[i] = i < K ? MUL(rows[i], factor) : SPREAD(0.0);
        } else if (i < n_states) {
            W8 mass = SPREAD(0.0);
            for (int32_t m = first[i]; m < first[i + 1]; m++)
                mass = ADD(mass, rows[m]);
            states[i] = MUL(mass, factor);
        } else {
            states[i] = SPREAD(0.0);
        }
    }
    TRANSPOSE(states);
    for (int64_t t = 0; t < n; t++, out += n_states)
        if (end - out >= 8)
            STORE(out, states[t]); /* the next row is written over what is too much */
        else
            STORE_HEAD(out, states[t], n_states);
    return total;
}

/* Up to LOOK steps of a graph of K nodes, whose row stays in registers; 0, and nothing but output
 * written, if one of its sums may be out of range. K is a constant of the compiler. */
TARGET INLINE int NAME(few_nodes)(const int K, int64_t n, const double *dense, const double *table,
                                  const int32_t *rows, double floor, double *row, int64_t n_states,
                                  const int32_t *first, const double *shares, const double *sure,
                                  double *out, const double *end)
{
    W8 weights[8], now = LOAD(row), least = SPREAD(INFINITY), known = least, most = SPREAD(0.0);
    W8 share = shares ? LOAD(shares) : SPREAD(1.0), safe = sure ? LOAD(sure) : SPREAD(1.0);
    W8 lowest = least, seen = now;
    const int chains = K > 6 ? 4 : 2; /* sums that do not wait for each other */
    for (int k = 0; k < K; k++)
        weights[k] = LOAD(dense + 8 * k);
    for (int64_t begin = 0; begin < n; begin += 8) {
        int64_t some = n - begin < 8 ? n - begin : 8;
        W8 kept[8];
        for (int64_t t = 0; t < some; t++) {
            W8 from[8];
            for (int k = 0; k < K; k++)
                from[k] = LANE(now, k);
            W8 part[4];
            for (int k = 0; k < chains; k++)
                part[k] = MUL(from[k], weights[k]);
            for (int k = chains; k < K; k++)
                part[k % chains] = FMA(from[k], weights[k], part[k % chains]);
            W8 even = chains == 4 ? ADD(part[0], part[2]) : part[0];
            W8 odd = chains == 4 ? ADD(part[1], part[3]) : part[1];
            W8 emit = LOAD(table + 8 * (rows ? rows[begin + t] : begin + t));
            /* what the next step waits for leaves the sum itself out */
            now = FMA(even, emit, MUL(odd, emit));
            W8 sums = ADD(even, odd);
            least = LEAST(sums, least);
            if (shares) {
                known = MIN(ADD(sums, safe), known);
                most = MAX(sums, most);
            }
            seen = shares ? MUL(now, share) : now;
            kept[t] = seen;
        }
        lowest = MIN(NAME(put_steps)(K, some, kept, n_states, first, out, end), lowest);
        out += some * n_states;
    }
    if (ABOVE(SPREAD(floor), lowest) || BETWEEN(least, 0.0, floor) || BETWEEN(known, -1.0, floor)
        || LARGEST(most) > 1.0 / NEAR)
        return 0;
    STORE(row, MUL(now, SPREAD(1.0 / TOTAL(seen))));
    return 1;
}

/* The same for any number of nodes up to 8, with and without units. */
TARGET static int NAME(few_steps)(int64_t K, int64_t n, const double *dense, const double *table,
                                  const int32_t *rows, double floor, double *row, int64_t n_states,
                                  const int32_t *first, const double *shares, const double *sure,
                                  double *out, const double *end)
{
#define RUN(K)                                                                                  \
    (shares ? NAME(few_nodes)(K, n, dense, table, rows, floor, row, n_states, first, shares,    \
                              sure, out, end)                                                   \
            : NAME(few_nodes)(K, n, dense, table, rows, floor, row, n_states, first, 0, 0, out, \
                              end))
    return K <= 3 ? RUN(3) : K == 4 ? RUN(4) : K == 5 ? RUN(5) : K == 6 ? RUN(6) : RUN(8);
#undef RUN
}

/* Up to n steps; the steps done. `row` is the last row and room for the next, one after the other,
 * and stays in range. Stops before a step some of whose sums are positive and below
 * floor, or of which next to nothing is left; *last says which half is the last row. Where `out` is
 * NULL the step is taken and nothing written. `first` has the first node of every state and, after
 * it, the number of nodes; it is NULL where a node is a state. `dense` has the weights of a graph of
 * up to 8 nodes and states, (8, 8), or is NULL. Where nodes are measured by units of their own, `shares` has
 * these, and `sure` 0 for nodes that may also have a way from where too little comes to be seen: if
 * next to nothing else comes to one of them, the run stops too, and if any sum is above 1 / NEAR. */
TARGET static int64_t NAME(filter_run)(const Blocks *b, const double *weights, const double *dense,
                                       int64_t n_nodes, int64_t n, const double *table,
                                       const int32_t *rows, double floor, double *row,
                                       int64_t n_states, const int32_t *first,
                                       const double *shares, const double *sure, double *out,
                                       int *last)
{
    int64_t stride = 8 * b->n_blocks, t = 0, in_turn = 0;
    const double *end = out ? out + n * n_states : 0;
    int half = *last;
    while (t < n) {
        if (dense && out && t >= in_turn) {
            int64_t some = n - t < LOOK ? n - t : LOOK;
            if (NAME(few_steps)(n_nodes, some, dense, rows ? table : table + t * stride,
                                rows ? rows + t : 0, floor, row + half * stride, n_states, first,
                                shares, sure, out, end)) {
                t += some;
                out += some * n_states;
                continue;
            }
            in_turn = t + some; /* these one by one */
        }
        int64_t at = rows ? rows[t] : t;
        const double *before = row + half * stride, *emit = table + at * stride;
        double *now = row + (1 - half) * stride;
        W8 sum = SPREAD(0.0);
        int stop = 0;
        for (int64_t i = 0; i < b->n_blocks;) {
            W8 sums[4];
            int64_t end = i + NAME(row_sums)(b, i, weights, before, sums);
            for (const W8 *each = sums; i < end; i++, each++) {
                W8 u = *each;
                stop |= BETWEEN(u, 0.0, floor);
                if (shares)
                    stop |= BETWEEN(ADD(u, LOAD(sure + 8 * i)), -1.0, floor)
                            | ABOVE(u, SPREAD(1.0 / NEAR));
                u = MUL(u, LOAD(emit + 8 * i));
                sum = shares ? FMA(u, LOAD(shares + 8 * i), sum) : ADD(sum, u);
                STORE(now + 8 * i, u);
            }
        }
        double all = TOTAL(sum);
        if (stop || !(all >= floor))
            break;
        half = 1 - half;
        if (out && first) {
            double factor = 1.0 / all;
            for (int64_t i = 0; i < n_states; i++) {
                double mass = 0.0;
                for (int64_t m = first[i]; m < first[i + 1]; m++)
                    mass += shares ? now[m] * shares[m] : now[m];
                out[i] = mass * factor;
            }
            out += n_states;
        } else if (out) {
            W8 factor = SPREAD(1.0 / all);
            for (int64_t i = 0; i < n_states; i += 8) {
                W8 v = MUL(LOAD(now + i), factor);
                STORE_HEAD(out + i, shares ? MUL(v, LOAD(shares + i)) : v, n_states - i);
            }
            out += n_states;
        }
        if (!(all > 1e-30 && all < 1e30)) {
            W8 factor = SPREAD(1.0 / all);
            for (int64_t i = 0; i < b->n_blocks; i++)
                STORE(now + 8 * i, MUL(LOAD(now + 8 * i), factor));
        }
        t++;
    }
    *last = half;
    return t;
}

#endif
