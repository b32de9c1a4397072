#ifndef SKCHMM_SIBLINGS_H
#define SKCHMM_SIBLINGS_H

#include <stdint.h>

/* Pairs of *siblings*: nodes of one state with an edge to the same node. Where both are as good, the
 * labels before them decide which one a path comes from; see ties.pxd. */
typedef struct {
    int64_t n;
    const int32_t *pairs;   /* (n, 2), increasing */
    const int32_t *places;  /* (n, 2), the same in rows of 8 numbers per node */
    const int32_t *first;   /* (nodes + 1): where the pairs of each node begin in of_node */
    const int32_t *of_node; /* (2 n): numbers of pairs */
    int64_t n_shifts;       /* the same again, 8 neighbours and as many others at a time */
    const int32_t *shifts;  /* (n_shifts, 2): the first node of both */
    const double *others;   /* (n_shifts, 8): 0 where they are siblings, else NaN */
} Siblings;

/* What 8 sequences at a time note of their rows, one bit a lane: whether there are ties; if so, of
 * which pairs. */
typedef struct {
    uint8_t *any;   /* (steps) */
    uint8_t *pairs; /* (steps, n), of rows without ties left as it was */
} Ties;

/* The lanes in which n pairs of places of a row hold a tie. */
#define SEE_TIES(row, n, places, seen)                                                \
    do {                                                                              \
        const int32_t *one = (places), *end = one + 2 * (n);                          \
        LANE_SET equal = NO_LANES();                                                  \
        for (; one < end; one += 2)                                                   \
            equal = OR_EQUAL(equal, LOAD((row) + one[0]), LOAD((row) + one[1]));      \
        seen = LANE_BITS(equal);                                                      \
    } while (0)

#endif
