/* Rows of numbers: less the largest of each, and their sums; for one instruction set. */

/* One over the sums of 8 rows, one per lane. */
TARGET INLINE W8 NAME(one_over_sums)(W8 *x)
{
    TRANSPOSE(x);
    return DIV(SPREAD(1.0), ADD(ADD(ADD(x[0], x[4]), ADD(x[2], x[6])),
                                ADD(ADD(x[1], x[5]), ADD(x[3], x[7]))));
}

/* The largest number of each of 8 rows, one per lane. Without care, up to 8 numbers beyond a row are
 * read; where there are only n rows, the last stands for the others. */
TARGET INLINE W8 NAME(largest_of_rows)(const int care, const int64_t width, int64_t n,
                                       const double *rows)
{
    W8 top = SPREAD(-INFINITY);
    for (int64_t k = 0; k < width; k += 8) {
        W8 x[8];
        for (int64_t i = 0; i < 8; i++)
            x[i] = care ? HEAD(rows + (i < n ? i : n - 1) * width + k, width - k)
                        : LOAD(rows + i * width + k);
        TRANSPOSE(x);
        for (int64_t i = 0; i < 8 && i < width - k; i++)
            top = MAX(top, x[i]);
    }
    return top;
}

/* rows_less_tops, of at most 16 numbers; the width is a constant of the compiler, or not. First all
 * maxima, then all differences: 8 of either do not wait for the others. */
TARGET INLINE void NAME(narrow_rows_less_tops)(const int64_t width, int64_t n, const double *rows,
                                               double *out, double *tops)
{
    const W8 none = SPREAD(-INFINITY), zero = SPREAD(0.0);
    int32_t row_of[8 * 16];
    SPOTS spots[16];
    int64_t t = 0;
    for (int32_t i = 0; i < 8; i++)
        for (int64_t k = 0; k < width; k++)
            row_of[i * width + k] = i;
    for (int64_t k = 0; k < width; k++)
        spots[k] = SPOTS_AT(row_of + 8 * k);
    for (; width <= 8 && (n - t) * width >= 7 * width + 8; t += 8)
        STORE(tops + t, NAME(largest_of_rows)(0, width, 8, rows + t * width));
    for (; t < n; t += 8) {
        const int64_t some = n - t < 8 ? n - t : 8;
        STORE_HEAD(tops + t, NAME(largest_of_rows)(1, width, some, rows + t * width), some);
    }
    for (t = 0; t + 8 <= n; t += 8, rows += 8 * width, out += 8 * width) {
        const W8 found = LOAD(tops + t), top = PICK(found, none, found, zero);
        for (int64_t k = 0; k < width; k++)
            STORE(out + 8 * k, SUB(LOAD(rows + 8 * k), TAKEN(top, spots[k])));
    }
    if (t < n) {
        const W8 found = HEAD(tops + t, n - t), top = PICK(found, none, found, zero);
        for (int64_t k = 0, left = (n - t) * width; left > 0; k++, left -= 8)
            STORE_HEAD(out + 8 * k, SUB(HEAD(rows + 8 * k, left), TAKEN(top, spots[k])), left);
    }
}

/* n rows less their largest numbers, which go to tops; where all are -inf, they stay so. */
TARGET static void NAME(rows_less_tops)(int64_t n, int64_t width, const double *rows, double *out,
                                        double *tops)
{
#define NARROW(width) NAME(narrow_rows_less_tops)(width, n, rows, out, tops)
    switch (width) {
    case 2: NARROW(2); return;
    case 3: NARROW(3); return;
    case 4: NARROW(4); return;
    case 5: NARROW(5); return;
    case 6: NARROW(6); return;
    case 7: NARROW(7); return;
    case 8: NARROW(8); return;
    }
    if (width <= 16) {
        NARROW(width);
        return;
    }
#undef NARROW
    for (int64_t t = 0; t < n; t++, rows += width, out += width) {
        double top = -INFINITY;
        for (int64_t k = 0; k < width; k++)
            top = rows[k] > top ? rows[k] : top;
        tops[t] = top;
        top = top > -INFINITY ? top : 0.0;
        for (int64_t k = 0; k < width; k++)
            out[k] = rows[k] - top;
    }
}
