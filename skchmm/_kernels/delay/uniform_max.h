/* n steps of delay/lanes_max_steps.h from step t on, for one instruction set, where K tails have edges from
 * themselves alone, and K heads from the tails of other states: minimum durations of one length. `sums`
 * have the transitions within lines besides the scores. With
 *
 *     u_t = value_t(tail) - sums_t,   g_t = value_t(head) - sums_t
 *
 * there is little to add: u_t = max(u_{t-1} + keep, g_{t-d}), and g_t is what enters, less sums_{t-1}. */
TARGET INLINE void NAME(uniform_steps)(const int K, LaneDelay *d, int64_t t, int64_t n,
                                       const double *emit, double *values, int64_t n_notes,
                                       uint8_t *notes)
{
    const int64_t mask = d->mask, delay = d->core->same;
    const double *entering = d->entering;
    double *ring = d->ring, nothing[64];
    W8 u[8], sums[8], value[8], keep[8];
    UNROLLED for (int k = 0; k < K; k++) {
        STORE(nothing + 8 * k, SPREAD(-INFINITY));
        value[k] = LOAD(values + 8 * k);
        sums[k] = LOAD(d->sums + 8 * k);
        u[k] = SUB(value[k], sums[k]);
        keep[k] = SPREAD(d->keep[k]);
    }
    for (int64_t end = t + n; t < end; t++, notes += n_notes, emit += 8 * K) {
        const double *come = t < delay ? nothing : ring + 8 * K * ((t - delay) & mask);
        double *go = ring + 8 * K * (t & mask);
        values += 8 * K;
        UNROLLED for (int j = 0; j < K; j++) {
            W8 best = ADD(value[j == 0], SPREAD(entering[8 * j + (j == 0)]));
            UNROLLED for (int k = 1 + (j == 0); k < K; k++)
                if (k != j)
                    best = MAX(best, ADD(value[k], SPREAD(entering[8 * j + k])));
            STORE(go + 8 * j, SUB(best, sums[j]));
        }
        UNROLLED for (int k = 0; k < K; k++) {
            u[k] = NAME(better_way)(ADD(u[k], keep[k]), LOAD(come + 8 * k), notes + 2 * k);
            sums[k] = ADD(sums[k], LOAD(emit + 8 * k));
            value[k] = ADD(u[k], sums[k]);
            STORE(values + 8 * k, value[k]);
        }
    }
    UNROLLED for (int k = 0; k < K; k++)
        STORE(d->sums + 8 * k, sums[k]);
}
