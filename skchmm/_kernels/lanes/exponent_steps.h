/* What changes the exponents of lanes/exponents.pyx, for 8 sequences. */
#ifndef ISA

#include "simd/vector.h"

/* Exponents of two that differ by less are together; larger ones than POWER are not taken to. */
#define LANES_TOGETHER 66
#define LANES_POWER 1000.0
/* New exponents make numbers of about 2^this: most of them go down from there. */
#define LANES_CENTRE 448.0
/* A weight that is larger makes a sum that is out of bounds. */
#define LANES_MOST 1e300

#define STEPS "lanes/exponent_steps.h"
#include "simd/each.h"

#define lanes_weigh(...) DISPATCH(lanes_weigh)(__VA_ARGS__)
#define lanes_balance(...) DISPATCH(lanes_balance)(__VA_ARGS__)
#define lanes_reach(...) DISPATCH(lanes_reach)(__VA_ARGS__)
#define lanes_move(...) DISPATCH(lanes_move)(__VA_ARGS__)
#define lanes_undo(...) DISPATCH(lanes_undo)(__VA_ARGS__)

#else

/* Weights (edges, 8) = base 2^(exponent of the source - that of the target), and 0 in lanes that are
 * not live. Smaller ones than `least` are raised to it, or else dropped. */
TARGET static void NAME(lanes_weigh)(int64_t n, const int32_t *source, const int32_t *target,
                                     const double *base, const double *before,
                                     const double *after, double least, int raise,
                                     const double *live, double *out)
{
    const W8 high = SPREAD(LANES_POWER), low = SPREAD(-LANES_POWER), lanes = LOAD(live);
    for (int64_t k = 0; k < n; k++) {
        W8 d = SUB(LOAD(before + source[k]), LOAD(after + target[k]));
        W8 w = MUL(SPREAD(base[k]), POWER(MIN(MAX(d, low), high)));
        W8 floor = MIN(SPREAD(base[k]), SPREAD(least));
        w = raise ? MIN(MAX(w, floor), SPREAD(LANES_MOST)) : PICK(w, floor, w, SPREAD(0.0));
        STORE(out + 8 * k, MUL(w, lanes));
    }
}

/* New exponents for the chosen lanes, so that the numbers of a row are about 2^CENTRE; shift is what
 * was added to them. One for all nodes of a lane while they are together, or `close`; the lanes where they are
 * not are returned. A node without a number gets the largest that may come to it. */
TARGET static int NAME(lanes_balance)(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                                      const int32_t *target, const double *chosen,
                                      const double *close, double *row, double *exponents,
                                      double *shift)
{
    const W8 zero = SPREAD(0.0), one = SPREAD(1.0), half = SPREAD(0.5), unknown = SPREAD(-1e30);
    const W8 known = SPREAD(-1e29), most = SPREAD(LANES_POWER), least = SPREAD(-LANES_POWER);
    W8 top = unknown, bottom = SPREAD(1e30), smallest = one;
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 x = LOAD(row + 8 * m), size = ADD(LOAD(exponents + 8 * m), EXPONENT(x));
        smallest = MIN(smallest, x);
        bottom = MIN(bottom, PICK(x, zero, size, bottom));
        size = PICK(x, zero, size, unknown);
        top = MAX(top, size);
        STORE(shift + 8 * m, size);
    }
    W8 doing = PICK(top, known, LOAD(chosen), zero);
    W8 apart = PICK(SUB(top, bottom), SPREAD(LANES_TOGETHER), one, zero);
    apart = PICK(LOAD(close), half, zero, PICK(doing, half, apart, zero));
    int uneven = ABOVE(apart, half);
    int changed = uneven & ~ABOVE(smallest, zero);
    for (int64_t i = 0; i < n_nodes && changed; i++) {
        changed = 0;
        for (int64_t k = 0; k < n_edges; k++) {
            W8 size = LOAD(shift + target[k]), from = LOAD(shift + source[k]);
            W8 grown = PICK(LOAD(row + target[k]), zero, size, MAX(size, from));
            changed |= ABOVE(grown, size);
            STORE(shift + target[k], grown);
        }
    }
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 size = LOAD(shift + 8 * m), old = LOAD(exponents + 8 * m);
        size = PICK(apart, half, PICK(size, known, size, top), top);
        W8 change = PICK(doing, half, SUB(SUB(size, SPREAD(LANES_CENTRE)), old), zero);
        STORE(shift + 8 * m, change);
        STORE(exponents + 8 * m, ADD(old, change));
        W8 factor = POWER(MIN(MAX(SUB(zero, change), least), most));
        STORE(row + 8 * m, MUL(LOAD(row + 8 * m), factor));
    }
    return uneven;
}

/* Exponents for the sums of the next step: for each target, that of its largest source. sizes: room for
 * those of all nodes. */
TARGET static void NAME(lanes_reach)(int64_t n_nodes, int64_t n_edges, const int32_t *source,
                                     const int32_t *target, const double *row,
                                     const double *exponents, double *sizes, double *out)
{
    const W8 zero = SPREAD(0.0), unknown = SPREAD(-1e30), known = SPREAD(-1e29);
    W8 top = unknown;
    for (int64_t m = 0; m < 8 * n_nodes; m += 8) {
        W8 x = LOAD(row + m), size = ADD(LOAD(exponents + m), EXPONENT(x));
        size = PICK(x, zero, size, unknown);
        STORE(sizes + m, size);
        STORE(out + m, unknown);
        top = MAX(top, size);
    }
    for (int64_t k = 0; k < n_edges;) { /* edges to one target follow each other, unless by source */
        const int64_t to = target[k];
        W8 reached = LOAD(out + to);
        for (; k < n_edges && target[k] == to; k++)
            reached = MAX(reached, LOAD(sizes + source[k]));
        STORE(out + to, reached);
    }
    top = PICK(top, known, top, zero);
    for (int64_t m = 0; m < 8 * n_nodes; m += 8) {
        W8 size = PICK(LOAD(out + m), known, LOAD(out + m), top);
        STORE(out + m, SUB(size, SPREAD(LANES_CENTRE)));
    }
}

/* exponents = reached + scales of the emissions, if there are; shift is what was added. */
TARGET static void NAME(lanes_move)(int64_t n_nodes, const int32_t *states, const double *reached,
                                    const double *scales, double *exponents, double *shift)
{
    for (int64_t m = 0; m < n_nodes; m++) {
        W8 size = LOAD(reached + 8 * m);
        if (scales)
            size = ADD(size, LOAD(scales + 8 * states[m]));
        STORE(shift + 8 * m, SUB(size, LOAD(exponents + 8 * m)));
        STORE(exponents + 8 * m, size);
    }
}

/* Take such a change back. */
TARGET static void NAME(lanes_undo)(int64_t n_nodes, const double *shift, double *alpha,
                                    double *beta, double *exponents)
{
    const W8 zero = SPREAD(0.0), most = SPREAD(LANES_POWER), least = SPREAD(-LANES_POWER);
    for (int64_t m = 0; m < 8 * n_nodes; m += 8) {
        W8 change = LOAD(shift + m), bounded = MIN(MAX(change, least), most);
        STORE(exponents + m, SUB(LOAD(exponents + m), change));
        STORE(alpha + m, MUL(LOAD(alpha + m), POWER(bounded)));
        STORE(beta + m, MUL(LOAD(beta + m), POWER(SUB(zero, bounded))));
    }
}

#endif
