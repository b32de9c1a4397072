/* The steps of two_ended.h for one instruction set; included once for each. */

#define INLINE TARGET static inline __attribute__((always_inline))

/* One step of one end; K nodes and the mode are constants of the compiler. Broadcasts of the row
 * serve the sums and the counts; sums * emission is taken apart into one fused operation, which
 * leaves the sums themselves out of what the next step waits for. */
INLINE W8 NAME(step)(const int K, const int mode, int64_t n_states, int64_t i, const End *end,
                     const W8 *weights, W8 row, W8 *least, W8 *counts, double *mass)
{
    W8 from[8];
    for (int k = 0; k < K; k++)
        from[k] = LANE(row, k);
    W8 even = MUL(from[0], weights[0]), odd = MUL(from[1], weights[1]);
    for (int k = 2; k < K; k += 2)
        even = FMA(from[k], weights[k], even);
    for (int k = 3; k < K; k += 2)
        odd = FMA(from[k], weights[k], odd);
    W8 emission = LOAD(end->table + 8 * (int64_t)end->rows[i * end->step]);
    W8 sums = ADD(even, odd);
    row = FMA(even, emission, MUL(odd, emission));
    *least = LEAST(sums, *least);
    double *out = end->out + i * end->step * n_states;
    if (mode == STORE)
        STORE_HEAD(out, row, n_states);
    if (mode >= FINISH) {
        W8 other = SOME(out, n_states), joint = MUL(sums, other);
        double total = TOTAL(joint);
        *mass = total < *mass ? total : *mass;
        W8 scale = SPREAD(1.0 / total);
        STORE_HEAD(out, MUL(joint, scale), n_states);
        if (mode == COUNT) {
            other = MUL(other, scale);
            for (int k = 0; k < K; k++)
                counts[k] = FMA(from[k], other, counts[k]);
        }
    }
    return row;
}

INLINE void NAME(run_nodes)(const int K, const int mode, int64_t n, int64_t n_states, End *a,
                            End *b)
{
    W8 a_weights[8], b_weights[8], a_counts[8], b_counts[8];
    for (int k = 0; k < K; k++) {
        a_weights[k] = LOAD(a->weights + 8 * k);
        b_weights[k] = LOAD(b->weights + 8 * k);
        if (mode == COUNT) {
            a_counts[k] = LOAD(a->counts + 8 * k);
            b_counts[k] = LOAD(b->counts + 8 * k);
        }
    }
    W8 a_row = LOAD(a->row), b_row = LOAD(b->row);
    W8 a_least = LOAD(a->least), b_least = LOAD(b->least);
    double a_mass = a->mass, b_mass = b->mass;
    for (int64_t i = 0; i < n; i++) {
        a_row = NAME(step)(K, mode, n_states, i, a, a_weights, a_row, &a_least, a_counts, &a_mass);
        b_row = NAME(step)(K, mode, n_states, i, b, b_weights, b_row, &b_least, b_counts, &b_mass);
    }
    PUT(a->row, a_row);
    PUT(b->row, b_row);
    PUT(a->least, a_least);
    PUT(b->least, b_least);
    a->mass = a_mass;
    b->mass = b_mass;
    if (mode == COUNT)
        for (int k = 0; k < K; k++) {
            PUT(a->counts + 8 * k, a_counts[k]);
            PUT(b->counts + 8 * k, b_counts[k]);
        }
}

#define RUN(K)                                                                              \
    TARGET static void NAME(run_##K)(int64_t n, int64_t n_states, int mode, End *a, End *b) \
    {                                                                                       \
        if (mode == WALK)                                                                   \
            NAME(run_nodes)(K, WALK, n, n_states, a, b);                                    \
        else if (mode == STORE)                                                             \
            NAME(run_nodes)(K, STORE, n, n_states, a, b);                                   \
        else if (mode == FINISH)                                                            \
            NAME(run_nodes)(K, FINISH, n, n_states, a, b);                                  \
        else                                                                                \
            NAME(run_nodes)(K, COUNT, n, n_states, a, b);                                   \
    }
RUN(3)
RUN(4)
RUN(5)
RUN(6)
RUN(8)

TARGET static void NAME(run)(int64_t n, int64_t n_states, int mode, End *a, End *b)
{
    if (n_states <= 3)
        NAME(run_3)(n, n_states, mode, a, b);
    else if (n_states == 4)
        NAME(run_4)(n, n_states, mode, a, b);
    else if (n_states == 5)
        NAME(run_5)(n, n_states, mode, a, b);
    else if (n_states == 6)
        NAME(run_6)(n, n_states, mode, a, b);
    else
        NAME(run_8)(n, n_states, mode, a, b);
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
#undef TOTAL
#undef STORE_HEAD
