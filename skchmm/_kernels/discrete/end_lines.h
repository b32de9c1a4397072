/* Neighbours in a row, and lines below it, for one instruction set: two_ended_steps.h. */

/* Lines of D rows: weights of their edges, where they have a node, and where that is the last. */
typedef struct { W8 along[MOST_DEPTH], inside[MOST_DEPTH], last[MOST_DEPTH]; SPOTS from; } NAME(Lines);

/* What comes out of places: the last nodes of lines. The row, which is ready last, is asked last. */
TARGET INLINE W8 NAME(emerging)(const int D, W8 row, const W8 *below, const NAME(Lines) *lines)
{
    W8 out = below[D - 2];
    for (int d = D - 3; d >= 0; d--)
        out = PICK(lines->last[d], SPREAD(0.5), below[d], out);
    return PICK(lines->inside[0], SPREAD(0.5), out, row);
}

/* The lines of an end, and what is in them. */
TARGET INLINE void NAME(open_lines)(const int D, const End *end, NAME(Lines) *lines, W8 *below,
                                    W8 *past)
{
    lines->from = SPOTS_AT(end->from);
    for (int d = 0; d < D - 1; d++) {
        lines->along[d] = LOAD(end->along + 8 * d);
        lines->inside[d] = LOAD(end->inside + 8 * d);
        lines->last[d] = LOAD(end->last + 8 * d);
        below[d] = LOAD(end->below + 8 * d);
        past[d] = LOAD(end->past + 8 * d);
    }
}

/* What the neighbours of the places in vector v have, before them or, going back, after them. */
TARGET INLINE W8 NAME(beside)(const int V, const int side, const W8 *row, const int v, SPOTS from)
{
    if (V == 1)
        return TAKEN(row[0], from);
    if (side > 0)
        return UP(v > 0 ? row[v - 1] : SPREAD(0.0), row[v]);
    return DOWN(row[v], v + 1 < V ? row[v + 1] : SPREAD(0.0));
}
