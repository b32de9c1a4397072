/* Steps of the recursions of delay/sums.pyx, 8 places at a time.
 *
 * Every number has an exponent of two of its own, which may be of any size: x 2^e with 1 <= x < 2, or
 * x = 0 and e = NOTHING. Exponents are whole numbers in doubles. A vector of 8 such numbers lies in
 * memory as 8 times x, and 8 times e at a distance that its row has. */
#ifndef ISA

#include "delay/lines.h"
#include "simd/vector.h"

#define NOTHING (-1e18)
#define NEGLIGIBLE (-900.0) /* 2^this of a term next to another is not seen in their sum */

/* One direction of the recursion. */
typedef struct {
    const Core *core;
    const double *x, *e;         /* weights by entry of the blocks */
    const double *line_x, *line_e; /* (lines): the transition within each */
    int impossible;              /* whether some emission is 0 */
    double *ring_x, *ring_e;     /* (mask + 1, lines): what went in, divided by the product by then */
    int64_t mask;
    double *run_x, *run_e;       /* (lines): the product of transitions and emissions so far */
    double *last;                /* (lines): the last step whose emission is 0 */
    double *arrived;             /* (2, lines) */
    double *arrive;              /* (2, places), where lines are not aligned */
} Sums;

/* The sum of two numbers. */
static inline void add_up(double *x, double *e, double more_x, double more_e)
{
    if (more_x <= 0.0)
        return;
    if (*x <= 0.0 || more_e > *e + 900.0) {
        *x = more_x;
        *e = more_e;
    } else if (more_e >= *e - 900.0)
        *x += ldexp(more_x, (int)(more_e - *e));
    if (*x >= 2.0 || *x < 1.0) {
        int power;
        *x = 2.0 * frexp(*x, &power);
        *e += power - 1;
    }
}

/* What the way back needs besides. */
typedef struct {
    const double *final;        /* by node */
    int64_t T;
    double norm_x, norm_e;      /* one over the sum over all paths */
    double *v;                  /* (2, places): emissions times what follows */
    double *beta;               /* the same, what follows alone */
    double *counts;             /* by entry of the blocks ahead, or NULL */
    const double *x, *e;        /* weights by these entries */
    int direct;                 /* place m is the one of state m */
    int64_t n_states;
} Behind;

#define STEPS "delay/sum_steps.h"
#include "simd/each.h"

#define delay_convert(...) DISPATCH(delay_convert)(__VA_ARGS__)
#define delay_forward(...) DISPATCH(delay_forward)(__VA_ARGS__)
#define delay_backward(...) DISPATCH(delay_backward)(__VA_ARGS__)
#define delay_mass(...) DISPATCH(delay_mass)(__VA_ARGS__)
#define delay_window(...) DISPATCH(delay_window)(__VA_ARGS__)

#else

#include "simd/exp.h"

#include "delay/wide.h"

/* Rows of log-likelihoods, less their maxima, as numbers; the maxima go to tops. Returns a bit where
 * some are -inf, and another where some are too small to be exact. */
TARGET static int NAME(delay_convert)(int64_t n_rows, int64_t n, const double *rows, int64_t stride,
                                      double *x, double *e, double *tops)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(0.0), far = SPREAD(-1e9);
    int flags = 0;
    for (int64_t r = 0; r < n_rows; r++, rows += n, x += stride, e += stride) {
        double top = -INFINITY;
        for (int64_t k = 0; k < n; k++)
            top = rows[k] > top ? rows[k] : top;
        tops[r] = top;
        top = top > -INFINITY ? top : 0.0;
        for (int64_t k = 0; k < n; k += 8) {
            W8 here = k + 8 <= n ? LOAD(rows + k) : SOME(rows + k, n - k);
            W8 log_x = MIN(SUB(here, SPREAD(top)), zero);
            int some = 0xFF >> (k + 8 <= n ? 0 : k + 8 - n);
            int finite = ABOVE(log_x, none) & some;
            flags |= (finite != some) | (((ABOVE(log_x, far) & some) != finite) << 1);
            W8 bounded = MAX(log_x, far), power = ROUND(MUL(bounded, SPREAD(PER_LOG2)));
            W8 rest = FMA(power, SPREAD(-LOG2_FIRST), bounded);
            rest = FMA(power, SPREAD(-LOG2_REST), rest);
            STORE(x + k, PICK(log_x, none, NAME(exp_within)(rest), zero));
            STORE(e + k, PICK(log_x, none, power, zero));
        }
    }
    return flags;
}

