/* Steps of the recursions of delay/lanes_apart.pxd, for 8 sequences of up to 8 states.
 *
 * They are those of delay/apart_steps.h, with a vector of 8 lanes for every number there. Rows hold 8
 * times x and 8 times e for each state. */
#ifndef ISA
#ifndef SKCHMM_DELAY_LANES_APART_STEPS_H
#define SKCHMM_DELAY_LANES_APART_STEPS_H

#include "delay/lanes_sum_steps.h"

#define APART_STEPS 16          /* of a batch: what is worked out twice stays in the cache */

typedef struct {
    int64_t S, delay;
    double step[8], keep[8];    /* see Scaled in delay/scaled_steps.h */
    double ahead[64], edges[64]; /* weights of edges, by head, and NOTHING where there is none */
    double back[64], edges_back[64]; /* the same by tail */
    double final[8], final_inside[8];
} ApartModel;

typedef struct {
    const ApartModel *model;
    double *enter;              /* (T, S, 16): what enters lines */
    double *after;              /* (mask + 1, S, 16): what follows */
    int64_t mask;
    double *tails, *runs;       /* (batches, S, 16): tails and products before each batch */
    double x[128], run[128];    /* (S, 16): tails, or what follows them, and products */
    double ends[128];           /* (S, 16): products up to the last step of each lane, */
    double beyond[128];         /* and what follows a head where the path ends inside its line */
    double norm_x[8], norm_e[8];
    double lengths[8];
} LaneApart;

#define STEPS "delay/lanes_apart_steps.h"
#include "simd/each.h"

#define lanes_apart_ahead(...) DISPATCH(lanes_apart_ahead)(__VA_ARGS__)
#define lanes_apart_inside(...) DISPATCH(lanes_apart_inside)(__VA_ARGS__)
#define lanes_apart_back(...) DISPATCH(lanes_apart_back)(__VA_ARGS__)

#endif
#else

#include "delay/wide.h"

#define GET(p) NAME(wide)((p), (p) + 8)
#define SET(p, v) NAME(put)((p), (p) + 8, (v))

/* The sum over the edges from, or to, all states but j. */
TARGET INLINE WIDE NAME(from_others)(const int K, const int j, const WIDE *from, const double *weights,
                                     const double *edges)
{
    const int first = j == 0;
    W8 size[8], top = ADD(from[first].e, SPREAD(edges[first]));
    size[first] = top;
    UNROLLED for (int k = first + 1; k < K; k++)
        if (k != j) {
            size[k] = ADD(from[k].e, SPREAD(edges[k]));
            top = MAX(top, size[k]);
        }
    W8 sum = MUL(LOWER(from[first].x, SUB(size[first], top)), SPREAD(weights[first]));
    UNROLLED for (int k = first + 1; k < K; k++)
        if (k != j)
            sum = FMA(LOWER(from[k].x, SUB(size[k], top)), SPREAD(weights[k]), sum);
    WIDE r = {sum, top};
    return r;
}

/* The products of one more step. */
TARGET INLINE WIDE NAME(one_more)(WIDE run, const double *emit, double step)
{
    W8 x = MUL(run.x, MUL(LOAD(emit), SPREAD(step)));
    WIDE r = {FRACTION(x), ADD(run.e, EXPONENT(x))};
    return r;
}

/* Tails of one more step, if lines have come to their ends, and what came out of them. */
TARGET INLINE WIDE NAME(stay_or_come)(WIDE x, double keep, const double *come)
{
    x.x = MUL(x.x, SPREAD(keep));
    return come ? NAME(sum_of)(x, GET(come)) : x;
}

