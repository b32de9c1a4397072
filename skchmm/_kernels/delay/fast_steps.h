/* The steps of sum_steps.h for lines of one delay over up to 8 states, one line each, whose tails have
 * no edge but the one from themselves: `direct` graphs, such as minimum durations.
 *
 * Emissions are plain numbers, none below SMALLEST, and so are weights. Exponents then stay as they
 * are for many steps, and what they mean for the weights of edges is worked out when one changes. A
 * number has left its range before it is brought back: once in a group of steps each is looked at, in
 * every step where some emission is below SMALL. */
#ifndef ISA

#include "delay/sum_steps.h"

#define SMALLEST 1e-100
#define SMALL 1e-12
#define FAR_OFF 200.0           /* exponents that differ by more become equal */

#define STEPS "delay/fast_steps.h"
#include "simd/each.h"

#define fast_convert(...) DISPATCH(fast_convert)(__VA_ARGS__)
#define fast_forward(...) DISPATCH(fast_forward)(__VA_ARGS__)
#define fast_backward(...) DISPATCH(fast_backward)(__VA_ARGS__)
#define fast_window(...) DISPATCH(fast_window)(__VA_ARGS__)

#else

#define WIDE NAME(Wide)

/* Rows of log-likelihoods as numbers, divided by their maxima, whose sum is added to total; how many
 * steps make a group, 0 where some are too small. */
TARGET static int NAME(fast_convert)(int64_t n, int64_t n_states, const double *rows, double *out,
                                     double *total)
{
    const W8 least = SPREAD(log(SMALLEST)), small = SPREAD(log(SMALL));
    int64_t size = n * n_states, i = 0;
    int fine = 0xFF, large = 0xFF;
    double sum = 0.0;
    for (int64_t t = 0; t < n; t++) {
        const double *row = rows + t * n_states;
        double top = row[0];
        for (int64_t k = 1; k < n_states; k++)
            top = row[k] > top ? row[k] : top;
        sum += top;
        for (int64_t k = 0; k < n_states; k++)
            out[t * n_states + k] = row[k] - top;
    }
    *total += sum;
    for (; i + 8 <= size; i += 8) {
        W8 x = LOAD(out + i);
        fine &= ABOVE(x, least);
        large &= ABOVE(x, small);
        STORE(out + i, NAME(exp_within)(MAX(x, least)));
    }
    for (; i < size; i++) {
        fine = out[i] > log(SMALLEST) ? fine : 0;
        large = out[i] > log(SMALL) ? large : 0;
        out[i] = exp(out[i]);
    }
    return fine != 0xFF ? 0 : large == 0xFF ? 4 : 1;
}

/* Plain weights of the edges into heads, (8, 8) by source, and 0 where there is one, else NOTHING. */
TARGET static void NAME(plain_weights)(const Blocks *b, const double *x, const double *e,
                                        double *weights, double *edges)
{
    for (int64_t k = 0; k < 8; k++) {
        STORE(weights + 8 * k, SPREAD(0.0));
        STORE(edges + 8 * k, SPREAD(NOTHING));
    }
    for (int64_t k = b->start[1]; k < b->start[2]; k++) {
        double *out = weights + 8 * b->source[k];
        STORE(out, NAME(shifted)(LOAD(x + 8 * k), LOAD(e + 8 * k)));
        STORE(edges + 8 * b->source[k], PICK(LOAD(out), SPREAD(0.0), SPREAD(0.0), SPREAD(NOTHING)));
    }
}

/* The emissions of a step; lanes without a state have 1. */
TARGET INLINE W8 NAME(emission)(const double *row, int64_t n_states, W8 beyond)
{ return ADD(SOME(row, n_states), beyond); }

TARGET INLINE W8 NAME(lanes_from)(int64_t n)
{
    double lanes[8];
    for (int64_t i = 0; i < 8; i++)
        lanes[i] = i < n ? 0.0 : 1.0;
    return LOAD(lanes);
}

/* Whether some number has left its range. */
TARGET INLINE int NAME(off)(W8 x)
{ return ABOVE(x, SPREAD(1e60)) | (ABOVE(SPREAD(1e-60), x) & ABOVE(x, SPREAD(0.0))); }

/* a b / Z, of numbers x that are within their range: a power that is not a double belongs to what is
 * not seen in a sum of probabilities. */
TARGET INLINE W8 NAME(share)(WIDE a, WIDE b, W8 norm_x, W8 norm_e)
{
    W8 by = MIN(MAX(ADD(ADD(a.e, b.e), norm_e), SPREAD(-900.0)), SPREAD(1000.0));
    return MUL(MUL(MUL(a.x, norm_x), POWER(by)), b.x);
}

/* What goes into lines at step t, x 2^e, divided by the products by then. */
TARGET INLINE void NAME(put_in)(Sums *s, int64_t t, W8 x, W8 e, W8 run_x, W8 run_e)
{
    const W8 nothing = SPREAD(NOTHING);
    WIDE in = {DIV(x, run_x), PICK(x, SPREAD(0.0), SUB(e, run_e), nothing)};
    if (RARELY(NAME(off)(in.x)))
        in = NAME(normal)(in.x, in.e);
    NAME(put)(s->ring_x + 8 * (t & s->mask), s->ring_e + 8 * (t & s->mask), in);
}

