/* The steps of two_ended.h for one instruction set; included once for each. */

#define INLINE TARGET static inline __attribute__((always_inline))

/* One step of one end; K nodes, the mode and the direction are constants of the compiler.
 * Broadcasts of the row serve the sums and the counts; sums * emission is taken apart into one
 * fused operation, which leaves the sums themselves out of what the next step waits for. */
INLINE W8 NAME(step)(const int K, const int mode, int64_t n_states, int64_t i, const End *end,
                     const W8 *weights, const double *others, W8 row, W8 *least, W8 *most,
                     W8 *counts)
{
    W8 from[8];
    for (int k = 0; k < K; k++)
        from[k] = LANE(row, k);
    W8 even = MUL(from[0], weights[0]), odd = MUL(from[1], weights[1]);
    for (int k = 2; k < K; k += 2)
        even = FMA(from[k], weights[k], even);
    for (int k = 3; k < K; k += 2)
        odd = FMA(from[k], weights[k], odd);
    W8 emission = LOAD(end->table + end->stride * end->rows[i]);
    W8 sums = ADD(even, odd);
    row = FMA(even, emission, MUL(odd, emission));
    *least = LEAST(sums, *least);
    double *out = end->out + i * n_states;
    if (mode == STORE)
        STORE_HEAD(out, row, n_states);
    if (mode >= FINISH) {
        W8 other = LOAD(others), joint = MUL(sums, other);
        W8 factor = SPREAD(1.0 / TOTAL(joint));
        *most = MAX(factor, *most);
        STORE_HEAD(out, MUL(joint, factor), n_states);
        if (mode == COUNT) {
            other = MUL(other, factor);
            for (int k = 0; k < K; k++)
                counts[k] = FMA(from[k], other, counts[k]);
        }
    }
    return row;
}

/* The row, scaled by a power of two if its total has drifted. */
INLINE W8 NAME(look)(End *end, W8 row)
{
    int exponent = 0;
    end->total = TOTAL(row);
    if (__builtin_expect(!IN_RANGE(end->total) && SOUND(end->total), 0)) {
        frexp(end->total, &exponent);
        end->exponent += exponent - 1;
        row = MUL(row, SPREAD(ldexp(1.0, 1 - exponent)));
    }
    return row;
}

INLINE void NAME(run_nodes)(const int K, const int mode, int64_t n, int64_t n_states, End *ahead,
                            End *back)
{
    W8 weights[8], back_weights[8], counts[8], back_counts[8];
    for (int k = 0; k < K; k++) {
        weights[k] = LOAD(ahead->weights + 8 * k);
        back_weights[k] = LOAD(back->weights + 8 * k);
        if (mode == COUNT) {
            counts[k] = LOAD(ahead->counts + 8 * k);
            back_counts[k] = LOAD(back->counts + 8 * k);
        }
    }
    W8 row = LOAD(ahead->row), back_row = LOAD(back->row);
    W8 least = LOAD(ahead->least), back_least = LOAD(back->least);
    W8 most = SPREAD(ahead->most), back_most = SPREAD(back->most);
    /* Loads of a few lanes from between what was just stored would wait for it. */
    double others[8 * CHUNK], back_others[8 * CHUNK];
    if (mode >= FINISH)
        for (int64_t i = 0; i < n; i++) {
            PUT(others + 8 * i, SOME(ahead->out + i * n_states, n_states));
            PUT(back_others + 8 * i, SOME(back->out - i * n_states, n_states));
        }
    for (int64_t i = 0; i < n;) {
        for (int64_t stop = i + LOOK < n ? i + LOOK : n; i < stop; i++) {
            row = NAME(step)(K, mode, n_states, i, ahead, weights, others + 8 * i, row, &least,
                             &most, counts);
            back_row = NAME(step)(K, mode, n_states, -i, back, back_weights, back_others + 8 * i,
                                  back_row, &back_least, &back_most, back_counts);
        }
        row = NAME(look)(ahead, row);
        back_row = NAME(look)(back, back_row);
        if (!SOUND(ahead->total) || !SOUND(back->total))
            break;
    }
    PUT(ahead->row, row);
    PUT(back->row, back_row);
    PUT(ahead->least, least);
    PUT(back->least, back_least);
    ahead->most = LARGEST(most);
    back->most = LARGEST(back_most);
    if (mode == COUNT)
        for (int k = 0; k < K; k++) {
            PUT(ahead->counts + 8 * k, counts[k]);
            PUT(back->counts + 8 * k, back_counts[k]);
        }
}

#define RUN(K)                                                                           \
    TARGET static void NAME(run_##K)(int64_t n, int64_t n_states, int mode, End *ahead,  \
                                     End *back)                                          \
    {                                                                                    \
        if (mode == WALK)                                                                \
            NAME(run_nodes)(K, WALK, n, n_states, ahead, back);                          \
        else if (mode == STORE)                                                          \
            NAME(run_nodes)(K, STORE, n, n_states, ahead, back);                         \
        else if (mode == FINISH)                                                         \
            NAME(run_nodes)(K, FINISH, n, n_states, ahead, back);                        \
        else                                                                             \
            NAME(run_nodes)(K, COUNT, n, n_states, ahead, back);                         \
    }
RUN(3)
RUN(4)
RUN(5)
RUN(6)
RUN(8)

TARGET static void NAME(run)(int64_t n, int64_t n_states, int mode, End *ahead, End *back)
{
    if (n_states <= 3)
        NAME(run_3)(n, n_states, mode, ahead, back);
    else if (n_states == 4)
        NAME(run_4)(n, n_states, mode, ahead, back);
    else if (n_states == 5)
        NAME(run_5)(n, n_states, mode, ahead, back);
    else if (n_states == 6)
        NAME(run_6)(n, n_states, mode, ahead, back);
    else
        NAME(run_8)(n, n_states, mode, ahead, back);
}

#undef RUN
#undef INLINE
#undef TARGET
#undef NAME
#undef W8
#undef LANE
#undef SOME
#undef LEAST
#undef SPREAD
#undef LOAD
#undef PUT
#undef ADD
#undef MUL
#undef FMA
#undef MAX
#undef LARGEST
#undef TOTAL
#undef STORE_HEAD
