/* Steps of the recursions of forward_backward.pyx, 8 targets (or sources) at a time:
 *
 *     out(m) = emit(m) sum_{n -> m} before(n) w(n -> m)
 *     out(n) = sum_{n -> m} w(n -> m) v(m),   v = emit beta
 *
 * O(entries) vector operations; see shared/blocks.h for what an entry is.
 */
#ifndef ISA

#include "shared/blocks.h"
#include "simd/vector.h"

/* What all steps of a backward pass share. */
typedef struct {
    Blocks ahead, back;
    const double *back_weights;
    int64_t n_nodes, n_states;
    const int32_t *first; /* node of each state, and the number of nodes; NULL: node m is state m */
    double floor;
    int masked;     /* what has no alpha gets no beta, nor what is next to nothing */
    double *v;      /* one row */
    double *counts; /* by entry of the blocks ahead, or NULL */
} Backward;

#define TINY 1e-200 /* smaller sums may miss something */

#define STEPS "discrete/sum_steps.h"
#include "simd/each.h"

#define sum_step(...) DISPATCH(sum_step)(__VA_ARGS__)
#define sum_run(...) DISPATCH(sum_run)(__VA_ARGS__)
#define back_step(...) DISPATCH(back_step)(__VA_ARGS__)
#define back_run(...) DISPATCH(back_run)(__VA_ARGS__)
#define count_step(...) DISPATCH(count_step)(__VA_ARGS__)
#define put_gamma(...) DISPATCH(put_gamma)(__VA_ARGS__)
#define multiply(...) DISPATCH(multiply)(__VA_ARGS__)

#else

#include "discrete/row_sums.h"

/* out = emit * (before W); the sum of out. *tiny: some positive sum before emit is below floor. */
TARGET static double NAME(sum_step)(const Blocks *b, const double *weights, const double *before,
                                    const double *emit, double floor, double *out, int *tiny)
{
    W8 total = SPREAD(0.0);
    int small = 0;
    STORE(out, total);
    for (int64_t i = 0; i < b->n_blocks;) {
        W8 sums[4];
        int64_t end = i + NAME(row_sums)(b, i, weights, before, sums);
        for (const W8 *u = sums; i < end; i++, u++) {
            W8 now = MUL(*u, LOAD(emit + 8 * i));
            small |= BETWEEN(*u, 0.0, floor);
            total = ADD(total, now);
            STORE(out + 8 * i, now);
        }
    }
    *tiny = small;
    return TOTAL(total);
}

/* Up to n sum steps, each row from the one before it; the steps done. Stops before a row marked in
 * `lossy`, and after one whose sums are tiny or whose total has drifted out of range. */
TARGET static int64_t NAME(sum_run)(const Blocks *b, const double *weights, int64_t n,
                                    const double *table, const int32_t *rows,
                                    const uint8_t *lossy, double floor, const double *before,
                                    double *out, double *total, int *tiny)
{
    int64_t stride = 8 * b->n_blocks, t = 0;
    while (t < n) {
        int64_t row = rows ? rows[t] : t;
        if (lossy && lossy[row])
            break;
        *total = NAME(sum_step)(b, weights, before, table + row * stride, floor, out, tiny);
        t++;
        if (*tiny || !(*total > 1e-30 && *total < 1e30))
            break;
        before = out;
        out += stride;
    }
    return t;
}

/* out = W v; *mass = alpha . out, *top = max(out). */
TARGET static void NAME(back_step)(const Blocks *b, const double *weights, const double *v,
                                   const double *alpha, double floor, int masked, double *out,
                                   double *mass, double *top, int *tiny)
{
    const W8 zero = SPREAD(0.0), least = SPREAD(1e-200);
    W8 total = zero, largest = zero;
    int small = 0;
    for (int64_t i = 0; i < b->n_blocks;) {
        W8 sums[4];
        int64_t end = i + NAME(row_sums)(b, i, weights, v, sums);
        for (const W8 *sum = sums; i < end; i++, sum++) {
            W8 u = *sum, before = LOAD(alpha + 8 * i);
            if (masked)
                u = PICK(before, zero, PICK(u, least, u, zero), zero);
            else
                small |= BETWEEN(u, 0.0, floor);
            total = FMA(u, before, total);
            largest = MAX(largest, u);
            STORE(out + 8 * i, u);
        }
    }
    *tiny = small;
    *mass = TOTAL(total);
    *top = LARGEST(largest);
}

