/* What rows of log-likelihoods are divided by, for one instruction set: two_ended_steps.h and
 * scale_steps.h. */

/* Rows less their largest elements, which go to tops; a row of -inf alone stays what it is. */
TARGET INLINE void NAME(take_off_tops)(int64_t n, int64_t n_states, const double *rows,
                                       double *out, double *tops)
{
    for (int64_t t = 0; t < n; t++, rows += n_states, out += n_states) {
        W8 largest = HEAD(rows, n_states);
        for (int64_t k = 8; k < n_states; k += 8)
            largest = MAX(HEAD(rows + k, n_states - k), largest);
        double top = tops[t] = LARGEST(largest);
        W8 off = SPREAD(top > -INFINITY ? top : 0.0);
        for (int64_t k = 0; k < n_states; k += 8)
            STORE_HEAD(out + k, SUB(HEAD(rows + k, n_states - k), off), n_states - k);
    }
}
