/* The steps of the recursions for one instruction set; included by blocks.h once for each.
 *
 * W8 is a vector of 8 doubles (or a pair of 4), NAME(f) the name of f for this instruction set.
 *
 * Targets are taken 8 at a time. Entry k of a block holds 8 weights and the source that they
 * belong to: entries before `shifted` take one source for all 8 targets, those from there on
 * take source + lane for each lane (a diagonal of the transition matrix). There the lanes without
 * an edge read what lies next to a row and multiply it by nothing: it must be a number, so a step
 * clears the beginning of its own row, which may be what follows the row that it reads.
 */

TARGET static void NAME(max_step)(const Blocks *b, const double *weights, const double *before,
                                  const double *emit, double *out)
{
    STORE(out, SPREAD(0.0));
    for (int64_t i = 0; i < b->n_blocks; i++) {
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
        STORE(out + 8 * i, ADD(MAX(best, second), LOAD(emit + 8 * i)));
    }
}

/* One entry of the step below: keep the larger candidate and the source that it came from. */
#define TRY(best, which, from, origin)                                \
    do {                                                              \
        W8 candidate = ADD(from, LOAD(weights + 8 * k));              \
        which = PICK(candidate, best, origin, which);                 \
        best = MAX(best, candidate);                                  \
    } while (0)
#define TRY_ROW(best, which) \
    TRY(best, which, SPREAD(here[b->source[k]]), SPREAD((double)b->source[k]))
#define TRY_DIAGONAL(best, which) \
    TRY(best, which, LOAD(here + b->source[k]), ADD(lanes, SPREAD((double)b->source[k])))

/* n max steps that also note which source won in each lane (the first of equals): cheaper than
 * finding it again while a step has few entries. Values go to two rows in turn; returns the last. */
TARGET static double *NAME(choose_run)(const Blocks *b, const double *weights, int64_t n,
                                       const double *table, const int32_t *rows, double *here,
                                       double *there, uint8_t *choices)
{
    static const double counted[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const W8 lanes = LOAD(counted);
    int64_t stride = 8 * b->n_blocks;
    STORE(there, SPREAD(0.0));
    for (int64_t t = 0; t < n; t++) {
        const double *emit = table + (rows ? rows[t] : t) * stride;
        for (int64_t i = 0; i < b->n_blocks; i++) {
            W8 best = SPREAD(-INFINITY), later = best, which = SPREAD(0.0), later_which = which;
            int64_t first = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
            int64_t k = first, half = first + (end - first + 1) / 2;
            int64_t stop = half < shifted ? half : shifted;
            for (; k < stop; k++)
                TRY_ROW(best, which);
            for (; k < half; k++)
                TRY_DIAGONAL(best, which);
            for (; k < shifted; k++)
                TRY_ROW(later, later_which);
            for (; k < end; k++)
                TRY_DIAGONAL(later, later_which);
            which = PICK(later, best, later_which, which);
            best = MAX(best, later);
            STORE(there + 8 * i, ADD(best, LOAD(emit + 8 * i)));
            BYTES(choices + t * stride + 8 * i, which);
        }
        double *swap = here;
        here = there;
        there = swap;
    }
    return here;
}
#undef TRY
#undef TRY_ROW
#undef TRY_DIAGONAL

TARGET static W8 NAME(gather)(const Blocks *b, int64_t i, const double *weights,
                              const double *before)
{
    W8 sum = SPREAD(0.0), second = sum;
    int64_t k = b->start[i], shifted = b->shifted[i], end = b->start[i + 1];
    for (; k + 1 < shifted; k += 2) {
        sum = FMA(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k), sum);
        second = FMA(SPREAD(before[b->source[k + 1]]), LOAD(weights + 8 * k + 8), second);
    }
    for (; k < shifted; k++)
        sum = FMA(SPREAD(before[b->source[k]]), LOAD(weights + 8 * k), sum);
    for (; k < end; k++)
        second = FMA(LOAD(before + b->source[k]), LOAD(weights + 8 * k), second);
    return ADD(sum, second);
}

