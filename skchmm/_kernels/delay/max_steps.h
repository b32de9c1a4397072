/* Steps of the recursion of delay/viterbi.pyx, 8 places at a time. All scores are whole numbers. */
#ifndef ISA

#include "delay/grid_steps.h"
#include "delay/lines.h"

/* Where a recursion stands. */
typedef struct {
    const Core *core;
    const double *weights;   /* by entry of the blocks */
    const double *step;      /* (lines, filled up): the transition within a line, */
    const double *passage;   /* and as many as there are in it */
    int impossible;          /* whether some score is -inf */
    double *ring;            /* (mask + 1, lines): the values of heads, less the sums at that step */
    int64_t mask;
    double *sums;            /* (lines): the scores of the steps up to here, but those that are -inf */
    double *last;            /* (lines): the last step whose score is */
    double *arrived;         /* (lines) and, where lines are not aligned, */
    double *arrive;          /* (places): the best of them */
} Delay;

#define STEPS "delay/max_steps.h"
#include "simd/each.h"

#define delay_run(...) DISPATCH(delay_run)(__VA_ARGS__)
#define delay_shift(...) DISPATCH(delay_shift)(__VA_ARGS__)
#define delay_end(...) DISPATCH(delay_end)(__VA_ARGS__)

#else

/* The best way into the 8 places of a block. */
TARGET INLINE W8 NAME(best_into)(const Blocks *b, const double *weights, int64_t i,
                                 const double *before)
{
    W8 best = SPREAD(-INFINITY), second = best;
    int64_t k = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
    for (; k + 1 < shifted; k += 2) {
        best = MAX(best, ADD(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k)));
        second = MAX(second, ADD(SPREAD(before[b->source[k + 1]]), LOAD(weights + 8 * k + 8)));
    }
    for (; k < shifted; k++)
        best = MAX(best, ADD(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k)));
    for (; k < end; k++)
        second = MAX(second, ADD(LOAD(before + b->source[k]), LOAD(weights + 8 * k)));
    return MAX(best, second);
}

/* What comes out of the lines of block i at step t. */
TARGET INLINE W8 NAME(coming_out)(const Delay *d, int64_t i, int64_t t)
{
    const Core *c = d->core;
    int64_t width = 8 * c->n_heads;
    W8 out, since = SPREAD((double)(t - c->same));
    if (c->same) {
        if (t < c->same)
            return SPREAD(-INFINITY);
        out = LOAD(d->ring + ((t - c->same) & d->mask) * width + 8 * i);
    } else {
        double found[8], from[8];
        for (int64_t k = 0; k < 8; k++) {
            int64_t l = 8 * i + k, s = l < c->n_lines ? t - c->delay[l] : -1;
            found[k] = s < 0 ? -INFINITY : d->ring[(s & d->mask) * width + l];
            from[k] = (double)s;
        }
        out = LOAD(found);
        since = LOAD(from);
    }
    out = ADD(out, LOAD(d->sums + 8 * i));
    return d->impossible ? PICK(LOAD(d->last + 8 * i), since, SPREAD(-INFINITY), out) : out;
}

/* Note for each lane whether an edge is better than what comes out of a line, and whether it is worse;
 * the better of both. */
TARGET INLINE W8 NAME(better)(W8 best, W8 arrived, uint8_t *notes)
{
    notes[0] = (uint8_t)ABOVE(best, arrived);
    notes[1] = (uint8_t)ABOVE(arrived, best);
    return MAX(best, arrived);
}

/* The values of heads, less what has been summed up. */
TARGET INLINE void NAME(enter)(Delay *d, int64_t i, int64_t t, W8 value, W8 emission)
{
    W8 sums = LOAD(d->sums + 8 * i);
    if (d->impossible) {
        const W8 none = SPREAD(-INFINITY);
        W8 last = LOAD(d->last + 8 * i);
        STORE(d->last + 8 * i, PICK(emission, none, last, SPREAD((double)t)));
        emission = PICK(emission, none, emission, SPREAD(0.0));
    }
    sums = ADD(sums, emission);
    STORE(d->sums + 8 * i, sums);
    STORE(d->ring + (t & d->mask) * 8 * d->core->n_heads + 8 * i,
          ADD(SUB(value, sums), LOAD(d->passage + 8 * i)));
}

