/* Both ends of a sweep over one sequence, for graphs of up to 16 nodes; see two_ended.pyx.
 *
 * A row is one vector or two that stay in registers, so a step waits for its own arithmetic only.
 * Processors without vectors are left to the general kernel.
 */
#ifndef ISA

#include "discrete/ends.h"
#include "simd/vector.h"

#define STEPS "discrete/two_ended_steps.h"
#define VECTORS_ONLY
#include "simd/each.h"
#undef VECTORS_ONLY

#define sweep_run(...) DISPATCH_VECTORS(sweep_run)(__VA_ARGS__)
#define weigh(...) DISPATCH_VECTORS(weigh)(__VA_ARGS__)
#define convert(...) DISPATCH_VECTORS(convert)(__VA_ARGS__)
#define put_by_state(...) DISPATCH_VECTORS(put_by_state)(__VA_ARGS__)

#else

#include "simd/exp.h"
#include "simd/rows.h"

#include "discrete/end_exponents.h"
#include "discrete/end_lines.h"
#include "discrete/end_marginals.h"

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
    const int64_t size = n * n_states;
    int64_t k = 0;
    int fine = 0xFF;
    NAME(rows_less_tops)(n, n_states, rows, out, tops);
    for (; k + 8 <= size; k += 8)
        STORE(out + k, NAME(probabilities)(LOAD(out + k), log_lossy, &fine));
    if (k < size)
        STORE_HEAD(out + k, NAME(probabilities)(HEAD(out + k, size - k), log_lossy, &fine),
                   size - k);
    return fine != 0xFF;
}

/* Rows of n steps by place, for at most 16 states: `first` is the place of each, or -1. Steps are a stride
 * apart, which may be negative. */
TARGET static void NAME(put_by_state)(int64_t n, int64_t n_states, const int32_t *first,
                                      const double *rows, int64_t stride, double *out,
                                      int64_t out_stride)
{
    const W8 zero = SPREAD(0.0);
    W8 second_half[2], some[2];
    SPOTS spots[2];
    for (int v = 0; v < 2; v++) {
        int32_t at[8];
        double masks[16] = {0.0};
        for (int k = 0; k < 8; k++) {
            const int32_t place = 8 * v + k < n_states ? first[8 * v + k] : -1;
            at[k] = place < 0 ? 0 : place % 8;
            memset(masks + k, place >= 8 ? 0xFF : 0, sizeof(double));
            memset(masks + 8 + k, place >= 0 ? 0xFF : 0, sizeof(double));
        }
        spots[v] = SPOTS_AT(at);
        second_half[v] = LOAD(masks);
        some[v] = LOAD(masks + 8);
    }
    for (int64_t i = 0; i < n; i++, rows += stride, out += out_stride) {
        const W8 here = LOAD(rows), there = LOAD(rows + 8);
        for (int v = 0; v < 2 && 8 * v < n_states; v++) {
            W8 x = SELECT(second_half[v], TAKEN(there, spots[v]), TAKEN(here, spots[v]));
            STORE_HEAD(out + 8 * v, SELECT(some[v], x, zero), n_states - 8 * v);
        }
    }
}

/* One step of one end; what comes first is constants of the compiler: K terms (0: as many as there are
 * places), V vectors, D rows, band (2: with a jump), the mode and the direction. sums * emission is taken
 * apart into one fused operation, which leaves the sums themselves out of what the next step waits for;
 * in a band, what comes from elsewhere waits for weight * emission alone. */
