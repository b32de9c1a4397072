/* Steps of the recursion of delay/lanes_viterbi.pyx, for 8 sequences; one vector operation an edge. All
 * scores are whole numbers. */
#ifndef ISA

#include "delay/grid_steps.h"
#include "delay/lines.h"
#include "lanes/fill_steps.h"

/* Where a recursion stands. */
typedef struct {
    const Core *core;
    int64_t n_plain;         /* places that are no heads and hold a node */
    const double *weights;   /* by edge, in the order of core->first */
    const double *step;      /* (lines): the transition within each, */
    const double *passage;   /* and as many as there are in it */
    const double *final;     /* by node inside lines: what ending there scores */
    int impossible;          /* whether some log-likelihood is -inf */
    double *ring;            /* (mask + 1, lines, 8): the values of heads, less the sums at that step */
    int64_t mask;
    double *sums;            /* (lines, 8): the scores of the steps up to here, but those that are -inf */
    double *last;            /* (lines, 8): the last step whose score is */
    double *arrived;         /* (lines, 8) */
    const double *entering;  /* of uniform lines, (heads, 8): weights from tails; or NULL, see below */
    double keep[8];          /* of these, what a tail gains by staying, next to the line */
} LaneDelay;

#define STEPS "delay/lanes_max_steps.h"
#include "simd/each.h"

#define delay_lanes_round(...) DISPATCH(delay_lanes_round)(__VA_ARGS__)
#define delay_lanes_run(...) DISPATCH(delay_lanes_run)(__VA_ARGS__)
#define delay_lanes_top(...) DISPATCH(delay_lanes_top)(__VA_ARGS__)
#define delay_lanes_end(...) DISPATCH(delay_lanes_end)(__VA_ARGS__)

#else

/* n rows of log-likelihoods as whole numbers, in place, and what is added to those of each state. */
TARGET static void NAME(delay_lanes_round)(int64_t n, int64_t n_states, double level, double scale,
                                           const double *more, double *x)
{
    const W8 offset = SPREAD(level), factor = SPREAD(scale);
    for (; n > 0; n--)
        for (int64_t i = 0; i < n_states; i++, x += 8)
            STORE(x, ADD(ROUND(MUL(SUB(LOAD(x), offset), factor)), SPREAD(more[i])));
}

/* The best way into a place by n edges; where their number is known to the compiler there is no loop. */
#define EDGE(i) ADD(LOAD(before + 8 * sources[i]), SPREAD(weights[i]))
TARGET INLINE W8 NAME(best_edge)(const int32_t *sources, const double *weights, int64_t n,
                                 const double *before)
{
    switch (n) {
    case 0: return SPREAD(-INFINITY);
    case 1: return EDGE(0);
    case 2: return MAX(EDGE(0), EDGE(1));
    case 3: return MAX(MAX(EDGE(0), EDGE(1)), EDGE(2));
    case 4: return MAX(MAX(EDGE(0), EDGE(1)), MAX(EDGE(2), EDGE(3)));
    }
    W8 best = EDGE(0), second = EDGE(1);
    int64_t i = 2;
    for (; i + 1 < n; i += 2) {
        best = MAX(best, EDGE(i));
        second = MAX(second, EDGE(i + 1));
    }
    if (i < n)
        best = MAX(best, EDGE(i));
    return MAX(best, second);
}
#undef EDGE

/* The better of edges and lines; which of both it is is noted. */
TARGET INLINE W8 NAME(better_way)(W8 best, W8 arrived, uint8_t *notes)
{
    notes[0] = (uint8_t)ABOVE(best, arrived);
    notes[1] = (uint8_t)ABOVE(arrived, best);
    return MAX(best, arrived);
}

/* Beside it, which of the lines into place m are as good as the best of them. */
TARGET INLINE W8 NAME(with_lines)(const Core *c, int64_t m, const double *arrived, W8 best,
                                  uint8_t *notes)
{
    const int64_t begin = c->arriving[m], end = c->arriving[m + 1];
    if (begin == end)
        return best;
    W8 top = LOAD(arrived + 8 * c->into[begin]);
    for (int64_t k = begin + 1; k < end; k++)
        top = MAX(top, LOAD(arrived + 8 * c->into[k]));
    for (int64_t k = begin; k < end; k++) {
        int below = ABOVE(top, LOAD(arrived + 8 * c->into[k]));
        notes[2 * c->n_places + c->into[k]] = (uint8_t)~below;
    }
    return NAME(better_way)(best, top, notes + 2 * m);
}

