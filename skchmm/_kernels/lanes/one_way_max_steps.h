/* Steps of the recursion of lanes/viterbi.pyx on one-way graphs, for 8 sequences, or for 16 in two groups:
 * one node takes several steps, then the next; see side.h. A node waits for itself, and two groups do not
 * wait for each other. */
#ifndef ISA

#include "lanes/max_steps.h"

/* Steps that a node takes before the next one does. */
#define ONE_WAY_STEPS 16
/* How far the second group is from the first: rows of values, emissions, choices. */
typedef struct { int64_t rows, emit, choices; } Apart;

#define STEPS "lanes/one_way_max_steps.h"
#include "simd/each.h"

#define one_way_choose_run(...) DISPATCH(one_way_choose_run)(__VA_ARGS__)

#else

/* One node of G groups. G, D and BEFORE, how many others come before it in a row, are constants of the
 * compiler; D is -1 where there are many. Candidates are taken in the order of their nodes, and the first
 * of equals wins. A node without a loop of its own has one that is impossible. A sum with another is fused
 * with a product, by 1: other units of the processor do that. */
#define TRY(g, candidate, number)                                   \
    do {                                                            \
        const W8 tried = (candidate);                               \
        which[g] = PICK(tried, best[g], (number), which[g]);        \
        best[g] = MAX(best[g], tried);                              \
    } while (0)
TARGET INLINE void NAME(choose_along)(const int G, const int D, const int BEFORE, const int32_t *at,
                                      const double *weights, const double *numbers, int64_t steps,
                                      int64_t row, int64_t n_states, const double *emit,
                                      double *rows, uint8_t *choices, const Apart *apart)
{
    const int64_t next_row = apart->rows, next_emit = apart->emit, next_choices = apart->choices;
    const W8 own = SPREAD(at[2] >= 0 ? weights[at[2] / 8] : -INFINITY), one = SPREAD(1.0);
    const W8 own_number = SPREAD(NUMBER + at[0] / 8);
    const double *from[3] = {NULL, NULL, NULL}, *here = rows;
    W8 kept[3] = {own, own, own}, kept_numbers[3] = {own, own, own}, x[2], best[2], which[2];
    double *to = rows + at[0];
    for (int g = 0; g < G; g++)
        x[g] = LOAD(to + g * next_row);
    for (int j = 0; j < D; j++) {
        kept[j] = SPREAD(weights[OTHER_EDGE(j) / 8]);
        kept_numbers[j] = SPREAD(numbers[OTHER_EDGE(j) / 8]);
        from[j] = rows + OTHER_PLACE(j);
    }
    emit += at[1];
    choices += at[0];
    for (int64_t i = 0; i < steps; i++, emit += 8 * n_states, choices += row) {
        for (int j = 0; j <= D; j++) {
            const int k = j - (j > BEFORE);
            const W8 number = j == BEFORE ? own_number : kept_numbers[k];
            for (int g = 0; g < G; g++) {
                const W8 candidate = j == BEFORE ? ADD(x[g], own)
                                     : FMA(LOAD(from[k] + g * next_row), one, kept[k]);
                if (j == 0) {
                    best[g] = candidate;
                    which[g] = number;
                } else
                    TRY(g, candidate, number);
            }
        }
        for (int j = 0; j < D; j++)
            from[j] += row;
        for (int g = 0; g < G && D < 0; g++) {
            best[g] = SPREAD(-INFINITY);
            which[g] = own_number;
            for (int64_t j = 0; j <= at[3]; j++) {
                if (j == at[4])
                    TRY(g, ADD(x[g], own), own_number);
                if (j < at[3])
                    TRY(g, ADD(LOAD(here + g * next_row + OTHER_PLACE(j)),
                               SPREAD(weights[OTHER_EDGE(j) / 8])),
                        SPREAD(numbers[OTHER_EDGE(j) / 8]));
            }
        }
        here += row;
        to += row;
        for (int g = 0; g < G; g++) {
            x[g] = ADD(best[g], LOAD(emit + g * next_emit));
            STORE(to + g * next_row, x[g]);
            NUMBER_BYTES(choices + g * next_choices, which[g]);
        }
    }
}
#undef TRY

/* n steps, as lanes_choose_run takes them, of one group or two: from the first of the rows, which holds the
 * last one after them; there are ONE_WAY_STEPS + 1. `ties` is for one group alone. */
#define ALONG(D, BEFORE)                                                                          \
    do {                                                                                          \
        if (n_groups == 1)                                                                        \
            NAME(choose_along)(1, D, BEFORE, at, weights, numbers, steps, row, n_states, emit,    \
                               rows, choices, apart);                                             \
        else                                                                                      \
            NAME(choose_along)(2, D, BEFORE, at, weights, numbers, steps, row, n_states, emit,    \
                               rows, choices, apart);                                             \
    } while (0)
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
                                            const double *numbers, int n_groups, const Apart *apart,
                                            int64_t n, int64_t n_states, const double *emit,
                                            double *rows, uint8_t *choices,
                                            const Siblings *siblings, Ties ties)
{
    const int64_t row = 8 * g->n_nodes;
    int64_t steps;
    for (int64_t t = 0; t < n; t += steps) {
        steps = n - t < ONE_WAY_STEPS ? n - t : ONE_WAY_STEPS;
        ONE_WAY_NODES(CHOOSE);
        for (int64_t i = 0; i < steps && siblings->n > 0; i++)
            NAME(note_ties)(rows + i * row, siblings, ties, t + i);
        for (int k = 0; k < n_groups; k++) {
            double *first = rows + k * apart->rows;
            for (int64_t m = 0; m < row; m += 8)
                STORE(first + m, LOAD(first + steps * row + m));
        }
        emit += 8 * steps * n_states;
        choices += steps * row;
    }
}
#undef CHOOSE
#undef ALONG

#endif
