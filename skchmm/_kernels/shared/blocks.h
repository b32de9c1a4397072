#ifndef SKCHMM_BLOCKS_H
#define SKCHMM_BLOCKS_H

#include <stdint.h>

/* The edges of an epoch for steps that take targets 8 at a time, a *block*; or sources, going back.
 * Entry k of a block holds 8 weights and the source that they belong to: entries before `shifted`
 * take one source for all 8 targets, those from there on take source + lane for each lane (a diagonal
 * of the transition matrix). There the lanes without an edge read what lies next to a row and multiply
 * it by nothing: it must be a number, so a step clears the beginning of its own row, which may be what
 * follows the row that it reads. */
typedef struct {
    int64_t n_blocks;
    const int32_t *start;   /* entries of block i: start[i] .. start[i + 1] */
    const int32_t *shifted; /* from this entry on, lanes take neighbouring sources */
    const int32_t *source;
    const int32_t *together; /* neighbouring blocks of rows from the same sources that are taken with
                              * block i, itself included */
} Blocks;

#endif