/* The sum of what comes into 8 places by edges, and beside them: (x, e), not normal. */
TARGET INLINE WIDE NAME(sum_into)(const Blocks *b, const double *weight_x, const double *weight_e,
                                  int64_t i, const double *x, const double *e, WIDE beside)
{
    int64_t first = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
    W8 top = MAX(beside.e, SPREAD(NOTHING));
    for (int64_t k = first; k < shifted; k++)
        top = MAX(top, ADD(SPREAD(e[b->source[k]]), LOAD(weight_e + 8 * k)));
    for (int64_t k = shifted; k < end; k++)
        top = MAX(top, ADD(LOAD(e + b->source[k]), LOAD(weight_e + 8 * k)));
    W8 sum = NAME(shifted)(beside.x, SUB(beside.e, top));
    for (int64_t k = first; k < shifted; k++) {
        W8 by = SUB(ADD(SPREAD(e[b->source[k]]), LOAD(weight_e + 8 * k)), top);
        sum = ADD(sum, NAME(shifted)(MUL(SPREAD(x[b->source[k]]), LOAD(weight_x + 8 * k)), by));
    }
    for (int64_t k = shifted; k < end; k++) {
        W8 by = SUB(ADD(LOAD(e + b->source[k]), LOAD(weight_e + 8 * k)), top);
        sum = ADD(sum, NAME(shifted)(MUL(LOAD(x + b->source[k]), LOAD(weight_x + 8 * k)), by));
    }
    WIDE r = {sum, top};
    return r;
}

/* What comes out of the lines of block i, `t` steps after the recursion began. */
TARGET INLINE WIDE NAME(coming_out)(const Sums *s, int64_t i, int64_t t)
{
    const Core *c = s->core;
    int64_t width = 8 * c->n_heads;
    WIDE out;
    W8 since;
    if (c->same) {
        if (t < c->same)
            return NAME(nothing)();
        int64_t at = ((t - c->same) & s->mask) * width + 8 * i;
        out = NAME(wide)(s->ring_x + at, s->ring_e + at);
        since = SPREAD((double)(t - c->same));
    } else {
        double x[8], e[8], from[8];
        for (int64_t k = 0; k < 8; k++) {
            int64_t l = 8 * i + k, from_step = l < c->n_lines ? t - c->delay[l] : -1;
            int64_t at = (from_step & s->mask) * width + l;
            x[k] = from_step < 0 ? 0.0 : s->ring_x[at];
            e[k] = from_step < 0 ? NOTHING : s->ring_e[at];
            from[k] = (double)from_step;
        }
        out = NAME(wide)(x, e);
        since = LOAD(from);
    }
    out = NAME(times)(out, NAME(wide)(s->run_x + 8 * i, s->run_e + 8 * i));
    if (s->impossible) {
        W8 last = LOAD(s->last + 8 * i);
        out.x = PICK(last, since, SPREAD(0.0), out.x);
        out.e = PICK(last, since, SPREAD(NOTHING), out.e);
    }
    return out;
}

/* What ends are worth in the nodes number k of the lines of block i. */
TARGET INLINE W8 NAME(ends)(const Sums *s, const double *final, int64_t i, int64_t k)
{
    const Core *c = s->core;
    if (c->open && c->same && k < c->same)
        return SPREAD(1.0);
    double found[8];
    for (int64_t j = 0; j < 8; j++) {
        int64_t l = 8 * i + j;
        found[j] = l < c->n_lines && k < c->delay[l] ? final[c->inside[c->begin[l] + k]] : 0.0;
    }
    return LOAD(found);
}

/* One more factor of the products of block i. */
TARGET INLINE void NAME(go_on)(Sums *s, int64_t i, int64_t t, WIDE emission)
{
    WIDE run = NAME(wide)(s->run_x + 8 * i, s->run_e + 8 * i);
    WIDE step = NAME(wide)(s->line_x + 8 * i, s->line_e + 8 * i);
    if (s->impossible) {
        const W8 zero = SPREAD(0.0);
        W8 last = LOAD(s->last + 8 * i);
        STORE(s->last + 8 * i, PICK(emission.x, zero, last, SPREAD((double)t)));
        emission.x = PICK(emission.x, zero, emission.x, SPREAD(1.0));
    }
    run = NAME(normal)(MUL(run.x, MUL(step.x, emission.x)), ADD(run.e, ADD(step.e, emission.e)));
    NAME(put)(s->run_x + 8 * i, s->run_e + 8 * i, run);
}

