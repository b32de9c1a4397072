/* Steps of the recursion of lanes/viterbi.pyx on one-way graphs, for 8 sequences: one node takes several
 * steps, then the next; see side.h. */
#ifndef ISA

#include "lanes/max_steps.h"

/* Steps that a node takes before the next one does. */
#define ONE_WAY_STEPS 8

#define STEPS "lanes/one_way_max_steps.h"
#include "simd/each.h"

#define one_way_choose_run(...) DISPATCH(one_way_choose_run)(__VA_ARGS__)

#else

/* One node. D and BEFORE, how many others come before it in a row, are constants of the compiler; D is
 * -1 where there are many. Candidates are taken in the order of their nodes, and the first of equals
 * wins. A node without a loop of its own has one that is impossible. */
#define TRY(candidate, number)                              \
    do {                                                    \
        const W8 tried = (candidate);                       \
        which = PICK(tried, best, (number), which);         \
        best = MAX(best, tried);                            \
    } while (0)
TARGET INLINE void NAME(choose_along)(const int D, const int BEFORE, const int32_t *at,
                                      const double *weights, const double *numbers, int64_t steps,
                                      int64_t row, int64_t n_states, const double *emit,
                                      double *rows, uint8_t *choices)
{
    const int64_t others = D < 0 ? at[3] : D, before = D < 0 ? at[4] : BEFORE;
    const W8 own = SPREAD(at[2] >= 0 ? weights[at[2] / 8] : -INFINITY);
    const W8 own_number = SPREAD(NUMBER + at[0] / 8);
    const double *from[3] = {NULL, NULL, NULL}, *here = rows;
    W8 kept[3] = {own, own, own}, kept_numbers[3] = {own, own, own};
    double *to = rows + at[0];
    W8 x = LOAD(to);
    for (int j = 0; j < D; j++) {
        kept[j] = SPREAD(weights[OTHER_EDGE(j) / 8]);
        kept_numbers[j] = SPREAD(numbers[OTHER_EDGE(j) / 8]);
        from[j] = rows + OTHER_PLACE(j);
    }
    emit += at[1];
    choices += at[0];
    for (int64_t i = 0; i < steps; i++, emit += 8 * n_states, choices += row) {
        W8 best = SPREAD(-INFINITY), which = own_number;
        if (D >= 0) {
            for (int j = 0; j <= D; j++) {
                const int k = j - (j > BEFORE);
                const W8 candidate = j == BEFORE ? ADD(x, own) : ADD(LOAD(from[k]), kept[k]);
                const W8 number = j == BEFORE ? own_number : kept_numbers[k];
                if (j == 0) {
                    best = candidate;
                    which = number;
                } else
                    TRY(candidate, number);
            }
            for (int j = 0; j < D; j++)
                from[j] += row;
        } else {
            for (int64_t j = 0; j <= others; j++) {
                if (j == before)
                    TRY(ADD(x, own), own_number);
                if (j < others)
                    TRY(ADD(LOAD(here + OTHER_PLACE(j)), SPREAD(weights[OTHER_EDGE(j) / 8])),
                        SPREAD(numbers[OTHER_EDGE(j) / 8]));
            }
            here += row;
        }
        x = ADD(best, LOAD(emit));
        to += row;
        STORE(to, x);
        NUMBER_BYTES(choices, which);
    }
}
#undef TRY

/* n steps, as lanes_choose_run takes them, from the first of the rows, which holds the last one after
 * them; there are ONE_WAY_STEPS + 1. */
#define ALONG(D, BEFORE)                                                                            \
    NAME(choose_along)(D, BEFORE, at, weights, numbers, steps, row, n_states, emit, rows, choices)
#define CHOOSE(D)                                       \
    do {                                                \
        if ((D) <= 0 || at[4] == 0)                     \
            ALONG(D, 0);                                \
        else if ((D) == 1 || at[4] == 1)                \
            ALONG(D, 1);                                \
        else if ((D) == 2 || at[4] == 2)                \
            ALONG(D, 2);                                \
        else                                            \
            ALONG(D, 3);                                \
    } while (0)
TARGET static void NAME(one_way_choose_run)(const OneWay *g, const double *weights,
                                            const double *numbers, int64_t n, int64_t n_states,
                                            const double *emit, double *rows, uint8_t *choices,
                                            const Siblings *siblings, Ties ties)
{
    const int64_t row = 8 * g->n_nodes;
    int64_t steps;
    for (int64_t t = 0; t < n; t += steps) {
        steps = n - t < ONE_WAY_STEPS ? n - t : ONE_WAY_STEPS;
        ONE_WAY_NODES(CHOOSE);
        for (int64_t i = 0; i < steps && siblings->n > 0; i++)
            NAME(note_ties)(rows + i * row, siblings, ties, t + i);
        for (int64_t m = 0; m < row; m += 8)
            STORE(rows + m, LOAD(rows + steps * row + m));
        emit += 8 * steps * n_states;
        choices += steps * row;
    }
}
#undef CHOOSE
#undef ALONG

#endif
