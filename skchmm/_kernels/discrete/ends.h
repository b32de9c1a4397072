/* The two ends of a sweep, as two_ended_steps.h and ends.pxd know them. */
#ifndef SKCHMM_ENDS_H
#define SKCHMM_ENDS_H

#include <stdint.h>

#define MOST_PLACES 16
#define MOST_DEPTH 4
#define BELOW (8 * (MOST_DEPTH - 1)) /* numbers in the rows below the first */
#define UNKNOWN (-1e30) /* the exponent of nothing */

/* How the nodes of a graph lie in a row, and which edges a term of the sums is:
 *
 *     full: term k is place k, to all places
 *     band: a place to itself; the one place that leads to it (going back, that it leads to); and one
 *           edge besides, if there is one, as the place that it comes from, to all places.
 *
 * In a band of 8 places each of them may be a *line*: up to MOST_DEPTH nodes that a path passes one
 * after the other. Its first node is in the row, the others are below it, in rows of their own. A path
 * that enters a line passes all of it, so an edge that leads there has the weights of those within it
 * as well, and these are 1. */
typedef struct {
    int64_t n_places;
    int64_t width; /* of a row: 8 or 16 places */
    int64_t n_terms;
    int64_t depth; /* rows */
    int band;
    const double *inside; /* (depth - 1, 8): all bits, where a line has a node in that row, */
    const double *last;   /* (depth - 1, 8): and where that is its last */
} Shape;

/* From a step on, rows have these exponents. */
typedef struct {
    int64_t at;
    double exponents[MOST_PLACES];
} Change;

/* One direction: row = emission * sums, sums = row before it times the weights. The number that a
 * place stands for is row 2^exponent. */
typedef struct {
    const double *weights; /* (n_terms, width) */
    double *scaled;        /* the same times 2^(exponent of the source - that of the target) */
    const double *reach;   /* (width, width): 0 where a path leads from place k to m, or UNKNOWN */
    int64_t jump;          /* the source of the third term of a band */
    const int32_t *from;   /* of each of 8 places, the one that leads to it */
    const double *table;   /* emissions; a row is read to its width, though it may have less */
    int64_t stride;        /* of the table */
    const int32_t *rows;   /* of the table: for this step, and on from there or back */
    double *left;          /* rows that are left for the other end, or were by it: of this step */
    int64_t left_stride;
    double *out;           /* where marginals of this step go */
    int64_t out_stride;
    int64_t n_out;         /* places of it */
    int64_t step;          /* 1 ahead, -1 back, 0 idle */
    int64_t at;            /* the next step of the data */
    double row[MOST_PLACES];
    double below[BELOW];
    double past[BELOW];    /* what entered lines one step ago, two steps ago ..., times 2^-top */
    double top;
    double exponents[MOST_PLACES];
    double theirs[MOST_PLACES]; /* the exponents of what the other end has left */
    double least[MOST_PLACES];  /* of the positive sums, since the exponents are as they are */
    double floor;               /* that these must not be below */
    double most;                /* of the factors that made marginals sum to 1 */
    double total;               /* of the last row that was looked at */
    Change *changes;            /* of the rows that were left */
    int64_t n_changes, room;    /* for so many */
    double counts[MOST_PLACES * MOST_PLACES]; /* (n_terms, width) */
} End;

/* Where an end finds and puts the rows of its next steps. Of the end itself a compiler has to look these up
 * at each step, since what was stored might have been one of them. */
typedef struct {
    const double *table;
    const int32_t *rows;
    const double *scaled;
    double *left, *out;
    int64_t stride, left_stride, out_stride, n_out, jump;
} Rows;

static inline Rows rows_of(const End *end)
{
    Rows rows = {end->table, end->rows, end->scaled, end->left, end->out, end->stride,
                 end->left_stride, end->out_stride, end->n_out, end->jump};
    return rows;
}

/* Those `n` steps on, ahead (1) or back (-1). */
static inline void go_along(Rows *rows, int side, int64_t n)
{
    rows->rows += side * n;
    rows->left += side * n * rows->left_stride;
    rows->out += side * n * rows->out_stride;
}

/* WALK: rows are computed; LEAVE: and left for the other end; FINISH: what it has left becomes the
 * marginals; COUNT: and transitions are counted. */
enum { WALK, LEAVE, FINISH, COUNT };

/* Rows are looked at once in so many steps: one that has drifted gets new exponents. */
#define LOOK 16
#define BATCH 64 /* the most steps of a run */
#define SOUND(total) ((total) >= 1e-200 && (total) <= 1e100)
#define DRIFTED(total) (!((total) > 1e-30 && (total) < 1e30))
#define LOW 1e-60
/* Where exponents differ, weights are raised to the least, so that what should be positive is; that
 * is negligible in sums above the floor. */
#define LEAST_WEIGHT 1e-165
#define FLOOR 1e-200
#define FLOOR_UNEVEN 1e-140
#define MOST_POWER 1000.0
#define FAINT (-600.0) /* the power of two, of a marginal, below which it is 0 */

#endif