/* What goes into the lines of block i. */
TARGET INLINE void NAME(go_in)(Sums *s, int64_t i, int64_t t, WIDE value)
{
    int64_t at = (t & s->mask) * 8 * s->core->n_heads + 8 * i;
    WIDE run = NAME(wide)(s->run_x + 8 * i, s->run_e + 8 * i);
    value.x = MUL(value.x, LOAD(s->line_x + 8 * i)); /* the way out is one more transition */
    value.e = ADD(value.e, LOAD(s->line_e + 8 * i));
    NAME(put)(s->ring_x + at, s->ring_e + at, NAME(divided)(value, run));
}

/* What lines bring to their tails, wherever these are. */
TARGET INLINE void NAME(all_coming_out)(const Sums *s, int64_t t)
{
    const Core *c = s->core;
    double *x = s->arrive, *e = s->arrive + c->n_places;
    double *out_x = s->arrived, *out_e = s->arrived + 8 * c->n_heads;
    for (int64_t i = 0; i < c->n_heads; i++)
        NAME(put)(out_x + 8 * i, out_e + 8 * i, NAME(coming_out)(s, i, t));
    for (int64_t l = 0; l < c->n_lines; l++) {
        x[c->tail[l]] = 0.0;
        e[c->tail[l]] = NOTHING;
    }
    for (int64_t l = 0; l < c->n_lines; l++)
        add_up(x + c->tail[l], e + c->tail[l], out_x[l], out_e[l]);
}

/* n steps ahead from step t on. Rows are `width` apart: x of all places, then e; rows[-1] is the one
 * before them. */
TARGET static void NAME(delay_forward)(Sums *s, int64_t t, int64_t n, const double *emit_x,
                                       const double *emit_e, const int32_t *rows, int64_t stride,
                                       int64_t width, double *out)
{
    const Core *c = s->core;
    const int64_t n_plain = c->n_plain, n_blocks = c->n_places / 8, N = c->n_places;
    const int aligned = c->aligned;
    for (int64_t end = t + n; t < end; t++, out += width) {
        int64_t at = (rows ? *rows++ : 0) * stride;
        const double *before = out - width;
        STORE(out, SPREAD(0.0));
        STORE(out + N, SPREAD(NOTHING));
        if (!aligned)
            NAME(all_coming_out)(s, t);
        for (int64_t i = 0; i < n_blocks; i++) {
            WIDE emission = NAME(wide)(emit_x + at + c->emit[i], emit_e + at + c->emit[i]);
            WIDE beside = aligned ? i < c->n_heads ? NAME(coming_out)(s, i, t) : NAME(nothing)()
                                  : NAME(wide)(s->arrive + 8 * i, s->arrive + N + 8 * i);
            if (aligned && i >= n_plain)
                beside = NAME(nothing)();
            WIDE sum = NAME(sum_into)(&c->blocks, s->x, s->e, i, before, before + N, beside);
            sum = NAME(normal)(MUL(sum.x, emission.x), ADD(sum.e, emission.e));
            NAME(put)(out + 8 * i, out + N + 8 * i, sum);
            if (i >= n_plain) {
                NAME(go_on)(s, i - n_plain, t, emission);
                NAME(go_in)(s, i - n_plain, t, sum);
            }
        }
        if (!rows) {
            emit_x += stride;
            emit_e += stride;
        }
    }
}

/* The sum over paths that end inside lines, after T steps ahead. */
TARGET static void NAME(delay_mass)(const Sums *s, int64_t T, const double *final, double *x,
                                    double *e)
{
    const Core *c = s->core;
    const W8 zero = SPREAD(0.0);
    for (int64_t i = 0; i < c->n_heads; i++) {
        W8 sum = zero, top = SPREAD(NOTHING), last = LOAD(s->last + 8 * i);
        double sums[8], tops[8];
        for (int64_t k = 0; k < c->longest && k < T; k++) {
            int64_t at = ((T - 1 - k) & s->mask) * 8 * c->n_heads + 8 * i;
            W8 here = MUL(LOAD(s->ring_x + at), NAME(ends)(s, final, i, k));
            here = s->impossible ? PICK(last, SPREAD((double)(T - 1 - k)), zero, here) : here;
            /* What an impossible step has ended may be larger than all that is left. */
            W8 size = PICK(here, zero, LOAD(s->ring_e + at), SPREAD(NOTHING)), larger = MAX(top, size);
            sum = ADD(NAME(shifted)(sum, SUB(top, larger)), NAME(shifted)(here, SUB(size, larger)));
            top = larger;
        }
        /* The way out of a line was counted already. */
        WIDE run = NAME(wide)(s->run_x + 8 * i, s->run_e + 8 * i);
        WIDE step = NAME(wide)(s->line_x + 8 * i, s->line_e + 8 * i);
        WIDE all = NAME(divided)(NAME(times)(NAME(normal)(sum, top), run), step);
        NAME(put)(sums, tops, all);
        for (int64_t k = 0; k < 8 && 8 * i + k < c->n_lines; k++)
            add_up(x, e, sums[k], tops[k]);
    }
}