/* Whether all paths are inside lines that none has come out of: nothing is in a place, nor will be. */
TARGET INLINE int64_t NAME(all_inside)(const LaneDelay *d, int64_t t, const double *values)
{
    int64_t shortest = d->core->longest;
    int some = 0;
    for (int64_t l = 0; l < d->core->n_lines; l++)
        shortest = d->core->delay[l] < shortest ? d->core->delay[l] : shortest;
    for (int64_t m = 0; m < d->n_plain && t < shortest; m++)
        some |= ABOVE(LOAD(values + 8 * m), SPREAD(-INFINITY));
    return some ? 0 : shortest;
}

/* The scores of a line's steps up to here. */
TARGET INLINE W8 NAME(add_score)(W8 emission, int64_t t, const int impossible, double *sum,
                                 double *last)
{
    const W8 none = SPREAD(-INFINITY);
    if (impossible) {
        STORE(last, PICK(emission, none, LOAD(last), SPREAD((double)t)));
        emission = PICK(emission, none, emission, SPREAD(0.0));
    }
    W8 all = ADD(LOAD(sum), emission);
    STORE(sum, all);
    return all;
}

/* Steps from step t on, of at most n, before any path can have come out of a line; how many these are. */
TARGET INLINE int64_t NAME(steps_inside)(LaneDelay *d, int64_t t, int64_t n, int64_t n_states,
                                         const double *emit, double *values, int64_t n_notes,
                                         uint8_t *notes)
{
    const Core *c = d->core;
    const int32_t *head_states = c->states + 8 * c->n_plain;
    const W8 none = SPREAD(-INFINITY);
    const int64_t begin = t, inside = NAME(all_inside)(d, t, values);
    for (; t < begin + n && t < inside; t++, emit += 8 * n_states) {
        values += 8 * d->n_plain;
        for (int64_t m = 0; m < d->n_plain; m++)
            STORE(values + 8 * m, none);
        for (int64_t l = 0; l < c->n_lines; l++) {
            NAME(add_score)(LOAD(emit + 8 * head_states[l]), t, d->impossible, d->sums + 8 * l,
                            d->last + 8 * l);
            STORE(d->ring + 8 * ((t & d->mask) * c->n_lines + l), none);
        }
    }
    memset(notes, 0, n_notes * (t - begin));
    return t - begin;
}

#define INTO(k, end) NAME(best_edge)(sources + (k), weights + (k), (end) - (k), values)
/* Notes are bytes, which might be anything to the compiler: what is read stands in variables. */
TARGET INLINE void NAME(lanes_steps)(LaneDelay *d, int64_t t, int64_t n, int64_t n_states,
                                     const double *emit, double *values, int64_t n_notes,
                                     uint8_t *notes, const int impossible, const int aligned)
{
    const Core *c = d->core;
    const int64_t n_plain = d->n_plain, n_lines = c->n_lines, mask = d->mask;
    const int64_t *delay = c->delay;
    const int32_t *first = c->first, *sources = c->sources, *states = c->states;
    const int32_t *head_first = first + 8 * c->n_plain, *head_states = states + 8 * c->n_plain;
    const double *weights = d->weights, *passage = d->passage;
    double *ring = d->ring, *sums = d->sums, *last = d->last, *arrived = d->arrived;
    const W8 none = SPREAD(-INFINITY);
    const int64_t end = t + n;
    for (; t < end; t++, notes += n_notes, emit += 8 * n_states) {
        double *out = values + 8 * n_plain;
        for (int64_t l = 0; l < n_lines; l++) {
            const int64_t since = t - delay[l];
            W8 come = none;
            if (since >= 0) {
                come = LOAD(ring + 8 * ((since & mask) * n_lines + l));
                come = ADD(ADD(come, LOAD(sums + 8 * l)), SPREAD(passage[l]));
                if (impossible)
                    come = PICK(LOAD(last + 8 * l), SPREAD((double)since), none, come);
            }
            if (!aligned) {
                STORE(arrived + 8 * l, come);
                continue;
            }
            W8 best = INTO(first[l], first[l + 1]);
            best = NAME(better_way)(best, come, notes + 2 * l);
            STORE(out + 8 * l, ADD(best, LOAD(emit + 8 * states[l])));
        }
        for (int64_t m = aligned ? n_lines : 0; m < n_plain; m++) {
            W8 best = INTO(first[m], first[m + 1]);
            if (!aligned)
                best = NAME(with_lines)(c, m, arrived, best, notes);
            STORE(out + 8 * m, ADD(best, LOAD(emit + 8 * states[m])));
        }
        for (int64_t l = 0; l < n_lines; l++) {
            W8 best = INTO(head_first[l], head_first[l + 1]);
            if (!aligned)
                best = NAME(with_lines)(c, 8 * c->n_plain + l, arrived, best, notes);
            W8 emission = LOAD(emit + 8 * head_states[l]), value = ADD(best, emission);
            W8 sum = NAME(add_score)(emission, t, impossible, sums + 8 * l, last + 8 * l);
            STORE(ring + 8 * ((t & mask) * n_lines + l), SUB(value, sum));
        }
        values = out;
    }
}
#undef INTO

