/* Marginals and counts of transitions, for one instruction set: two_ended_steps.h. */

/* Sums, times the rows that the other end has left. These are loaded before anything is stored among
 * them: loads of a few lanes from beside what was just stored would wait for it. */
TARGET INLINE void NAME(multiply)(const int V, const int mode, const int side, int64_t i,
                                  int64_t n_places, const End *end, const W8 *scale, double *sums,
                                  double *others)
{
    for (int v = 0; v < V; v++) {
        const double *left = end->left + side * i * end->left_stride + 8 * v;
        W8 other = MUL(SOME(left, n_places - 8 * v), scale[v]);
        STORE(sums + 8 * v, MUL(LOAD(sums + 8 * v), other));
        if (mode == COUNT)
            STORE(others + 8 * v, other);
    }
}

/* The marginals of a step, from such products, and its transitions. A path that has entered a line stays
 * there for as many steps as it has nodes. */
TARGET INLINE void NAME(normalise)(const int K, const int V, const int D, const int band,
                                   const int mode, const int side, int64_t i, int64_t n_places,
                                   const End *end, const NAME(Lines) *lines, SPOTS from,
                                   const double *joint, const double *others, const double *before,
                                   W8 *past, double *most, W8 *counts)
{
    W8 x[2], row[2];
    for (int v = 0; v < V; v++)
        x[v] = LOAD(joint + 8 * v);
    if (D > 1) {
        W8 entered = x[0];
        for (int d = D - 2; d >= 0; d--) {
            x[0] = ADD(x[0], SELECT(lines->inside[d], past[d], SPREAD(0.0)));
            past[d] = d > 0 ? past[d - 1] : entered;
        }
    }
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
            counts[V + v] = FMA(NAME(beside)(V, side, row, v, from), here, counts[V + v]);
            if (band == 2)
                counts[2 * V + v] = FMA(SPREAD(before[end->jump]), here, counts[2 * V + v]);
        } else if (K == 0)
            for (int64_t k = 0; k < n_places; k++)
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
