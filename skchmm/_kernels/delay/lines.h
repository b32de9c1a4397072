#ifndef SKCHMM_LINES_H
#define SKCHMM_LINES_H

#include <stdint.h>

#include "shared/blocks.h"

/* The core of a graph with delay lines; see graph/delays.py for what the words mean. Places
 * 0 .. 8 n_plain - 1 hold nodes that are no heads; line l has its head at place 8 n_plain + l. */
typedef struct {
    int64_t n_plain;         /* blocks of places */
    int64_t n_heads;         /* blocks of lines */
    int64_t n_places;        /* 8 (n_plain + n_heads) */
    int64_t n_lines;
    int aligned;             /* line l ends in place l, and no other one does */
    int64_t same;            /* the delay of all lines, or 0 */
    int64_t longest;         /* the largest delay */
    Blocks blocks;           /* edges between nodes of the core */
    Blocks back;             /* the same reversed */
    const int32_t *nodes;    /* of places; -1: filled up */
    const int32_t *states;
    const int32_t *place;    /* of nodes; -1: inside a line */
    const int32_t *first;    /* edges into place p: first[p] .. first[p + 1], by increasing source node */
    const int32_t *sources;  /* their places */
    const int32_t *edges;    /* their numbers in the graph */
    const int64_t *delay;    /* of lines */
    const int32_t *tail;     /* place of each */
    const int32_t *through;  /* an edge of the graph inside each */
    const int32_t *arriving; /* lines into place p: into[arriving[p]] .. */
    const int32_t *into;
    const int64_t *begin;    /* nodes of line l before its tail: inside[begin[l]] .. inside[begin[l + 1]] */
    const int32_t *inside;
    int open;                /* whether a path may end in all of these, at no cost, */
    int ends_alike;          /* and whether those of a line are all worth the same as ends */
    const int32_t *emit;     /* (blocks): where 8 emissions of a block begin in a row by state, or by place */
    int by_state;            /* which of the two */
} Core;

#endif