#include "delay/uniform_max.h"

#define UNIFORM(K)                                                                           \
    case K:                                                                                  \
        NAME(uniform_steps)(K, d, t, n, emit, values, n_notes, notes);                       \
        break;
#define LANES_STEPS(impossible, aligned)                                                     \
    NAME(lanes_steps)(d, t, n, n_states, emit, values, n_notes, notes, impossible, aligned)
/* n steps from step t on. `values` is the row before them and what follows; a row of notes a step. */
TARGET static void NAME(delay_lanes_run)(LaneDelay *d, int64_t t, int64_t n, int64_t n_states,
                                         const double *emit, double *values, int64_t n_notes,
                                         uint8_t *notes)
{
    int64_t done = NAME(steps_inside)(d, t, n, n_states, emit, values, n_notes, notes);
    t += done;
    n -= done;
    emit += 8 * n_states * done;
    values += 8 * d->n_plain * done;
    notes += n_notes * done;
    if (d->entering)
        switch (n_states) {
            UNIFORM(2) UNIFORM(3) UNIFORM(4) UNIFORM(5) UNIFORM(6) UNIFORM(7) UNIFORM(8)
        }
    else if (!d->core->aligned)
        LANES_STEPS(1, 0);
    else if (d->impossible)
        LANES_STEPS(1, 1);
    else
        LANES_STEPS(0, 1);
}
#undef UNIFORM
#undef LANES_STEPS

/* What a path scores that ends in node k of line l, where step t is the last. */
TARGET INLINE W8 NAME(ending)(const LaneDelay *d, int64_t l, int64_t k, int64_t t)
{
    W8 value = LOAD(d->ring + 8 * (((t - k) & d->mask) * d->core->n_lines + l));
    double more = d->final[d->core->begin[l] + k] + (k > 0 ? (double)k * d->step[l] : 0.0);
    value = ADD(ADD(value, LOAD(d->sums + 8 * l)), SPREAD(more));
    if (d->impossible)
        value = PICK(LOAD(d->last + 8 * l), SPREAD((double)(t - k)), SPREAD(-INFINITY), value);
    return value;
}

/* The best scores of paths that end in nodes 0 .. n - 1 of line l, the number of the first such node, and
 * the best of the others. */
TARGET static void NAME(delay_lanes_top)(const LaneDelay *d, int64_t l, int64_t n, int64_t t,
                                         double *tops, double *which, double *others)
{
    W8 top = SPREAD(-INFINITY), other = top, best = SPREAD(0.0);
    for (int64_t k = 0; k < n; k++) {
        W8 value = NAME(ending)(d, l, k, t);
        other = MAX(other, MIN(top, value));
        best = PICK(value, top, SPREAD((double)k), best);
        top = MAX(top, value);
    }
    STORE(tops, top);
    STORE(which, best);
    STORE(others, other);
}

/* The first of the nodes k .. n - 1 of line l in which a path of some lane ends that is as good; n:
 * none. Which lanes these are. */
TARGET static int64_t NAME(delay_lanes_end)(const LaneDelay *d, int64_t l, int64_t k, int64_t n,
                                            int64_t t, const double *tops, int *lanes)
{
    const W8 top = LOAD(tops);
    for (; k < n; k++) {
        *lanes = 0xFF & ~ABOVE(top, NAME(ending)(d, l, k, t));
        if (*lanes)
            break;
    }
    return k;
}

#endif
