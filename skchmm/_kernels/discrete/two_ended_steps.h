/* Both ends of a sweep over one sequence, for graphs of up to 16 nodes; see two_ended.pyx.
 *
 * A row is one vector or two that stay in registers, so a step waits for its own arithmetic only.
 * Processors without vectors are left to the general kernel.
 */
#ifndef ISA

#include "simd/vector.h"

#define MOST_PLACES 16
#define UNKNOWN (-1e30) /* the exponent of nothing */

/* How the nodes of a graph lie in a row, and which edges a term of the sums is:
 *
 *     full: term k is place k, to all places
 *     band: a place to itself; the place before it (going back, after it); and one edge besides,
 *           if there is one, as the place that it comes from, to all places. */
typedef struct {
    int64_t n_nodes;
    int64_t width; /* of a row: 8 or 16 places */
    int64_t n_terms;
    int band;
} Shape;

/* From a step on, rows have these exponents. */
typedef struct {
    int64_t at;
    double exponents[MOST_PLACES];
} Change;

/* One direction: row = emission * sums, sums = row before it times the weights. The number that a
 * place stands for is row 2^exponent. */
typedef struct {
    const double *weights; /* (n_terms, width) */
    double *scaled;        /* the same times 2^(exponent of the source - that of the target) */
    const double *reach;   /* (width, width): 0 where a path leads from place k to m, or UNKNOWN */
    int64_t jump;          /* the source of the third term of a band */
    const double *table;   /* emissions; a row is read to its width, though it may have less */
    int64_t stride;        /* of the table */
    const int32_t *rows;   /* of the table: for this step, and on from there or back */
    double *left;          /* rows that are left for the other end, or were by it: of this step */
    int64_t left_stride;
    double *out;           /* where marginals of this step go */
    int64_t out_stride;
    int64_t n_out;         /* places of it */
    int64_t step;          /* 1 ahead, -1 back, 0 idle */
    int64_t at;            /* the next step of the data */
    double row[MOST_PLACES];
    double exponents[MOST_PLACES];
    double theirs[MOST_PLACES]; /* the exponents of what the other end has left */
    double least[MOST_PLACES];  /* of the positive sums, since the exponents are as they are */
    double floor;               /* that these must not be below */
    double most;                /* of the factors that made marginals sum to 1 */
    double total;               /* of the last row that was looked at */
    Change *changes;            /* of the rows that were left */
    int64_t n_changes, room;    /* for so many */
    double counts[MOST_PLACES * MOST_PLACES]; /* (n_terms, width) */
} End;

/* WALK: rows are computed; LEAVE: and left for the other end; FINISH: what it has left becomes the
 * marginals; COUNT: and transitions are counted. */
enum { WALK, LEAVE, FINISH, COUNT };

/* Rows are looked at once in so many steps: one that has drifted gets new exponents. */
#define LOOK 16
#define BATCH 64 /* the most steps of a run */
#define SOUND(total) ((total) >= 1e-200 && (total) <= 1e100)
#define DRIFTED(total) (!((total) > 1e-30 && (total) < 1e30))
#define LOW 1e-60
/* Where exponents differ, weights are raised to the least, so that what should be positive is; that
 * is negligible in sums above the floor. */
#define LEAST_WEIGHT 1e-165
#define FLOOR 1e-200
#define FLOOR_UNEVEN 1e-140
#define MOST_POWER 1000.0

#define STEPS "discrete/two_ended_steps.h"
#define VECTORS_ONLY
#include "simd/each.h"
#undef VECTORS_ONLY

#define sweep_run(...) DISPATCH_VECTORS(sweep_run)(__VA_ARGS__)
#define weigh(...) DISPATCH_VECTORS(weigh)(__VA_ARGS__)
#define convert(...) DISPATCH_VECTORS(convert)(__VA_ARGS__)

#else