TARGET INLINE void NAME(apart_ahead_of)(const int K, LaneApart *a, int64_t t, int64_t n,
                                        const double *emit)
{
    const ApartModel *m = a->model;
    WIDE x[8], run[8], from[8];
    UNROLLED for (int k = 0; k < K; k++) {
        x[k] = GET(a->x + 16 * k);
        run[k] = GET(a->run + 16 * k);
    }
    for (int64_t end = t + n; t < end; t++, emit += 8 * K) {
        double *go = a->enter + 16 * K * t;
        UNROLLED for (int k = 0; k < K; k++) {
            from[k].x = MUL(x[k].x, run[k].x);
            from[k].e = ADD(x[k].e, run[k].e);
        }
        UNROLLED for (int j = 0; j < K; j++) {
            WIDE g = NAME(from_others)(K, j, from, m->ahead + 8 * j, m->edges + 8 * j);
            SET(go + 16 * j, NAME(brought_back)(DIV(g.x, run[j].x), SUB(g.e, run[j].e)));
        }
        const double *come = t < m->delay ? NULL : go - 16 * K * m->delay;
        UNROLLED for (int k = 0; k < K; k++) {
            x[k] = NAME(stay_or_come)(x[k], m->keep[k], come ? come + 16 * k : NULL);
            run[k] = NAME(one_more)(run[k], emit + 8 * k, m->step[k]);
        }
    }
    UNROLLED for (int k = 0; k < K; k++) {
        SET(a->x + 16 * k, x[k]);
        SET(a->run + 16 * k, run[k]);
    }
}

/* n steps from step t on in which all paths are inside the lines that they began in. */
TARGET INLINE void NAME(apart_inside_of)(LaneApart *a, int64_t t, int64_t n, const double *emit)
{
    const int64_t K = a->model->S;
    for (int64_t end = t + n; t < end; t++, emit += 8 * K)
        for (int64_t k = 0; k < K; k++) {
            WIDE run = NAME(one_more)(GET(a->run + 16 * k), emit + 8 * k, a->model->step[k]);
            SET(a->run + 16 * k, run);
            SET(a->enter + 16 * (K * t + k), NAME(nothing)());
        }
}

#define OF_STATES(f, S, ...)                                                                \
    switch (S) {                                                                            \
    case 2: NAME(f)(2, __VA_ARGS__); break;                                                 \
    case 3: NAME(f)(3, __VA_ARGS__); break;                                                 \
    case 4: NAME(f)(4, __VA_ARGS__); break;                                                 \
    case 5: NAME(f)(5, __VA_ARGS__); break;                                                 \
    case 6: NAME(f)(6, __VA_ARGS__); break;                                                 \
    case 7: NAME(f)(7, __VA_ARGS__); break;                                                 \
    default: NAME(f)(8, __VA_ARGS__);                                                       \
    }

/* A batch of n steps from step t on; whether anything is in a tail. */
TARGET static int NAME(lanes_apart_ahead)(LaneApart *a, int64_t batch, int64_t t, int64_t n,
                                          const double *emit)
{
    const int64_t K = a->model->S;
    int live = 0;
    for (int64_t k = 0; k < K; k++) {
        WIDE x = NAME(normal)(LOAD(a->x + 16 * k), LOAD(a->x + 16 * k + 8));
        SET(a->x + 16 * k, x);
        live |= ABOVE(x.x, SPREAD(0.0));
    }
    memcpy(a->tails + 16 * K * batch, a->x, 16 * K * sizeof(double));
    memcpy(a->runs + 16 * K * batch, a->run, 16 * K * sizeof(double));
    live = live || t + n > a->model->delay;
    if (live) {
        OF_STATES(apart_ahead_of, K, a, t, n, emit)
    } else
        NAME(apart_inside_of)(a, t, n, emit);
    return live;
}

/* The sums of what entered the line of state k in steps begin .. end - 1, x then e. */
TARGET static void NAME(lanes_apart_inside)(const LaneApart *a, int64_t k, int64_t begin, int64_t end,
                                            double *out)
{
    WIDE sum = NAME(nothing)();
    for (int64_t t = begin; t < end; t++)
        sum = NAME(sum_of)(sum, GET(a->enter + 16 * (a->model->S * t + k)));
    sum = NAME(normal)(sum.x, sum.e);
    SET(out, sum);
}

