/* e^x for x <= 0, for one instruction set; what is below e^-707 is 0.
 *
 *     e^x = 2^k e^r,   k whole,   |r| <= log(2) / 2
 *
 * with e^r by its series, whose error is below 1e-17. log(2) is taken off in two parts, the first of
 * which has so few digits that k times it is exact. 1.5 2^52 leaves of what is added to it the nearest
 * whole number, in the last bits. */
#define LOG2_FIRST 0.693145751953125
#define LOG2_REST 1.4286068203094172e-06
#define PER_LOG2 1.4426950408889634
TARGET INLINE W8 NAME(exp_within)(W8 x) /* for -707 <= x <= 0 */
{
    static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                               1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    const W8 whole = SPREAD(1.5 * NUMBER);
    W8 last_bits = FMA(x, SPREAD(PER_LOG2), whole), k = SUB(last_bits, whole);
    W8 r = FMA(k, SPREAD(-LOG2_FIRST), x);
    r = FMA(k, SPREAD(-LOG2_REST), r);
    W8 p = SPREAD(c[0]);
    for (int i = 1; i < 14; i++)
        p = FMA(p, r, SPREAD(c[i]));
    return RAISE(p, last_bits);
}

TARGET INLINE W8 NAME(exp_of)(W8 x)
{
    const W8 least = SPREAD(-707.0);
    return PICK(x, least, NAME(exp_within)(MAX(x, least)), SPREAD(0.0));
}
