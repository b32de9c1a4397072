/* Steps of the recursion of lanes/viterbi.pyx, for 8 sequences; one vector operation an edge. */
#ifndef ISA

#include "lanes/fill_steps.h"
#include "lanes/side.h"
#include "shared/siblings.h"

#define STEPS "lanes/max_steps.h"
#include "simd/each.h"

#define lanes_choose_run(...) DISPATCH(lanes_choose_run)(__VA_ARGS__)

#else

/* Note the ties of a row, as those of step t. */
TARGET INLINE void NAME(note_ties)(const double *row, const Siblings *siblings, Ties ties, int64_t t)
{
    int seen;
    SEE_TIES(row, siblings->n, siblings->places, seen);
    if (RARELY(seen != 0)) {
        ties.any[t] = (uint8_t)seen;
        for (int64_t i = 0; i < siblings->n; i++)
            SEE_TIES(row, 1, siblings->places + 2 * i, ties.pairs[t * siblings->n + i]);
    }
}

/* n steps; values in two rows in turn, of which the last is returned. choices(t, node, lane) is the
 * source that won, the first of equals; there are at most 256 nodes. `ties` is for the row before. */
#define START(best, edge) best = ADD(from, SPREAD(weights[edge]))
#define TRY(best, which, edge)                               \
    do {                                                     \
        W8 candidate = ADD(from, SPREAD(weights[edge]));     \
        which = PICK(candidate, best, number, which);        \
        best = MAX(best, candidate);                         \
    } while (0)
#define FINISH(i, best, which)                                     \
    do {                                                           \
        STORE(there + NODE(i), ADD(best, LOAD(emit + STATE(i))));  \
        NUMBER_BYTES(choices + NODE(i), which);                    \
    } while (0)
#define ONE(D)                                                        \
    do {                                                              \
        W8 best = none, which = zero;                                 \
        if ((D) > 0) {                                                \
            W8 from = OTHER(here, 1, 0);                              \
            START(best, k);                                           \
            which = SPREAD(numbers[k]);                               \
        }                                                             \
        for (int64_t j = 1; j < (D); j++) {                           \
            W8 from = OTHER(here, 1, j);                              \
            W8 number = SPREAD(numbers[k + j]);                       \
            TRY(best, which, k + j);                                  \
        }                                                             \
        FINISH(0, best, which);                                       \
    } while (0)
#define FOUR(D)                                                       \
    do {                                                              \
        W8 a, b, c, d, e = SPREAD(numbers[k]), f = e, h = e, i = e;   \
        W8 from = OTHER(here, 4, 0);                                  \
        START(a, k);                                                  \
        START(b, k + (D));                                            \
        START(c, k + 2 * (D));                                        \
        START(d, k + 3 * (D));                                        \
        for (int64_t j = 1; j < (D); j++) {                           \
            W8 from = OTHER(here, 4, j);                              \
            W8 number = SPREAD(numbers[k + j]);                       \
            TRY(a, e, k + j);                                         \
            TRY(b, f, k + j + (D));                                   \
            TRY(c, h, k + j + 2 * (D));                               \
            TRY(d, i, k + j + 3 * (D));                               \
        }                                                             \
        FINISH(0, a, e);                                              \
        FINISH(1, b, f);                                              \
        FINISH(2, c, h);                                              \
        FINISH(3, d, i);                                              \
    } while (0)
TARGET static double *NAME(lanes_choose_run)(const Side *g, const double *weights, int64_t n,
                                             int64_t n_states, const double *emit, double *here,
                                             double *there, uint8_t *choices,
                                             const Siblings *siblings, Ties ties)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(NUMBER);
    const double *numbers = g->numbers;
    for (int64_t t = 0; t < n; t++, emit += 8 * n_states, choices += 8 * g->n_nodes) {
        ALL_NODES(ONE, FOUR);
        if (siblings->n > 0)
            NAME(note_ties)(here, siblings, ties, t);
        double *swap = here;
        here = there;
        there = swap;
    }
    return here;
}
#undef START
#undef TRY
#undef FINISH
#undef ONE
#undef FOUR

#endif