TARGET INLINE void NAME(step)(const int K, const int V, const int D, const int band, const int mode,
                              const int side, int64_t i, int64_t n_places, const Rows *rows,
                              const W8 *weights, const NAME(Lines) *lines, SPOTS from, W8 *row,
                              W8 *below, W8 *out, W8 *least, double *sums, double *before)
{
    W8 even[2], odd[2], next[2];
    double kept[MOST_PLACES];
    if (mode == COUNT)
        for (int v = 0; v < V; v++)
            STORE(before + 8 * v, row[v]);
    if (K > 0) {
        even[0] = MUL(LANE(row[0], 0), weights[0]);
        odd[0] = MUL(LANE(row[0], 1), weights[1]);
        for (int k = 2; k < K; k += 2)
            even[0] = FMA(LANE(row[0], k), weights[k], even[0]);
        for (int k = 3; k < K; k += 2)
            odd[0] = FMA(LANE(row[0], k), weights[k], odd[0]);
    } else {
        if (band != 1)
            for (int v = 0; v < V; v++)
                STORE(kept + 8 * v, row[v]);
        for (int v = 0; v < V; v++) {
            even[v] = band ? MUL(row[v], weights[v]) : SPREAD(0.0);
            if (band)
                next[v] = NAME(beside)(V, side, D > 1 ? out : row, v, from);
            odd[v] = band ? MUL(next[v], weights[V + v]) : SPREAD(0.0);
            if (band == 2)
                even[v] = FMA(SPREAD(kept[rows->jump]), weights[2 * V + v], even[v]);
        }
        if (!band)
            for (int64_t k = 0; k < n_places; k += 2) /* weights beyond are zeros */
                for (int v = 0; v < V; v++) {
                    const double *w = rows->scaled + 8 * (V * k + v);
                    even[v] = FMA(SPREAD(kept[k]), LOAD(w), even[v]);
                    odd[v] = FMA(SPREAD(kept[k + 1]), LOAD(w + 8 * V), odd[v]);
                }
    }
    for (int v = 0; v < V; v++) {
        W8 emission = LOAD(rows->table + rows->stride * rows->rows[side * i] + 8 * v);
        W8 sum = band == 1 ? FMA(next[v], weights[V + v], even[v]) : ADD(even[v], odd[v]);
        for (int d = D - 2; d >= 0; d--) {
            W8 on = d > 0 ? below[d - 1] : row[0]; /* what ends before this row is not asked for */
            least[0] = LEAST(on, least[0]);
            below[d] = MUL(on, emission);
        }
        if (band == 1 && (ONE_REGISTER || V * D == 1))
            row[v] = FMA(next[v], MUL(weights[V + v], emission), MUL(even[v], emission));
        else
            row[v] = FMA(even[v], emission, MUL(odd[v], emission));
        least[v] = LEAST(sum, least[v]);
        if (D > 1)
            *out = NAME(emerging)(D, row[0], below, lines);
        if (mode == LEAVE)
            STORE_HEAD(rows->left + side * i * rows->left_stride + 8 * v, D > 1 ? *out : row[v],
                       n_places - 8 * v);
        if (mode >= FINISH)
            STORE(sums + 8 * v, sum);
    }
}

/* Whether a row has new exponents. */
TARGET INLINE int NAME(look)(const int V, const int D, const int mode, int64_t n_terms, int64_t i,
                             const Shape *shape, End *end, W8 *row, W8 *below, W8 *least,
                             W8 *counts)
{
    int low = ABOVE(SPREAD(LOW), least[0]);
    W8 sum = V > 1 ? ADD(row[0], row[1]) : row[0];
    for (int d = 0; d < D - 1; d++)
        sum = ADD(sum, below[d]);
    end->total = TOTAL(sum);
    if (V > 1)
        low |= ABOVE(SPREAD(LOW), least[1]);
    if (!RARELY(low || DRIFTED(end->total)) || end->step == 0)
        return 0;
    for (int v = 0; v < V; v++) {
        STORE(end->row + 8 * v, row[v]);
        STORE(end->least + 8 * v, least[v]);
    }
    for (int d = 0; d < D - 1; d++)
        STORE(end->below + 8 * d, below[d]);
    if (mode == COUNT)
        NAME(flush)(V, n_terms, end, counts);
    NAME(rebalance)(shape, end, mode == LEAVE ? end->at + i * end->step : -1);
    for (int v = 0; v < V; v++) {
        row[v] = LOAD(end->row + 8 * v);
        least[v] = LOAD(end->least + 8 * v);
    }
    for (int d = 0; d < D - 1; d++)
        below[d] = LOAD(end->below + 8 * d);
    return 1;
}