#include "simd/exp.h"

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
    int64_t size = n * n_states, i = 0;
    int fine = 0xFF;
    for (int64_t t = 0; t < n; t++) {
        const double *row = rows + t * n_states;
        double top = -INFINITY;
        for (int64_t k = 0; k < n_states; k++)
            top = row[k] > top ? row[k] : top;
        tops[t] = top;
        top = top > -INFINITY ? top : 0.0;
        for (int64_t k = 0; k < n_states; k++)
            out[t * n_states + k] = row[k] - top;
    }
    for (; i + 8 <= size; i += 8)
        STORE(out + i, NAME(probabilities)(LOAD(out + i), log_lossy, &fine));
    if (i < size)
        STORE_HEAD(out + i, NAME(probabilities)(HEAD(out + i, size - i), log_lossy, &fine), size - i);
    return fine != 0xFF;
}

/* The weights that the exponents make, and what follows from them. */
TARGET static void NAME(weigh)(const Shape *shape, End *end)
{
    const W8 none = SPREAD(0.0), low = SPREAD(-MOST_POWER), least = SPREAD(LEAST_WEIGHT);
    double exponents[MOST_PLACES + 2] = {0.0}; /* with a place before the first, and one after */
    double top = UNKNOWN, bottom = -UNKNOWN;
    for (int64_t m = 0; m < shape->width; m++) {
        double here = exponents[m + 1] = end->exponents[m];
        top = here > top ? here : top;
        bottom = here > UNKNOWN && here < bottom ? here : bottom;
        end->least[m] = INFINITY;
    }
    end->floor = top > bottom ? FLOOR_UNEVEN : FLOOR;
    for (int64_t k = 0; k < shape->n_terms; k++)
        for (int64_t m = 0; m < shape->width; m += 8) {
            const double *here = exponents + 1 + m;
            W8 from = !shape->band ? SPREAD(exponents[1 + k])
                      : k == 0     ? LOAD(here)
                      : k == 1     ? LOAD(here - end->step)
                                   : SPREAD(exponents[1 + end->jump]);
            W8 weight = LOAD(end->weights + k * shape->width + m);
            W8 power = POWER(MIN(MAX(SUB(from, LOAD(here)), low), none));
            STORE(end->scaled + k * shape->width + m,
                  MAX(MUL(weight, power), MIN(weight, least)));
        }
}

/* New exponents: that of the largest number at a place, or at one that leads to it. So none grows
 * along an edge that is smaller at its end, and sums do not overflow. `at` is the next step, where the
 * change is to be noted, or -1. */
TARGET static void NAME(rebalance)(const Shape *shape, End *end, int64_t at)
{
    const W8 none = SPREAD(0.0), unknown = SPREAD(UNKNOWN);
    const W8 low = SPREAD(-MOST_POWER), high = SPREAD(MOST_POWER);
    double sizes[MOST_PLACES];
    W8 total = none;
    int lost = 0, moved = 0;
    for (int64_t m = 0; m < shape->width; m += 8) {
        W8 x = LOAD(end->row + m), size = ADD(LOAD(end->exponents + m), EXPONENT(x));
        STORE(sizes + m, PICK(x, none, size, unknown));
        lost |= ABOVE(SPREAD(end->floor), LOAD(end->least + m));
    }
    end->total = 0.0;
    if (lost)
        return;
    for (int64_t m = 0; m < shape->width; m += 8) {
        W8 old = LOAD(end->exponents + m), top = unknown;
        for (int64_t k = 0; k < shape->n_nodes; k++)
            top = MAX(top, ADD(SPREAD(sizes[k]), LOAD(end->reach + k * shape->width + m)));
        top = MAX(top, unknown); /* sums of two unknown ones */
        W8 row = MUL(LOAD(end->row + m), POWER(MIN(MAX(SUB(old, top), low), high)));
        moved |= ABOVE(old, top) | ABOVE(top, old);
        total = ADD(total, row);
        STORE(end->exponents + m, top);
        STORE(end->row + m, row);
    }
    end->total = TOTAL(total);
    if (moved && at >= 0) {
        if (end->n_changes == end->room) { /* there is one for every look */
            end->total = 0.0;
            return;
        }
        end->changes[end->n_changes].at = at;
        memcpy(end->changes[end->n_changes++].exponents, end->exponents, sizeof end->exponents);
    }
    if (moved)
        NAME(weigh)(shape, end);
    else
        for (int64_t m = 0; m < shape->width; m += 8)
            STORE(end->least + m, SPREAD(INFINITY));
}