/* a b / Z, which is at most 1, though x and e may make it up of very large and very small numbers. */
TARGET INLINE W8 NAME(probability)(WIDE a, WIDE b, W8 norm_x, W8 norm_e)
{
    const W8 most = SPREAD(700.0), least = SPREAD(-700.0);
    W8 by = ADD(ADD(a.e, b.e), norm_e), half = ROUND(MUL(by, SPREAD(0.5)));
    W8 first = MUL(MUL(a.x, norm_x), POWER(MIN(MAX(half, least), most)));
    return MUL(first, MUL(b.x, POWER(MIN(MAX(SUB(by, half), least), most))));
}

/* Add the expected numbers of edges into a step, from the row before it and v of it. */
TARGET static void NAME(count)(const Core *c, const Behind *h, const double *before)
{
    const int64_t N = c->n_places;
    const W8 norm_x = SPREAD(h->norm_x), norm_e = SPREAD(h->norm_e);
    for (int64_t i = 0; i < N / 8; i++) {
        WIDE v = NAME(wide)(h->v + 8 * i, h->v + N + 8 * i);
        for (int64_t k = c->blocks.start[i]; k < c->blocks.start[i + 1]; k++) {
            int64_t source = c->blocks.source[k];
            WIDE from;
            if (k < c->blocks.shifted[i]) {
                from.x = SPREAD(before[source]);
                from.e = SPREAD(before[N + source]);
            } else
                from = NAME(wide)(before + source, before + N + source);
            from.x = MUL(from.x, LOAD(h->x + 8 * k));
            from.e = ADD(from.e, LOAD(h->e + 8 * k));
            W8 sum = ADD(LOAD(h->counts + 8 * k), NAME(probability)(from, v, norm_x, norm_e));
            STORE(h->counts + 8 * k, sum);
        }
    }
}

/* n steps back from step t on; alpha, emissions and outputs are those of step t, others lie before. */
TARGET static void NAME(delay_backward)(Sums *s, const Behind *h, int64_t t, int64_t n,
                                        const double *emit_x, const double *emit_e,
                                        const int32_t *rows, int64_t stride, int64_t width,
                                        const double *alpha, double *gamma, double *entering)
{
    const Core *c = s->core;
    const int64_t n_plain = c->n_plain, N = c->n_places, S = h->n_states, L = 8 * c->n_heads;
    const W8 zero = SPREAD(0.0), norm_x = SPREAD(h->norm_x), norm_e = SPREAD(h->norm_e);
    double *v = h->v, *beta = h->beta;
    for (int64_t end = t - n; t > end; t--, alpha -= width, gamma -= S, entering -= L) {
        int64_t at = (rows ? *rows-- : 0) * stride, back = h->T - 1 - t;
        if (!h->direct)
            memset(gamma, 0, S * sizeof(double));
        for (int64_t i = 0; i < n_plain; i++) {
            WIDE b = NAME(wide)(beta + 8 * i, beta + N + 8 * i);
            W8 g = NAME(probability)(NAME(wide)(alpha + 8 * i, alpha + N + 8 * i), b, norm_x, norm_e);
            if (h->direct)
                STORE_HEAD(gamma, g, S);
            else {
                double lanes[8];
                STORE(lanes, g);
                for (int64_t k = 0; k < 8 && c->nodes[8 * i + k] >= 0; k++)
                    gamma[c->states[8 * i + k]] += lanes[k];
            }
            b.x = MUL(b.x, LOAD(emit_x + at + c->emit[i]));
            b.e = ADD(b.e, LOAD(emit_e + at + c->emit[i]));
            NAME(put)(v + 8 * i, v + N + 8 * i, NAME(normal)(b.x, b.e));
        }
        for (int64_t i = 0; i < c->n_heads; i++) {
            int64_t m = 8 * (n_plain + i);
            WIDE emission = NAME(wide)(emit_x + at + c->emit[m / 8], emit_e + at + c->emit[m / 8]);
            WIDE b = NAME(coming_out)(s, i, back);
            if (back < c->longest) {
                WIDE run = NAME(wide)(s->run_x + 8 * i, s->run_e + 8 * i);
                run.x = MUL(run.x, NAME(ends)(s, h->final, i, back));
                if (s->impossible)
                    run.x = PICK(LOAD(s->last + 8 * i), SPREAD(-1.0), zero, run.x);
                run = NAME(normal)(run.x, run.e);
                b.x = ADD(b.x, run.x); /* one of both is nothing */
                b.e = MAX(b.e, run.e);
            }
            STORE(entering + 8 * i, NAME(probability)(NAME(wide)(alpha + m, alpha + N + m), b,
                                                      norm_x, norm_e));
            b.x = MUL(b.x, emission.x);
            b.e = ADD(b.e, emission.e);
            NAME(put)(v + m, v + N + m, NAME(normal)(b.x, b.e));
            NAME(go_on)(s, i, back, emission);
        }
        for (int64_t i = 0; i < c->n_heads; i++) {
            WIDE out = NAME(wide)(v + 8 * i, v + N + 8 * i);
            if (!c->aligned) {
                double x[8], e[8];
                for (int64_t k = 0; k < 8; k++) {
                    int64_t l = 8 * i + k, m = l < c->n_lines ? c->tail[l] : 0;
                    x[k] = l < c->n_lines ? v[m] : 0.0;
                    e[k] = l < c->n_lines ? v[N + m] : NOTHING;
                }
                out = NAME(wide)(x, e);
            }
            NAME(go_in)(s, i, back, out);
        }
        if (t == 0)
            break;
        if (h->counts)
            NAME(count)(c, h, alpha - width);
        for (int64_t i = 0; i < n_plain; i++) {
            WIDE sum = NAME(sum_into)(&c->back, s->x, s->e, i, v, v + N, NAME(nothing)());
            NAME(put)(beta + 8 * i, beta + N + 8 * i, NAME(normal)(sum.x, sum.e));
        }
        if (!rows) {
            emit_x -= stride;
            emit_e -= stride;
        }
    }
}