/* What follows the head of state k in step t. `inside`: its path ends inside the line; 0 in no lane, 1 in
 * all, 2 in some. */
TARGET INLINE WIDE NAME(what_follows)(const LaneApart *a, int64_t k, int64_t t, int inside)
{
    const WIDE end = GET(a->beyond + 16 * k);
    if (inside == 1)
        return end;
    WIDE come = GET(a->after + 16 * (a->model->S * ((t + a->model->delay) & a->mask) + k));
    if (inside == 2) {
        W8 lengths = LOAD(a->lengths), to = SPREAD((double)(t + a->model->delay));
        come.x = PICK(lengths, to, come.x, end.x);
        come.e = PICK(lengths, to, come.e, end.e);
    }
    return come;
}

/* Posteriors, from what leads to places and what follows. */
TARGET INLINE W8 NAME(share_of_both)(const LaneApart *a, WIDE ahead, WIDE after)
{
    W8 e = ADD(ADD(ahead.e, after.e), LOAD(a->norm_e));
    return LOWER(MUL(MUL(ahead.x, LOAD(a->norm_x)), after.x), e);
}

/* Tails and products of a batch are worked out again, then it goes back. */
TARGET INLINE void NAME(apart_back_of)(const int K, LaneApart *a, int64_t batch, int64_t t, int64_t n,
                                       double *emit, int inside)
{
    const ApartModel *m = a->model;
    WIDE tails[8 * APART_STEPS], runs[8 * APART_STEPS], x[8], from[8], follow[8];
    UNROLLED for (int k = 0; k < K; k++) {
        WIDE tail = GET(a->tails + 16 * (K * batch + k)), run = GET(a->runs + 16 * (K * batch + k));
        for (int64_t i = 0; i < n; i++) {
            const double *come = a->enter + 16 * (K * (t + i - m->delay) + k);
            runs[K * i + k] = run;
            run = NAME(one_more)(run, emit + 8 * (K * i + k), m->step[k]);
            if (t > 0)
                tail = NAME(stay_or_come)(tail, m->keep[k], t + i < m->delay ? NULL : come);
            tails[K * i + k] = tail;
        }
        x[k] = NAME(normal)(LOAD(a->x + 16 * k), LOAD(a->x + 16 * k + 8));
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const WIDE *run = runs + K * i;
        double *go = a->enter + 16 * K * (t + i), *after = a->after + 16 * K * ((t + i - 1) & a->mask);
        UNROLLED for (int k = 0; k < K; k++) {
            follow[k] = NAME(what_follows)(a, k, t + i, inside);
            STORE(emit + 8 * (K * i + k), NAME(share_of_both)(a, tails[K * i + k], x[k]));
            STORE(go + 16 * k, NAME(share_of_both)(a, GET(go + 16 * k), follow[k]));
            from[k].x = DIV(follow[k].x, run[k].x);
            from[k].e = SUB(follow[k].e, run[k].e);
        }
        UNROLLED for (int j = 0; j < K; j++) {
            WIDE z = NAME(from_others)(K, j, from, m->back + 8 * j, m->edges_back + 8 * j);
            z = NAME(brought_back)(MUL(z.x, run[j].x), ADD(z.e, run[j].e));
            x[j].x = MUL(x[j].x, SPREAD(m->keep[j]));
            x[j] = NAME(sum_of)(x[j], z);
            SET(after + 16 * j, x[j]);
        }
    }
    UNROLLED for (int k = 0; k < K; k++)
        SET(a->x + 16 * k, x[k]);
}

/* A batch of n steps from step t on, back; posteriors of entering lines replace what `enter` holds, those
 * of tails the emissions. */
TARGET static void NAME(lanes_apart_back)(LaneApart *a, int64_t batch, int64_t t, int64_t n, double *emit,
                                          int inside)
{ OF_STATES(apart_back_of, a->model->S, a, batch, t, n, emit, inside) }

#undef OF_STATES
#undef GET
#undef SET
#undef WIDE

#endif