/* The run below where places are two blocks and a tail has no edge but the one from itself: values and
 * sums stay in registers. */
TARGET static void NAME(small_run)(Delay *d, int64_t t, int64_t n, const double *table,
                                   const int32_t *rows, int64_t stride, double *values,
                                   uint8_t *notes)
{
    const Core *c = d->core;
    const int64_t delay = c->same, mask = d->mask, first = c->blocks.start[1];
    const int64_t n_rows = c->blocks.start[2] - first, plain = c->emit[0], heads = c->emit[1];
    const int32_t *source = c->blocks.source + first;
    const double *weights = d->weights + 8 * first, *last_of = d->last;
    const int impossible = d->impossible;
    const W8 none = SPREAD(-INFINITY), self = LOAD(d->weights), passage = LOAD(d->passage);
    W8 row = LOAD(values), sums = LOAD(d->sums), last = LOAD(last_of);
    double *ring = d->ring;
    for (int64_t i = 0; i < n; i++, t++) {
        const double *emit = table + (rows ? rows[i] : i) * stride;
        W8 arrived = none, best = none, second = none, emission = LOAD(emit + heads);
        if (t >= delay)
            arrived = ADD(LOAD(ring + 8 * ((t - delay) & mask)), sums);
        if (impossible) {
            arrived = PICK(last, SPREAD((double)(t - delay)), none, arrived);
            last = PICK(emission, none, last, SPREAD((double)t));
            sums = ADD(sums, PICK(emission, none, emission, SPREAD(0.0)));
        } else
            sums = ADD(sums, emission);
        int64_t k = 0;
        for (; k + 1 < n_rows; k += 2) {
            best = MAX(best, ADD(SPREAD(values[source[k]]), LOAD(weights + 8 * k)));
            second = MAX(second, ADD(SPREAD(values[source[k + 1]]), LOAD(weights + 8 * k + 8)));
        }
        if (k < n_rows)
            best = MAX(best, ADD(SPREAD(values[source[k]]), LOAD(weights + 8 * k)));
        W8 entered = ADD(MAX(best, second), emission);
        STORE(ring + 8 * (t & mask), ADD(SUB(entered, sums), passage));
        row = NAME(better)(ADD(row, self), arrived, notes + 2 * i);
        row = ADD(row, LOAD(emit + plain));
        values += 8;
        STORE(values, row);
    }
    STORE(d->sums, sums);
    STORE(d->last, last);
}

TARGET static void NAME(aligned_run)(Delay *d, int64_t t, int64_t n, const double *table,
                                     const int32_t *rows, int64_t stride, double *values,
                                     uint8_t *notes)
{
    const Core *c = d->core;
    int64_t n_plain = c->n_plain, n_heads = c->n_heads, width = 8 * n_plain;
    for (int64_t end = t + n; t < end; t++, values += width, notes += 2 * n_heads) {
        const double *emit = table + (rows ? *rows++ : 0) * stride;
        double *out = values + width;
        STORE(out, SPREAD(0.0));
        for (int64_t i = 0; i < n_plain; i++) {
            W8 best = NAME(best_into)(&c->blocks, d->weights, i, values);
            if (i < n_heads)
                best = NAME(better)(best, NAME(coming_out)(d, i, t), notes + 2 * i);
            STORE(out + 8 * i, ADD(best, LOAD(emit + c->emit[i])));
        }
        for (int64_t i = 0; i < n_heads; i++) {
            W8 emission = LOAD(emit + c->emit[n_plain + i]);
            W8 best = NAME(best_into)(&c->blocks, d->weights, n_plain + i, values);
            NAME(enter)(d, i, t, ADD(best, emission), emission);
        }
        if (!rows)
            table += stride;
    }
}

/* The same for lines that may end anywhere, also together or in a head: notes of all blocks, then a
 * bit for each line that is among the best ones into its tail. */