TARGET INLINE void NAME(run_shape)(const int K, const int V, const int D, const int band,
                                   const int mode, int64_t n, const Shape *shape, End *ahead,
                                   End *back)
{
    const int64_t N = shape->n_places, n_terms = K > 0 ? K : band ? 1 + band : N;
    const int n_held = K > 0 ? K : band ? (1 + band) * V : 0;
    W8 weights[8], back_weights[8], counts[2 * MOST_PLACES], back_counts[2 * MOST_PLACES];
    W8 row[2], back_row[2], least[2], back_least[2], scale[2], back_scale[2];
    W8 below[MOST_DEPTH], back_below[MOST_DEPTH], past[MOST_DEPTH], back_past[MOST_DEPTH];
    W8 out, back_out;
    NAME(Lines) lines;
    const SPOTS from = SPOTS_AT(ahead->from), back_from = SPOTS_AT(back->from);
    W8 most = SPREAD(ahead->most), back_most = SPREAD(back->most);
    Rows rows = rows_of(ahead), back_rows = rows_of(back);
    double sums[16 * LOOK], back_sums[16 * LOOK], others[16 * LOOK], back_others[16 * LOOK];
    double before[16 * LOOK], back_before[16 * LOOK];
    for (int v = 0; v < V; v++) {
        row[v] = LOAD(ahead->row + 8 * v), back_row[v] = LOAD(back->row + 8 * v);
        least[v] = LOAD(ahead->least + 8 * v), back_least[v] = LOAD(back->least + 8 * v);
    }
    NAME(open_lines)(D, ahead, below, past);
    NAME(open_lines)(D, back, back_below, back_past);
    for (int d = 0; d < D - 1; d++) {
        lines.inside[d] = LOAD(shape->inside + 8 * d);
        lines.last[d] = LOAD(shape->last + 8 * d);
    }
    if (mode == COUNT)
        for (int64_t k = 0; k < n_terms * V; k++)
            counts[k] = back_counts[k] = SPREAD(0.0);
    int moved = 1;
    for (int64_t done = 0; done < n;) {
        const int64_t some = n - done < LOOK ? n - done : LOOK;
        if (moved) {
            for (int k = 0; k < n_held; k++) {
                weights[k] = LOAD(ahead->scaled + 8 * k);
                back_weights[k] = LOAD(back->scaled + 8 * k);
            }
            if (D > 1) {
                out = NAME(emerging)(D, row[0], below, &lines);
                back_out = NAME(emerging)(D, back_row[0], back_below, &lines);
            }
            if (mode >= FINISH) {
                NAME(scales)(V, D, ahead, scale, past);
                NAME(scales)(V, D, back, back_scale, back_past);
            }
        }
        for (int64_t i = 0; i < some; i++) {
            const int64_t at = 8 * V * i;
            NAME(step)(K, V, D, band, mode, 1, i, N, &rows, weights, &lines, from, row, below, &out,
                       least, sums + at, before + at);
            NAME(step)(K, V, D, band, mode, -1, i, N, &back_rows, back_weights, &lines, back_from,
                       back_row, back_below, &back_out, back_least, back_sums + at,
                       back_before + at);
        }
        if (mode >= FINISH) {
            NAME(multiply)(V, D, mode, 1, some, N, &rows, &lines, scale, sums, others, past);
            NAME(multiply)(V, D, mode, -1, some, N, &back_rows, &lines, back_scale, back_sums,
                           back_others, back_past);
            NAME(normalise)(K, V, band, mode, 1, some, N, &rows, from, sums, others, before, &most,
                            counts);
            NAME(normalise)(K, V, band, mode, -1, some, N, &back_rows, back_from, back_sums,
                            back_others, back_before, &back_most, back_counts);
        }
        go_along(&rows, 1, some);
        go_along(&back_rows, -1, some);
        done += some;
        moved = NAME(look)(V, D, mode, n_terms, done, shape, ahead, row, below, least, counts);
        moved |= NAME(look)(V, D, mode, n_terms, done, shape, back, back_row, back_below, back_least,
                            back_counts);
        if (!SOUND(ahead->total) || !SOUND(back->total))
            break;
    }
    for (int v = 0; v < V; v++) {
        STORE(ahead->row + 8 * v, row[v]);
        STORE(back->row + 8 * v, back_row[v]);
        STORE(ahead->least + 8 * v, least[v]);
        STORE(back->least + 8 * v, back_least[v]);
    }
    for (int d = 0; d < D - 1; d++) {
        STORE(ahead->below + 8 * d, below[d]);
        STORE(back->below + 8 * d, back_below[d]);
        STORE(ahead->past + 8 * d, past[d]);
        STORE(back->past + 8 * d, back_past[d]);
    }
    ahead->most = LARGEST(most);
    back->most = LARGEST(back_most);
    if (mode == COUNT) {
        NAME(flush)(V, n_terms, ahead, counts);
        NAME(flush)(V, n_terms, back, back_counts);
    }
}