/* counts(k, lane) += before(source) v(target) */
TARGET static void NAME(count_step)(const Blocks *b, const double *before, const double *v,
                                    double *counts)
{
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 here = LOAD(v + 8 * i);
        int64_t k = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
        for (; k < shifted; k++)
            STORE(counts + 8 * k, FMA(SPREAD(before[b->source[k]]), here, LOAD(counts + 8 * k)));
        for (; k < end; k++)
            STORE(counts + 8 * k, FMA(LOAD(before + b->source[k]), here, LOAD(counts + 8 * k)));
    }
}

/* gamma = alpha beta / mass, summed over the nodes of each state. */
TARGET static void NAME(put_gamma)(const Backward *p, const double *alpha, const double *beta,
                                   double scale, double *gamma)
{
    W8 factor = SPREAD(scale);
    if (!p->first) { /* nodes are states */
        for (int64_t i = 0; i < p->n_states; i += 8)
            STORE_HEAD(gamma + i, MUL(MUL(LOAD(alpha + i), LOAD(beta + i)), factor),
                       p->n_states - i);
        return;
    }
    for (int64_t i = 0; i < p->n_states; i++) {
        int64_t m = p->first[i], end = p->first[i + 1];
        double sum = 0.0;
        if (m + 8 <= end) {
            W8 sums = SPREAD(0.0);
            for (; m + 8 <= end; m += 8)
                sums = FMA(LOAD(alpha + m), LOAD(beta + m), sums);
            sum = TOTAL(sums);
        }
        for (; m < end; m++)
            sum += alpha[m] * beta[m];
        gamma[i] = sum * scale;
    }
}

/* Up to n steps backwards: writes gamma of step t, then takes beta from t to t - 1; rows of alpha,
 * the emissions and gamma are given at the first t and go down from there. Returns the steps done;
 * stops after one whose sums are tiny or whose beta has drifted out of range. */
TARGET static int64_t NAME(back_run)(const Backward *p, int64_t n, const double *alpha,
                                     const double *table, const int32_t *rows, double *gamma,
                                     double **beta, double **spare, double *mass, double *top,
                                     int *tiny)
{
    int64_t stride = 8 * p->back.n_blocks, t = 0;
    double *here = *beta, *there = *spare;
    while (t < n) {
        const double *emit = table + (rows ? rows[-t] : -t) * stride;
        NAME(put_gamma)(p, alpha, here, 1.0 / *mass, gamma);
        for (int64_t i = 0; i < stride; i += 8)
            STORE(p->v + i, MUL(LOAD(emit + i), LOAD(here + i)));
        alpha -= stride;
        gamma -= p->n_states;
        NAME(back_step)(&p->back, p->back_weights, p->v, alpha, p->floor, p->masked,
                        there, mass, top, tiny);
        if (p->counts) {
            W8 scale = SPREAD(1.0 / *mass);
            for (int64_t i = 0; i < stride; i += 8)
                STORE(p->v + i, MUL(LOAD(p->v + i), scale));
            NAME(count_step)(&p->ahead, alpha, p->v, p->counts);
        }
        double *swap = here;
        here = there;
        there = swap;
        t++;
        if (*tiny || *mass < p->floor || !(*top > 1e-30 && *top < 1e30))
            break;
    }
    *beta = here;
    *spare = there;
    return t;
}

TARGET static void NAME(multiply)(int64_t n, const double *a, const double *b, double c,
                                  double *out)
{
    W8 scale = SPREAD(c);
    for (int64_t i = 0; i < n; i += 8)
        STORE(out + i, MUL(MUL(LOAD(a + i), LOAD(b + i)), scale));
}

#endif