TARGET static void NAME(any_run)(Delay *d, int64_t t, int64_t n, const double *table,
                                 const int32_t *rows, int64_t stride, double *values,
                                 uint8_t *notes)
{
    const Core *c = d->core;
    int64_t n_plain = c->n_plain, n_heads = c->n_heads, width = 8 * n_plain;
    int64_t n_blocks = n_plain + n_heads;
    for (int64_t end = t + n; t < end; t++, values += width, notes += 2 * n_blocks + n_heads) {
        const double *emit = table + (rows ? *rows++ : 0) * stride;
        double *out = values + width;
        for (int64_t l = 0; l < c->n_lines; l++)
            d->arrive[c->tail[l]] = -INFINITY;
        for (int64_t i = 0; i < n_heads; i++)
            STORE(d->arrived + 8 * i, NAME(coming_out)(d, i, t));
        for (int64_t l = 0; l < c->n_lines; l++)
            if (d->arrived[l] > d->arrive[c->tail[l]])
                d->arrive[c->tail[l]] = d->arrived[l];
        memset(notes + 2 * n_blocks, 0, n_heads);
        for (int64_t l = 0; l < c->n_lines; l++)
            notes[2 * n_blocks + l / 8] |= (d->arrived[l] == d->arrive[c->tail[l]]) << l % 8;
        STORE(out, SPREAD(0.0));
        for (int64_t i = 0; i < n_blocks; i++) {
            W8 emission = LOAD(emit + c->emit[i]);
            W8 best = NAME(best_into)(&c->blocks, d->weights, i, values);
            best = NAME(better)(best, LOAD(d->arrive + 8 * i), notes + 2 * i);
            if (i < n_plain)
                STORE(out + 8 * i, ADD(best, emission));
            else
                NAME(enter)(d, i - n_plain, t, ADD(best, emission), emission);
        }
        if (!rows)
            table += stride;
    }
}

/* Begin the sums anew, of what has entered lines in steps begin .. end - 1, and take `top` off; the
 * lowest value that is finite, or 0. */
TARGET static double NAME(delay_shift)(Delay *d, int64_t begin, int64_t end, double top)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(0.0);
    W8 low = zero;
    for (int64_t i = 0; i < d->core->n_heads; i++) {
        const W8 change = SUB(LOAD(d->sums + 8 * i), SPREAD(top)), passage = LOAD(d->passage + 8 * i);
        for (int64_t t = begin; t < end; t++) {
            double *place = d->ring + (t & d->mask) * 8 * d->core->n_heads + 8 * i;
            W8 value = ADD(LOAD(place), change);
            STORE(place, value);
            low = MIN(low, PICK(value, none, SUB(value, passage), zero));
        }
        STORE(d->sums + 8 * i, zero);
    }
    return -LARGEST(SUB(zero, low));
}

/* The first of the nodes number k .. n - 1 of the lines of block i in which a path of which step t is
 * the last may end with a value of at least `top`, whatever the end costs; n: none. values: theirs. */
TARGET static int64_t NAME(delay_end)(const Delay *d, int64_t i, int64_t k, int64_t n, int64_t t,
                                      double top, double *values)
{
    const W8 step = LOAD(d->step + 8 * i);
    const W8 change = SUB(LOAD(d->sums + 8 * i), LOAD(d->passage + 8 * i));
    for (; k < n; k++) {
        W8 value = LOAD(d->ring + ((t - k) & d->mask) * 8 * d->core->n_heads + 8 * i);
        value = ADD(ADD(value, change), MUL(SPREAD((double)k), step));
        if (ABOVE(SPREAD(top), value) != 0xFF) {
            STORE(values, value);
            break;
        }
    }
    return k;
}

/* n steps from step t on. `values` is the row before them and what follows; a row of notes a step. */
TARGET static void NAME(delay_run)(Delay *d, int64_t t, int64_t n, const double *table,
                                   const int32_t *rows, int64_t stride, double *values,
                                   uint8_t *notes)
{
    const Core *c = d->core;
    const Blocks *b = &c->blocks;
    int small = c->aligned && c->same && c->n_plain == 1 && c->n_heads == 1;
    if (small && b->shifted[0] == 0 && b->start[1] == 1 && b->source[0] == 0
        && b->shifted[1] == b->start[2])
        NAME(small_run)(d, t, n, table, rows, stride, values, notes);
    else if (c->aligned)
        NAME(aligned_run)(d, t, n, table, rows, stride, values, notes);
    else
        NAME(any_run)(d, t, n, table, rows, stride, values, notes);
}

#endif
