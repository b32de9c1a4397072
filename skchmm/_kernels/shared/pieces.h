/* Work in *pieces*, each of which one thread does. */
#ifndef SKCHMM_PIECES_H
#define SKCHMM_PIECES_H

#include <stdint.h>

#include "shared/atomics.h"

enum { MOST_THREADS = 256 };

/* Each thread has a range, whose memory its core may still hold from the last call, and helps the
 * others when it is done. */
typedef struct {
    int64_t n_ranges;
    struct {
        int64_t next, end;
        char apart[48];
    } ranges[MOST_THREADS];
} Pieces;

static inline void split(Pieces *pieces, int64_t n_pieces, int64_t n_threads)
{
    pieces->n_ranges = n_threads;
    for (int64_t i = 0; i < n_threads; i++) {
        pieces->ranges[i].next = n_pieces * i / n_threads;
        pieces->ranges[i].end = n_pieces * (i + 1) / n_threads;
    }
}

/* A piece that nobody else gets; -1 if there is none left. */
static inline int64_t take_piece(Pieces *pieces, int64_t thread)
{
    for (int64_t i = 0; i < pieces->n_ranges; i++) {
        int64_t range = (thread + i) % pieces->n_ranges;
        int64_t piece = ATOMIC_NEXT(&pieces->ranges[range].next);
        if (piece < pieces->ranges[range].end)
            return piece;
    }
    return -1;
}

#endif
