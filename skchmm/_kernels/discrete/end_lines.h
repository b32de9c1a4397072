/* Neighbours in a row, and lines below it, for one instruction set: two_ended_steps.h. */

/* Lines of D rows: masks of where they have a node, and of where that is the last. */
typedef struct { W8 inside[MOST_DEPTH], last[MOST_DEPTH]; } NAME(Lines);

/* What comes out of places: the last nodes of lines. The row, which is ready last, is asked last. */
TARGET INLINE W8 NAME(emerging)(const int D, W8 row, const W8 *below, const NAME(Lines) *lines)
{
    W8 out = below[D - 2];
    for (int d = D - 3; d >= 0; d--)
        out = SELECT(lines->last[d], below[d], out);
    return SELECT(lines->inside[0], out, row);
}

/* What an end has in lines. */
TARGET INLINE void NAME(open_lines)(const int D, const End *end, W8 *below, W8 *past)
{
    for (int d = 0; d < D - 1; d++) {
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