/* What rows that were left by the other end are multiplied by, so that products of both are those of
 * the numbers they stand for but for one power of two. */
TARGET INLINE void NAME(scales)(const int V, const End *end, W8 *scale)
{
    W8 sum[2], top = SPREAD(2.0 * UNKNOWN);
    for (int v = 0; v < V; v++) {
        sum[v] = ADD(LOAD(end->exponents + 8 * v), LOAD(end->theirs + 8 * v));
        top = MAX(top, sum[v]);
    }
    top = SPREAD(LARGEST(top));
    for (int v = 0; v < V; v++)
        scale[v] = POWER(MAX(SUB(sum[v], top), SPREAD(-MOST_POWER)));
}

/* What the neighbours of the places in vector v have, before them or, going back, after them. */
TARGET INLINE W8 NAME(beside)(const int V, const int side, const W8 *row, const int v)
{
    if (side > 0)
        return UP(v > 0 ? row[v - 1] : SPREAD(0.0), row[v]);
    return DOWN(row[v], v + 1 < V ? row[v + 1] : SPREAD(0.0));
}

/* One step of one end; what comes first is constants of the compiler: K terms (0: as many as there are
 * nodes), V vectors, band (2: with a jump), the mode and the direction. sums * emission is taken apart
 * into one fused operation, which leaves the sums themselves out of what the next step waits for. */
TARGET INLINE void NAME(step)(const int K, const int V, const int band, const int mode,
                              const int side, int64_t i, int64_t n_nodes, const End *end,
                              const W8 *weights, W8 *row, W8 *least, double *sums, double *before)
{
    W8 even[2], odd[2];
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
            odd[v] = band ? MUL(NAME(beside)(V, side, row, v), weights[V + v]) : SPREAD(0.0);
            if (band == 2)
                even[v] = FMA(SPREAD(kept[end->jump]), weights[2 * V + v], even[v]);
        }
        if (!band)
            for (int64_t k = 0; k < n_nodes; k += 2) /* weights beyond are zeros */
                for (int v = 0; v < V; v++) {
                    const double *w = end->scaled + 8 * (V * k + v);
                    even[v] = FMA(SPREAD(kept[k]), LOAD(w), even[v]);
                    odd[v] = FMA(SPREAD(kept[k + 1]), LOAD(w + 8 * V), odd[v]);
                }
    }
    for (int v = 0; v < V; v++) {
        W8 emission = LOAD(end->table + end->stride * end->rows[side * i] + 8 * v);
        W8 sum = ADD(even[v], odd[v]);
        row[v] = FMA(even[v], emission, MUL(odd[v], emission));
        least[v] = LEAST(sum, least[v]);
        if (mode == LEAVE)
            STORE_HEAD(end->left + side * i * end->left_stride + 8 * v, row[v], n_nodes - 8 * v);
        if (mode >= FINISH)
            STORE(sums + 8 * v, sum);
    }
}

/* Sums, times the rows that the other end has left. These are loaded before anything is stored among
 * them: loads of a few lanes from beside what was just stored would wait for it. */
TARGET INLINE void NAME(multiply)(const int V, const int mode, const int side, int64_t i,
                                  int64_t n_nodes, const End *end, const W8 *scale, double *sums,
                                  double *others)
{
    for (int v = 0; v < V; v++) {
        const double *left = end->left + side * i * end->left_stride + 8 * v;
        W8 other = MUL(SOME(left, n_nodes - 8 * v), scale[v]);
        STORE(sums + 8 * v, MUL(LOAD(sums + 8 * v), other));
        if (mode == COUNT)
            STORE(others + 8 * v, other);
    }
}