TARGET static void NAME(fast_forward)(Sums *s, int group, int64_t t, int64_t n, const double *emit,
                                      const int32_t *rows, int64_t S, int64_t width, double *out)
{
    const int64_t delay = s->core->same, mask = s->mask, N = s->core->n_places;
    const W8 zero = SPREAD(0.0), nothing = SPREAD(NOTHING), far = SPREAD(FAR_OFF);
    const W8 self = NAME(shifted)(LOAD(s->x), LOAD(s->e)), beyond = NAME(lanes_from)(S);
    const W8 step = NAME(shifted)(LOAD(s->line_x), LOAD(s->line_e));
    double base[64], edges[64], weights[64], from[8];
    W8 x = LOAD(out - width), e = LOAD(out - width + N), head_e = nothing;
    W8 run_x = LOAD(s->run_x), run_e = LOAD(s->run_e);
    int changed = 1, left = 0;
    NAME(plain_weights)(&s->core->blocks, s->x, s->e, base, edges);
    for (int64_t i = 0; i < n; i++, t++, out += width) {
        W8 b = NAME(emission)(emit + (rows ? rows[i] : i) * S, S, beyond);
        if (left-- == 0) {
            left = group - 1;
            WIDE run = NAME(normal)(run_x, run_e);
            run_x = run.x;
            run_e = run.e;
            if (NAME(off)(x)) {
                WIDE tails = NAME(normal)(x, e);
                x = tails.x;
                e = tails.e;
                changed = 1;
            }
        }
        if (changed) {
            double sizes[8];
            STORE(sizes, e);
            head_e = nothing;
            for (int64_t k = 0; k < S; k++)
                head_e = MAX(head_e, ADD(SPREAD(sizes[k]), LOAD(edges + 8 * k)));
            for (int64_t k = 0; k < S; k++) {
                W8 by = MIN(SUB(SPREAD(sizes[k]), head_e), zero);
                STORE(weights + 8 * k, NAME(shifted)(LOAD(base + 8 * k), by));
            }
            changed = 0;
        }
        STORE(from, x);
        W8 heads = MUL(SPREAD(from[0]), LOAD(weights)), second = zero;
        for (int64_t k = 1; k + 1 < S; k += 2) {
            heads = FMA(SPREAD(from[k]), LOAD(weights + 8 * k), heads);
            second = FMA(SPREAD(from[k + 1]), LOAD(weights + 8 * k + 8), second);
        }
        if (S % 2 == 0)
            second = FMA(SPREAD(from[S - 1]), LOAD(weights + 8 * S - 8), second);
        heads = MUL(ADD(heads, second), b);
        x = MUL(x, self);
        if (t >= delay) {
            int64_t at = 8 * ((t - delay) & mask);
            W8 come = MUL(LOAD(s->ring_x + at), run_x), size = ADD(LOAD(s->ring_e + at), run_e);
            W8 by = SUB(size, e);
            if (RARELY(ABOVE(by, far))) {
                W8 larger = PICK(by, far, size, e);
                x = NAME(shifted)(x, SUB(e, larger));
                e = larger;
                by = SUB(size, e);
                changed = 1;
            }
            x = ADD(x, NAME(shifted)(come, by));
        }
        x = MUL(x, b);
        run_x = MUL(run_x, MUL(b, step));
        NAME(put_in)(s, t, MUL(heads, step), head_e, run_x, run_e);
        STORE(out, x);
        STORE(out + 8, heads);
        STORE(out + N, PICK(x, zero, e, nothing));
        STORE(out + N + 8, PICK(heads, zero, head_e, nothing));
    }
    STORE(s->run_x, run_x);
    STORE(s->run_e, run_e);
}

/* The same back, from step t on; rows are as they were left. Posteriors of tails and of entering lines
 * replace the numbers of alpha. */
