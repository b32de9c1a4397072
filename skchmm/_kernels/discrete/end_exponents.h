/* Exponents of the places of an end, for one instruction set: two_ended_steps.h. */

/* The weights that the exponents make, and what follows from them. */
TARGET static void NAME(weigh)(const Shape *shape, End *end)
{
    const W8 none = SPREAD(0.0), low = SPREAD(-MOST_POWER), least = SPREAD(LEAST_WEIGHT);
    double exponents[MOST_PLACES + 2] = {0.0}; /* with a place before the first, and one after */
    double top = UNKNOWN, bottom = -UNKNOWN;
    for (int64_t m = 0; m < shape->width; m++) {
        double here = exponents[m + 1] = end->exponents[m];
        top = here > top ? here : top;
        bottom = here > UNKNOWN && here < bottom ? here : bottom;
        end->least[m] = INFINITY;
    }
    end->floor = top > bottom ? FLOOR_UNEVEN : FLOOR;
    for (int64_t k = 0; k < shape->n_terms; k++)
        for (int64_t m = 0; m < shape->width; m += 8) {
            const double *here = exponents + 1 + m;
            W8 from = !shape->band             ? SPREAD(exponents[1 + k])
                      : k == 0                 ? LOAD(here)
                      : k > 1                  ? SPREAD(exponents[1 + end->jump])
                      : shape->width > 8       ? LOAD(here - end->step)
                                               : TAKEN(LOAD(here), SPOTS_AT(end->from));
            W8 weight = LOAD(end->weights + k * shape->width + m);
            W8 power = POWER(MIN(MAX(SUB(from, LOAD(here)), low), none));
            STORE(end->scaled + k * shape->width + m,
                  MAX(MUL(weight, power), MIN(weight, least)));
        }
}

/* New exponents: that of the largest number at a place, in any row, or at one that leads to it. So none
 * grows along an edge that is smaller at its end, and sums do not overflow. `at` is the next step, where
 * the change is to be noted, or -1. */
TARGET static void NAME(rebalance)(const Shape *shape, End *end, int64_t at)
{
    const W8 none = SPREAD(0.0), unknown = SPREAD(UNKNOWN);
    const W8 low = SPREAD(-MOST_POWER), high = SPREAD(MOST_POWER);
    double sizes[MOST_PLACES];
    W8 total = none;
    int lost = 0, moved = 0;
    for (int64_t m = 0; m < shape->width; m += 8) {
        W8 x = LOAD(end->row + m);
        for (int64_t d = 0; d < shape->depth - 1; d++)
            x = MAX(x, LOAD(end->below + 8 * d));
        W8 size = ADD(LOAD(end->exponents + m), EXPONENT(x));
        STORE(sizes + m, PICK(x, none, size, unknown));
        lost |= ABOVE(SPREAD(end->floor), LOAD(end->least + m));
    }
    end->total = 0.0;
    if (lost)
        return;
    for (int64_t m = 0; m < shape->width; m += 8) {
        W8 old = LOAD(end->exponents + m), top = unknown;
        for (int64_t k = 0; k < shape->n_places; k++)
            top = MAX(top, ADD(SPREAD(sizes[k]), LOAD(end->reach + k * shape->width + m)));
        top = MAX(top, unknown); /* sums of two unknown ones */
        W8 factor = POWER(MIN(MAX(SUB(old, top), low), high)), row = MUL(LOAD(end->row + m), factor);
        moved |= ABOVE(old, top) | ABOVE(top, old);
        total = ADD(total, row);
        for (int64_t d = 0; d < shape->depth - 1; d++) {
            W8 below = MUL(LOAD(end->below + 8 * d), factor);
            total = ADD(total, below);
            STORE(end->below + 8 * d, below);
        }
        STORE(end->exponents + m, top);
        STORE(end->row + m, row);
    }
    end->total = TOTAL(total);
    if (moved && at >= 0) {
        if (end->n_changes == end->room) { /* there is one for every look */
            end->total = 0.0;
            return;
        }
        end->changes[end->n_changes].at = at;
        memcpy(end->changes[end->n_changes++].exponents, end->exponents, sizeof end->exponents);
    }
    if (moved)
        NAME(weigh)(shape, end);
    else
        for (int64_t m = 0; m < shape->width; m += 8)
            STORE(end->least + m, SPREAD(INFINITY));
}

/* What rows that were left by the other end are multiplied by, so that products of both are those of
 * the numbers they stand for but for one power of two. Nothing of what would be faint is left: products
 * that are hardly doubles any more take many times as long. */
TARGET INLINE void NAME(scales)(const int V, const int D, End *end, W8 *scale, W8 *past)
{
    const W8 faint = SPREAD(FAINT);
    W8 sum[2], top = SPREAD(2.0 * UNKNOWN);
    for (int v = 0; v < V; v++) {
        sum[v] = ADD(LOAD(end->exponents + 8 * v), LOAD(end->theirs + 8 * v));
        top = MAX(top, sum[v]);
    }
    double largest = LARGEST(top), change = fmin(fmax(end->top - largest, -MOST_POWER), MOST_POWER);
    for (int d = 0; d < D - 1; d++)
        past[d] = MUL(past[d], POWER(SPREAD(change)));
    end->top = largest;
    top = SPREAD(largest);
    for (int v = 0; v < V; v++)
        scale[v] = PICK(SUB(sum[v], top), faint, POWER(MAX(SUB(sum[v], top), faint)), SPREAD(0.0));
}