/* out = emit * (before W); the sum of out. *tiny: some positive sum before emit is below floor. */
TARGET static double NAME(sum_step)(const Blocks *b, const double *weights, const double *before,
                                    const double *emit, double floor, double *out, int *tiny)
{
    W8 total = SPREAD(0.0);
    int small = 0;
    STORE(out, total);
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 u = NAME(gather)(b, i, weights, before);
        small |= BETWEEN(u, 0.0, floor);
        u = MUL(u, LOAD(emit + 8 * i));
        total = ADD(total, u);
        STORE(out + 8 * i, u);
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
                                   const double *alpha, double floor, double *out, double *mass,
                                   double *top, int *tiny)
{
    W8 total = SPREAD(0.0), largest = total;
    int small = 0;
    for (int64_t i = 0; i < b->n_blocks; i++) {
        W8 u = NAME(gather)(b, i, weights, v);
        small |= BETWEEN(u, 0.0, floor);
        total = FMA(u, LOAD(alpha + 8 * i), total);
        largest = MAX(largest, u);
        STORE(out + 8 * i, u);
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

/* The first of n sources that attains the largest before(source) + weight; -1 where all are -inf.
 * Without branches on values: which source wins cannot be predicted. */
TARGET static int64_t NAME(best_source)(int64_t n, const int32_t *sources, const double *weights,
                                        const double *before)
{
    int neighbours = n > 0 && sources[n - 1] - sources[0] == n - 1;
    W8 largest = SPREAD(-INFINITY);
    for (int64_t k = 0; k < n; k += 8) {
        W8 from = neighbours ? HEAD(before + sources[0] + k, n - k) : GATHER(before, sources + k, n - k);
        largest = MAX(largest, ADD(from, HEAD(weights + k, n - k)));
    }
    double best = LARGEST(largest);
    if (best == -INFINITY)
        return -1;
    for (int64_t k = 0;; k += 8) {
        W8 from = neighbours ? HEAD(before + sources[0] + k, n - k) : GATHER(before, sources + k, n - k);
        int hit = EQUAL(ADD(from, HEAD(weights + k, n - k)), best);
        if (hit)
            return sources[k + __builtin_ctz(hit)];
    }
}

/* gamma = alpha beta / mass, summed over the nodes of each state. */
TARGET static void NAME(put_gamma)(const Backward *p, const double *alpha, const double *beta,
                                   double scale, double *gamma)
{
    W8 factor = SPREAD(scale);
    if (!p->node_states) { /* nodes are states */
        for (int64_t i = 0; i < p->n_states; i += 8)
            STORE_HEAD(gamma + i, MUL(MUL(LOAD(alpha + i), LOAD(beta + i)), factor),
                       p->n_states - i);
        return;
    }
    double product[8];
    for (int64_t i = 0; i < p->n_states; i++)
        gamma[i] = 0.0;
    for (int64_t i = 0; i < p->n_nodes; i += 8) {
        int64_t left = p->n_nodes - i < 8 ? p->n_nodes - i : 8;
        STORE(product, MUL(MUL(LOAD(alpha + i), LOAD(beta + i)), factor));
        for (int64_t m = 0; m < left; m++)
            gamma[p->node_states[i + m]] += product[m];
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
        NAME(back_step)(&p->back, p->back_weights, p->v, alpha, p->floor, there, mass, top, tiny);
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

/* Rows of a table of n_states columns, one column a node: out(t, m) = table(rows(t), states(m)). */
TARGET static void NAME(spread_rows)(int64_t n, int64_t n_states, int64_t n_nodes, int64_t stride,
                                     const int32_t *states, const double *table,
                                     const int32_t *rows, double *out)
{
    for (int64_t t = 0; t < n; t++) {
        const double *row = table + (rows ? rows[t] : t) * n_states;
        for (int64_t m = 0; m < n_nodes; m++)
            out[t * stride + m] = row[states[m]];
    }
}

/* Stores 8 elements of a row of n, from k on. They run over into the next row, which is written after
 * it, but not beyond the end of the table. */
TARGET static inline void NAME(store_row)(double *row, int64_t n, int64_t k, const double *end, W8 x)
{
    if (row + k + 8 <= end) {
        STORE(row + k, x);
        return;
    }
    double last[8];
    STORE(last, x);
    for (int64_t i = k; i < n && i < k + 8; i++)
        row[i] = last[i - k];
}

/* Log-densities of n rows under S Gaussians with diagonal covariances; NaN is integrated out.
 * means (negative), scales (1 / standard deviation) and norms (log 2 pi variance) are (d, 8 ceil(S / 8)). */
TARGET static void NAME(normal_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                     const double *means, const double *scales,
                                     const double *norms, double *out)
{
    int64_t width = (S + 7) / 8 * 8;
    for (int64_t t = 0; t < n; t++)
        for (int64_t k = 0; k < width; k += 8) {
            W8 sum = SPREAD(0.0);
            for (int64_t j = 0; j < d; j++) {
                double x = X[t * d + j];
                if (x != x)
                    continue;
                W8 z = MUL(ADD(SPREAD(x), LOAD(means + j * width + k)), LOAD(scales + j * width + k));
                sum = ADD(sum, FMA(z, z, LOAD(norms + j * width + k)));
            }
            NAME(store_row)(out + t * S, S, k, out + n * S, MUL(sum, SPREAD(-0.5)));
        }
}

/* Adds the weights of a row, times 1, x and x squared, to three sums. */
TARGET static inline void NAME(add_moments)(W8 *sums, W8 weights, double x)
{
    W8 first = MUL(weights, SPREAD(x));
    sums[0] = ADD(sums[0], weights);
    sums[1] = ADD(sums[1], first);
    sums[2] = FMA(first, SPREAD(x), sums[2]);
}

/* Sums over n rows of S weights, times 1, x and x squared, for x in d columns of X less a shift; NaN
 * is left out. sums is (3, d, 8 ceil(S / 8)), with junk beyond S.
 * The sums of two columns stay in registers for a run of rows, and the run stays in the cache. */
TARGET static void NAME(moment_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                     const double *shift, const double *weights, double *sums)
{
    const int64_t run = 256, width = (S + 7) / 8 * 8;
    for (int64_t begin = 0; begin < n; begin += run) {
        int64_t end = begin + run < n ? begin + run : n;
        for (int64_t k = 0; k < width; k += 8) {
            /* rows of which 8 weights can be read without leaving the table */
            int64_t whole = n * S < k + 8 ? 0 : (n * S - k - 8) / S + 1;
            for (int64_t j = 0; j < d; j += 2) {
                int64_t other = j + 1 < d ? j + 1 : j;
                W8 here[3] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                W8 next[3] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                for (int64_t t = begin; t < end; t++) {
                    const double *row = weights + t * S + k;
                    W8 w = t < whole ? LOAD(row) : HEAD(row, S - k);
                    double x = X[t * d + j] - shift[j], y = X[t * d + other] - shift[other];
                    if (x == x)
                        NAME(add_moments)(here, w, x);
                    if (y == y)
                        NAME(add_moments)(next, w, y);
                }
                for (int64_t i = 0; i < 3; i++) {
                    double *sum = sums + (i * d + j) * width + k;
                    STORE(sum, ADD(LOAD(sum), here[i]));
                    if (other > j)
                        STORE(sum + width, ADD(LOAD(sum + width), next[i]));
                }
            }
        }
    }
}

/* As normal_rows for full covariances and rows without NaN, of at most 16 columns. whiten holds the
 * rows of the lower triangles that make a Gaussian standard normal, (d (d + 1) / 2, 8 ceil(S / 8)),
 * and norms the log-determinants and constants, one a Gaussian. */
TARGET static void NAME(full_normal_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                          const double *means, const double *whiten,
                                          const double *norms, double *out)
{
    int64_t width = (S + 7) / 8 * 8;
    W8 centred[16];
    for (int64_t t = 0; t < n; t++)
        for (int64_t k = 0; k < width; k += 8) {
            const double *entry = whiten + k;
            W8 sum = LOAD(norms + k);
            for (int64_t i = 0; i < d; i++) {
                centred[i] = ADD(SPREAD(X[t * d + i]), LOAD(means + i * width + k));
                W8 z = SPREAD(0.0);
                for (int64_t j = 0; j <= i; j++, entry += width)
                    z = FMA(LOAD(entry), centred[j], z);
                sum = FMA(z, z, sum);
            }
            NAME(store_row)(out + t * S, S, k, out + n * S, MUL(sum, SPREAD(-0.5)));
        }
}

/* Sums over n rows of S weights times products of two out of 1 and at most 16 columns of X less a
 * shift, none of them NaN. sums is (1 + d, 1 + d, 8 ceil(S / 8)) with junk beyond S; only the lower
 * triangle of the first two axes is summed. */
TARGET static void NAME(product_rows)(int64_t n, int64_t d, int64_t S, const double *X,
                                      const double *shift, const double *weights, double *sums)
{
    enum { RUN = 128, MOST = 17 };
    const int64_t width = (S + 7) / 8 * 8, m = d + 1;
    double centred[RUN * MOST];
    for (int64_t begin = 0; begin < n; begin += RUN) {
        int64_t count = begin + RUN < n ? RUN : n - begin;
        for (int64_t t = 0; t < count; t++) {
            centred[t * m] = 1.0;
            for (int64_t j = 0; j < d; j++)
                centred[t * m + 1 + j] = X[(begin + t) * d + j] - shift[j];
        }
        for (int64_t k = 0; k < width; k += 8)
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j <= i; j += 4) {
                    /* four sums at once stay in registers; those beyond i are not kept */
                    const double *a = centred + j, *b = centred + (j + 1 <= i ? j + 1 : i);
                    const double *c = centred + (j + 2 <= i ? j + 2 : i);
                    const double *e = centred + (j + 3 <= i ? j + 3 : i);
                    W8 four[4] = {SPREAD(0.0), SPREAD(0.0), SPREAD(0.0), SPREAD(0.0)};
                    for (int64_t t = 0; t < count; t++) {
                        int64_t at = (begin + t) * S + k;
                        W8 w = at + 8 <= n * S ? LOAD(weights + at) : HEAD(weights + at, S - k);
                        w = MUL(w, SPREAD(centred[t * m + i]));
                        four[0] = FMA(w, SPREAD(a[t * m]), four[0]);
                        four[1] = FMA(w, SPREAD(b[t * m]), four[1]);
                        four[2] = FMA(w, SPREAD(c[t * m]), four[2]);
                        four[3] = FMA(w, SPREAD(e[t * m]), four[3]);
                    }
                    for (int64_t q = 0; q < 4 && j + q <= i; q++) {
                        double *sum = sums + (i * m + j + q) * width + k;
                        STORE(sum, ADD(LOAD(sum), four[q]));
                    }
                }
    }
}