/* The marginals of a step, from such products, and its transitions. */
TARGET INLINE void NAME(normalise)(const int K, const int V, const int band, const int mode,
                                   const int side, int64_t i, int64_t n_nodes, const End *end,
                                   const double *joint, const double *others,
                                   const double *before, double *most, W8 *counts)
{
    W8 x[2], row[2];
    for (int v = 0; v < V; v++)
        x[v] = LOAD(joint + 8 * v);
    double share = 1.0 / TOTAL(V > 1 ? ADD(x[0], x[1]) : x[0]);
    W8 factor = SPREAD(share);
    *most = share > *most ? share : *most;
    for (int v = 0; v < V; v++)
        STORE_HEAD(end->out + side * i * end->out_stride + 8 * v, MUL(x[v], factor),
                   end->n_out - 8 * v);
    if (mode < COUNT)
        return;
    for (int v = 0; v < V; v++)
        row[v] = LOAD(before + 8 * v);
    for (int v = 0; v < V; v++) {
        W8 here = MUL(LOAD(others + 8 * v), factor);
        for (int k = 0; k < K; k++)
            counts[k] = FMA(LANE(row[0], k), here, counts[k]);
        if (band) {
            counts[v] = FMA(row[v], here, counts[v]);
            counts[V + v] = FMA(NAME(beside)(V, side, row, v), here, counts[V + v]);
            if (band == 2)
                counts[2 * V + v] = FMA(SPREAD(before[end->jump]), here, counts[2 * V + v]);
        } else if (K == 0)
            for (int64_t k = 0; k < n_nodes; k++)
                counts[k * V + v] = FMA(SPREAD(before[k]), here, counts[k * V + v]);
    }
}

/* Counts go to memory, with the weights of their time. */
TARGET INLINE void NAME(flush)(const int V, int64_t n_terms, End *end, W8 *counts)
{
    for (int64_t k = 0; k < n_terms * V; k++) {
        W8 sum = FMA(counts[k], LOAD(end->scaled + 8 * k), LOAD(end->counts + 8 * k));
        STORE(end->counts + 8 * k, sum);
        counts[k] = SPREAD(0.0);
    }
}

/* Whether a row has new exponents. */
TARGET INLINE int NAME(look)(const int V, const int mode, int64_t n_terms, int64_t i,
                             const Shape *shape, End *end, W8 *row, W8 *least, W8 *counts)
{
    int low = ABOVE(SPREAD(LOW), least[0]);
    end->total = TOTAL(V > 1 ? ADD(row[0], row[1]) : row[0]);
    if (V > 1)
        low |= ABOVE(SPREAD(LOW), least[1]);
    if (!RARELY(low || DRIFTED(end->total)) || end->step == 0)
        return 0;
    for (int v = 0; v < V; v++) {
        STORE(end->row + 8 * v, row[v]);
        STORE(end->least + 8 * v, least[v]);
    }
    if (mode == COUNT)
        NAME(flush)(V, n_terms, end, counts);
    NAME(rebalance)(shape, end, mode == LEAVE ? end->at + i * end->step : -1);
    for (int v = 0; v < V; v++) {
        row[v] = LOAD(end->row + 8 * v);
        least[v] = LOAD(end->least + 8 * v);
    }
    return 1;
}

