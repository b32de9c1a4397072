/* Marginals and counts of transitions, for one instruction set: two_ended_steps.h. */

/* Sums of n steps, times the rows that the other end has left. These are loaded before anything is stored
 * among them: loads of a few lanes from beside what was just stored would wait for it. A path that has
 * entered a line stays there for as many steps as it has nodes. */
TARGET INLINE void NAME(multiply)(const int V, const int D, const int mode, const int side, int64_t n,
                                  int64_t n_places, const Rows *rows, const NAME(Lines) *lines,
                                  const W8 *scale, double *sums, double *others, W8 *past)
{
    const double *left = rows->left;
    for (int64_t i = 0; i < n; i++, left += side * rows->left_stride)
        for (int v = 0; v < V; v++) {
            const int64_t at = 8 * (V * i + v);
            W8 other = MUL(SOME(left + 8 * v, n_places - 8 * v), scale[v]);
            W8 x = MUL(LOAD(sums + at), other), entered = x;
            for (int d = D - 2; d >= 0; d--) {
                x = ADD(x, SELECT(lines->inside[d], past[d], SPREAD(0.0)));
                past[d] = d > 0 ? past[d - 1] : entered;
            }
            STORE(sums + at, x);
            if (mode == COUNT)
                STORE(others + at, other);
        }
}

/* The marginals of n steps, from such products, and their transitions. */
TARGET INLINE void NAME(normalise)(const int K, const int V, const int band, const int mode,
                                   const int side, int64_t n, int64_t n_places, const Rows *rows,
                                   SPOTS from, const double *joint, const double *others,
                                   const double *before, W8 *most, W8 *counts)
{
    double *out = rows->out, shares[LOOK];
    for (int64_t i = 0; i < n; i += 8) {
        W8 x[8];
        for (int64_t k = 0; k < 8; k++) {
            const double *row = joint + 8 * V * (i + k < n ? i + k : n - 1);
            x[k] = V > 1 ? ADD(LOAD(row), LOAD(row + 8)) : LOAD(row);
        }
        W8 share = NAME(one_over_sums)(x);
        STORE(shares + i, share);
        *most = MAX(share, *most);
    }
    for (int64_t i = 0; i < n; i++, out += side * rows->out_stride) {
        const W8 factor = SPREAD(shares[i]);
        W8 row[2];
        for (int v = 0; v < V; v++)
            STORE_HEAD(out + 8 * v, MUL(LOAD(joint + 8 * (V * i + v)), factor),
                       rows->n_out - 8 * v);
        if (mode < COUNT)
            continue;
        for (int v = 0; v < V; v++)
            row[v] = LOAD(before + 8 * (V * i + v));
        for (int v = 0; v < V; v++) {
            W8 here = MUL(LOAD(others + 8 * (V * i + v)), factor);
            for (int k = 0; k < K; k++)
                counts[k] = FMA(LANE(row[0], k), here, counts[k]);
            if (band) {
                counts[v] = FMA(row[v], here, counts[v]);
                counts[V + v] = FMA(NAME(beside)(V, side, row, v, from), here, counts[V + v]);
                if (band == 2)
                    counts[2 * V + v] = FMA(SPREAD(before[8 * V * i + rows->jump]), here,
                                            counts[2 * V + v]);
            } else if (K == 0)
                for (int64_t k = 0; k < n_places; k++)
                    counts[k * V + v] = FMA(SPREAD(before[8 * V * i + k]), here, counts[k * V + v]);
        }
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