TARGET static void NAME(fast_backward)(Sums *s, const Behind *h, int group, int64_t t, int64_t n,
                                       const double *emit, const int32_t *rows, int64_t S,
                                       int64_t width, double *alpha)
{
    const Core *c = s->core;
    const int64_t delay = c->same, mask = s->mask, N = c->n_places;
    const W8 zero = SPREAD(0.0), nothing = SPREAD(NOTHING), far = SPREAD(FAR_OFF);
    const W8 norm_x = SPREAD(h->norm_x), norm_e = SPREAD(h->norm_e), beyond = NAME(lanes_from)(S);
    const W8 step = NAME(shifted)(LOAD(s->line_x), LOAD(s->line_e));
    double ahead[64], edges[64], base[64], weights[64], from[8];
    W8 x = LOAD(h->beta), e = LOAD(h->beta + N), reference = nothing;
    W8 run_x = LOAD(s->run_x), run_e = LOAD(s->run_e), self = zero;
    NAME(plain_weights)(&c->blocks, h->x, h->e, ahead, edges);
    for (int k = 0; k < 64; k++)
        base[k] = ahead[k % 8 * 8 + k / 8];
    self = NAME(shifted)(LOAD(h->x), LOAD(h->e));
    int changed = 1, left = 0;
    for (int64_t i = 0; i < n; i++, t--, alpha -= width) {
        const int64_t back = h->T - 1 - t;
        W8 b = NAME(emission)(emit - (rows ? -rows[-i] : i) * S, S, beyond), heads, size;
        if (left-- == 0) {
            left = group - 1;
            WIDE run = NAME(normal)(run_x, run_e);
            run_x = run.x;
            run_e = run.e;
            if (NAME(off)(x)) {
                WIDE tails = NAME(normal)(x, e);
                x = tails.x;
                e = tails.e;
                changed = 1;
            }
        }
        if (back < delay) {
            heads = MUL(run_x, NAME(ends)(s, h->final, 0, back));
            size = run_e;
        } else {
            int64_t at = 8 * ((back - delay) & mask);
            heads = MUL(LOAD(s->ring_x + at), run_x);
            size = ADD(LOAD(s->ring_e + at), run_e);
        }
        WIDE tail_alpha = NAME(wide)(alpha, alpha + N), tail_beta = {x, e};
        WIDE head_alpha = NAME(wide)(alpha + 8, alpha + N + 8), head_beta = {heads, size};
        STORE(alpha, NAME(share)(tail_alpha, tail_beta, norm_x, norm_e));
        STORE(alpha + 8, NAME(share)(head_alpha, head_beta, norm_x, norm_e));
        if (t == 0)
            break;
        x = MUL(x, b);
        heads = MUL(heads, b);
        run_x = MUL(run_x, MUL(b, step));
        NAME(put_in)(s, back, MUL(x, step), e, run_x, run_e);
        W8 by = PICK(heads, zero, SUB(size, reference), zero);
        if (RARELY(ABOVE(by, far) | ABOVE(SUB(zero, by), far))) {
            reference = PICK(heads, zero, size, reference);
            by = zero;
            changed = 1;
        }
        STORE(from, MUL(heads, POWER(by)));
        if (changed) {
            double sizes[8];
            W8 most = nothing;
            STORE(sizes, reference);
            for (int64_t k = 0; k < S; k++) {
                W8 edge = PICK(LOAD(base + 8 * k), zero, zero, nothing);
                most = MAX(most, ADD(SPREAD(sizes[k]), edge));
            }
            W8 larger = PICK(SUB(most, e), far, most, e);
            x = NAME(shifted)(x, SUB(e, larger));
            e = larger;
            for (int64_t k = 0; k < S; k++) {
                W8 apart = MIN(SUB(SPREAD(sizes[k]), e), far);
                STORE(weights + 8 * k, NAME(shifted)(LOAD(base + 8 * k), apart));
            }
            changed = 0;
        }
        W8 second = MUL(SPREAD(from[0]), LOAD(weights));
        x = MUL(x, self);
        for (int64_t k = 1; k + 1 < S; k += 2) {
            x = FMA(SPREAD(from[k]), LOAD(weights + 8 * k), x);
            second = FMA(SPREAD(from[k + 1]), LOAD(weights + 8 * k + 8), second);
        }
        if (S % 2 == 0)
            x = FMA(SPREAD(from[S - 1]), LOAD(weights + 8 * S - 8), x);
        x = ADD(x, second);
        e = PICK(x, zero, e, nothing);
    }
    STORE(h->beta, x);
    STORE(h->beta + N, e);
    STORE(s->run_x, run_x);
    STORE(s->run_e, run_e);
}

/* delay_window for rows that fast_backward left. */
TARGET static void NAME(fast_window)(const Core *c, int64_t T, int64_t S, int64_t width,
                                     double *rows, double *gamma)
{
    const int64_t delay = c->same;
    for (int64_t begin = 0; begin < T; begin += delay) {
        int64_t end = begin + delay < T ? begin + delay : T;
        W8 sum = SPREAD(0.0), rest = sum;
        for (int64_t t = begin; t < end; t++) {
            const double *row = rows + t * width;
            sum = ADD(sum, LOAD(row + 8));
            W8 all = ADD(sum, LOAD(row));
            if (begin > 0 && t + 1 < begin + delay)
                all = ADD(all, LOAD(row - (delay - 1) * width + 8));
            all = MUL(all, SPREAD(1.0 / TOTAL(all)));
            if ((T - t) * S >= 8)
                STORE(gamma + t * S, all); /* the next rows are still to come */
            else
                STORE_HEAD(gamma + t * S, all, S);
        }
        for (int64_t t = end - 1; t >= begin && end < T; t--) {
            rest = ADD(rest, LOAD(rows + t * width + 8));
            STORE(rows + t * width + 8, rest);
        }
    }
}
#undef WIDE

#endif