/* Posteriors of T steps, from those outside of lines and the probabilities of entering them: a path is
 * inside from where it enters on for as long as the delay is. Sums over a window of steps without
 * differences: the end of one run of `delay` steps and the beginning of the next. `entering` is lost. */
TARGET static void NAME(delay_window)(const Core *c, int direct, int64_t T, int64_t n_states,
                                      double *entering, double *gamma)
{
    const int64_t L = 8 * c->n_heads;
    for (int64_t i = 0; i < c->n_heads; i++) {
        const int64_t lines = c->n_lines - 8 * i < 8 ? c->n_lines - 8 * i : 8;
        const int64_t one = c->same ? 1 : lines;
        for (int64_t k = 0; k < one; k++) {
            int64_t delay = c->same ? c->same : c->delay[8 * i + k];
            double *g = entering + 8 * i;
            for (int64_t begin = 0; begin < T; begin += delay) {
                int64_t end = begin + delay < T ? begin + delay : T;
                W8 first = SPREAD(0.0), rest = first;
                for (int64_t t = begin; t < end; t++) {
                    W8 sum = first = ADD(first, LOAD(g + t * L));
                    if (begin > 0 && t + 1 < begin + delay)
                        sum = ADD(sum, LOAD(g + (t - delay + 1) * L));
                    double *row = gamma + t * n_states;
                    if (direct && c->same) {
                        STORE_HEAD(row, ADD(SOME(row, n_states), sum), n_states);
                        continue;
                    }
                    double lanes[8];
                    STORE(lanes, sum);
                    for (int64_t j = c->same ? 0 : k; j < (c->same ? lines : k + 1); j++)
                        row[c->states[8 * (c->n_plain + i) + j]] += lanes[j];
                }
                for (int64_t t = end - 1; t >= begin && end < T; t--) {
                    if (c->same) {
                        rest = ADD(rest, LOAD(g + t * L));
                        STORE(g + t * L, rest);
                    } else if (t < end - 1)
                        g[t * L + k] += g[(t + 1) * L + k];
                }
            }
        }
    }
    for (int64_t t = 0; t < T; t++) {
        double *row = gamma + t * n_states, total = 0.0;
        for (int64_t k = 0; k < n_states; k++)
            total += row[k];
        total = 1.0 / total;
        for (int64_t k = 0; k < n_states; k++)
            row[k] *= total;
    }
}
#undef WIDE

#endif