TARGET INLINE void NAME(run_shape)(const int K, const int V, const int band, const int mode,
                                   int64_t n, const Shape *shape, End *ahead, End *back)
{
    const int64_t n_terms = K > 0 ? K : band ? 1 + band : shape->n_nodes, N = shape->n_nodes;
    const int n_held = K > 0 ? K : band ? (1 + band) * V : 0;
    W8 weights[8], back_weights[8], counts[2 * MOST_PLACES], back_counts[2 * MOST_PLACES];
    W8 row[2], back_row[2], least[2], back_least[2], scale[2], back_scale[2];
    double most = ahead->most, back_most = back->most;
    double sums[16 * LOOK], back_sums[16 * LOOK], others[16 * LOOK], back_others[16 * LOOK];
    double before[16 * LOOK], back_before[16 * LOOK];
    for (int v = 0; v < V; v++) {
        row[v] = LOAD(ahead->row + 8 * v), back_row[v] = LOAD(back->row + 8 * v);
        least[v] = LOAD(ahead->least + 8 * v), back_least[v] = LOAD(back->least + 8 * v);
    }
    if (mode == COUNT)
        for (int64_t k = 0; k < n_terms * V; k++)
            counts[k] = back_counts[k] = SPREAD(0.0);
    int moved = 1;
    for (int64_t i = 0; i < n;) {
        const int64_t first = i, stop = i + LOOK < n ? i + LOOK : n;
        if (moved) {
            for (int k = 0; k < n_held; k++) {
                weights[k] = LOAD(ahead->scaled + 8 * k);
                back_weights[k] = LOAD(back->scaled + 8 * k);
            }
            if (mode >= FINISH) {
                NAME(scales)(V, ahead, scale);
                NAME(scales)(V, back, back_scale);
            }
        }
#define AT(buffer) (buffer + 8 * V * (i - first))
        for (; i < stop; i++) {
            NAME(step)(K, V, band, mode, 1, i, N, ahead, weights, row, least, AT(sums),
                       AT(before));
            NAME(step)(K, V, band, mode, -1, i, N, back, back_weights, back_row, back_least,
                       AT(back_sums), AT(back_before));
        }
        if (mode >= FINISH) {
            for (i = first; i < stop; i++) {
                NAME(multiply)(V, mode, 1, i, N, ahead, scale, AT(sums), AT(others));
                NAME(multiply)(V, mode, -1, i, N, back, back_scale, AT(back_sums),
                               AT(back_others));
            }
            for (i = first; i < stop; i++) {
                NAME(normalise)(K, V, band, mode, 1, i, N, ahead, AT(sums), AT(others),
                                AT(before), &most, counts);
                NAME(normalise)(K, V, band, mode, -1, i, N, back, AT(back_sums),
                                AT(back_others), AT(back_before), &back_most, back_counts);
            }
        }
#undef AT
        moved = NAME(look)(V, mode, n_terms, i, shape, ahead, row, least, counts);
        moved |= NAME(look)(V, mode, n_terms, i, shape, back, back_row, back_least, back_counts);
        if (!SOUND(ahead->total) || !SOUND(back->total))
            break;
    }
    for (int v = 0; v < V; v++) {
        STORE(ahead->row + 8 * v, row[v]);
        STORE(back->row + 8 * v, back_row[v]);
        STORE(ahead->least + 8 * v, least[v]);
        STORE(back->least + 8 * v, back_least[v]);
    }
    ahead->most = most;
    back->most = back_most;
    if (mode == COUNT) {
        NAME(flush)(V, n_terms, ahead, counts);
        NAME(flush)(V, n_terms, back, back_counts);
    }
}

#define RUN(name, K, V, band)                                                            \
    TARGET static void NAME(run_##name)(int64_t n, const Shape *shape, int mode,         \
                                        End *ahead, End *back)                           \
    {                                                                                    \
        if (mode == WALK)                                                                \
            NAME(run_shape)(K, V, band, WALK, n, shape, ahead, back);                    \
        else if (mode == LEAVE)                                                          \
            NAME(run_shape)(K, V, band, LEAVE, n, shape, ahead, back);                   \
        else if (mode == FINISH)                                                         \
            NAME(run_shape)(K, V, band, FINISH, n, shape, ahead, back);                  \
        else                                                                             \
            NAME(run_shape)(K, V, band, COUNT, n, shape, ahead, back);                   \
    }
RUN(3, 3, 1, 0)
RUN(4, 4, 1, 0)
RUN(5, 5, 1, 0)
RUN(6, 6, 1, 0)
RUN(8, 8, 1, 0)
RUN(wide, 0, 2, 0)
RUN(band, 0, 1, 1)
RUN(jump, 0, 1, 2)
RUN(wide_band, 0, 2, 1)
RUN(wide_jump, 0, 2, 2)

/* n steps ahead and n back, side by side; one of the ends may be idle where n is 1. */
TARGET static void NAME(sweep_run)(int64_t n, const Shape *shape, int mode, End *ahead, End *back)
{
    const int64_t N = shape->n_nodes;
    const int wide = shape->width > 8;
    if (shape->band)
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