#define RUN(name, K, V, D, band)                                                         \
    TARGET static void NAME(run_##name)(int64_t n, const Shape *shape, int mode,         \
                                        End *ahead, End *back)                           \
    {                                                                                    \
        if (mode == WALK)                                                                \
            NAME(run_shape)(K, V, D, band, WALK, n, shape, ahead, back);                 \
        else if (mode == LEAVE)                                                          \
            NAME(run_shape)(K, V, D, band, LEAVE, n, shape, ahead, back);                \
        else if (mode == FINISH || D > 1) /* lines are not counted */                    \
            NAME(run_shape)(K, V, D, band, FINISH, n, shape, ahead, back);               \
        else                                                                             \
            NAME(run_shape)(K, V, D, band, COUNT, n, shape, ahead, back);                \
    }
RUN(3, 3, 1, 1, 0)
RUN(4, 4, 1, 1, 0)
RUN(5, 5, 1, 1, 0)
RUN(6, 6, 1, 1, 0)
RUN(8, 8, 1, 1, 0)
RUN(wide, 0, 2, 1, 0)
RUN(band, 0, 1, 1, 1)
RUN(jump, 0, 1, 1, 2)
RUN(wide_band, 0, 2, 1, 1)
RUN(wide_jump, 0, 2, 1, 2)
RUN(lines_2, 0, 1, 2, 1)
RUN(lines_3, 0, 1, 3, 1)
RUN(lines_4, 0, 1, 4, 1)

/* n steps ahead and n back, side by side; one of the ends may be idle where n is 1. */
TARGET static void NAME(sweep_run)(int64_t n, const Shape *shape, int mode, End *ahead, End *back)
{
    const int64_t N = shape->n_places, D = shape->depth;
    const int wide = shape->width > 8;
    if (D > 1)
        (D == 2 ? NAME(run_lines_2) : D == 3 ? NAME(run_lines_3) : NAME(run_lines_4))
            (n, shape, mode, ahead, back);
    else if (shape->band)
        (shape->n_terms == 2 ? (wide ? NAME(run_wide_band) : NAME(run_band))
                             : (wide ? NAME(run_wide_jump) : NAME(run_jump)))
            (n, shape, mode, ahead, back);
    else if (wide)
        NAME(run_wide)(n, shape, mode, ahead, back);
    else
        (N <= 3 ? NAME(run_3) : N == 4 ? NAME(run_4) : N == 5 ? NAME(run_5)
         : N == 6 ? NAME(run_6) : NAME(run_8))(n, shape, mode, ahead, back);
}
#undef RUN

#endif
