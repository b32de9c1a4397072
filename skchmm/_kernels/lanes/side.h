#ifndef SKCHMM_SIDE_H
#define SKCHMM_SIDE_H

#include <stdint.h>

/* The edges of an epoch, for 8 sequences side by side, one per *lane*: a row holds 8 numbers per node,
 * so an edge is one operation for all of them and nothing is gathered or padded. By target, or by
 * source.
 *
 * `nodes` is read from front to back, as runs of nodes with equally many edges: alike, degree, n; then
 * n times a node, its state and the source (the target) of each edge. Alike is 1, or 4 for four nodes
 * in a row with the same others: the first node, the states of all, the others once. It ends with
 * n = 0. All but alike, degree and n are places in a row: 8 times a number. */
typedef struct {
    int64_t n_nodes;
    const int32_t *nodes;
    int64_t edge;          /* the first; the others follow in the order of `nodes` */
    const double *numbers; /* of each edge: NUMBER + source, which the last bits then are */
    const int32_t *states; /* of all nodes in increasing order, plain numbers */
} Side;

/* All nodes of a step. Where the number of edges is known to the compiler there is no inner loop,
 * whose end would be guessed wrongly at every other node of a sparse graph. FOUR nodes with the same
 * others are done at once; written out, so that what they work on stays in registers. */
#define ALL_NODES(ONE, FOUR)                                                          \
    do {                                                                              \
        const int32_t *at = g->nodes;                                                 \
        int64_t k = g->edge;                                                          \
        while (at[2] > 0) {                                                           \
            const int64_t alike = at[0], degree = at[1];                              \
            int64_t left = at[2];                                                     \
            at += 3;                                                                  \
            if (alike == 4) {                                                         \
                for (; left > 0; left--, at += 5 + degree, k += 4 * degree)           \
                    FOUR(degree);                                                     \
            } else                                                                    \
                switch (degree) {                                                     \
                case 1: EACH_NODE(ONE, 1); break;                                     \
                case 2: EACH_NODE(ONE, 2); break;                                     \
                case 3: EACH_NODE(ONE, 3); break;                                     \
                case 4: EACH_NODE(ONE, 4); break;                                     \
                default: EACH_NODE(ONE, degree);                                      \
                }                                                                     \
        }                                                                             \
    } while (0)
#define EACH_NODE(ONE, D)                                 \
    for (; left > 0; left--, at += 2 + (D), k += (D)) {   \
        ONE(D);                                           \
    }
#define NODE(i) (at[0] + 8 * (i))
#define STATE(i) at[1 + (i)]
#define OTHER(row, alike, j) LOAD((row) + at[1 + (alike) + (j)])

/* One node, or four, of a recursion that takes in edge by edge, as BEGIN, TAKE(a, edge), which knows
 * `from`, and FINISH(i, a) say. */
#define TAKE_ONE(D)                                     \
    do {                                                \
        W8 a = BEGIN;                                   \
        for (int64_t j = 0; j < (D); j++) {             \
            W8 from = OTHER(here, 1, j);                \
            TAKE(a, k + j);                             \
        }                                               \
        FINISH(0, a);                                   \
    } while (0)
#define TAKE_FOUR(D)                                    \
    do {                                                \
        W8 a = BEGIN, b = a, c = a, d = a;              \
        for (int64_t j = 0; j < (D); j++) {             \
            W8 from = OTHER(here, 4, j);                \
            TAKE(a, k + j);                             \
            TAKE(b, k + j + (D));                       \
            TAKE(c, k + j + 2 * (D));                   \
            TAKE(d, k + j + 3 * (D));                   \
        }                                               \
        FINISH(0, a);                                   \
        FINISH(1, b);                                   \
        FINISH(2, c);                                   \
        FINISH(3, d);                                   \
    } while (0)

/* The same edges of a *one-way* graph, in which no path comes back to a node but by its own loop. The
 * nodes are in an order in which the others of each come before it, so one node after the other can
 * take several steps: its number, its weights and the places of its others stay in registers.
 *
 * `nodes` is read from front to back: a node, its state, its own loop or -1, how many others it has and
 * how many of these come before it in a row, whether it is the first of its state; then the edge and the
 * place of each other. Nodes, states and edges are places: 8 times a number. */
typedef struct {
    int64_t n_nodes;
    const int32_t *nodes; /* NULL: the graph is not one-way */
} OneWay;

/* All nodes, each by NODE_OF(D), which knows `at`; D, the number of its others, is -1 where it is no
 * constant of the compiler. */
#define ONE_WAY_NODES(NODE_OF)                                      \
    do {                                                            \
        const int32_t *at = g->nodes;                               \
        for (int64_t m = 0; m < g->n_nodes; m++) {                  \
            switch (at[3]) {                                        \
            case 0: NODE_OF(0); break;                              \
            case 1: NODE_OF(1); break;                              \
            case 2: NODE_OF(2); break;                              \
            case 3: NODE_OF(3); break;                              \
            default: NODE_OF(-1);                                   \
            }                                                       \
            at += 6 + 2 * at[3];                                    \
        }                                                           \
    } while (0)
#define OTHER_EDGE(j) at[6 + 2 * (j)]
#define OTHER_PLACE(j) at[7 + 2 * (j)]

#endif
