/* e^x for x <= 0, for one instruction set; what is below e^-707 is 0.
 *
 *     e^x = 2^k e^r,   k whole,   |r| <= log(2) / 2
 *
 * with e^r by a polynomial of degree 11, of which even and odd powers do not wait for each other. It is
 * 1 + r + r^2 times an interpolation at Chebyshev nodes; its error is 2e-17. log(2) is taken off in two
 * parts, the first of which has so few digits that k times it is exact. 1.5 2^52 leaves of what is added
 * to it the nearest whole number, in the last bits. */
#define LOG2_FIRST 0.693145751953125
#define LOG2_REST 1.4286068203094172e-06
#define PER_LOG2 1.4426950408889634
TARGET INLINE W8 NAME(exp_within)(W8 x) /* for -707 <= x <= 0 */
{
    static const double even[] = {2.7620088445409746e-07, 2.4801521295954376e-05,
                                  0.0013888888917213717, 0.04166666666662413, 0.5000000000000001,
                                  1.0};
    static const double odd[] = {2.510038549551032e-08, 2.7557268459997064e-06,
                                 0.00019841269863053618, 0.008333333333330062,
                                 0.16666666666666669, 1.0};
    const W8 whole = SPREAD(1.5 * NUMBER);
    W8 last_bits = FMA(x, SPREAD(PER_LOG2), whole), k = SUB(last_bits, whole);
    W8 r = FMA(k, SPREAD(-LOG2_FIRST), x);
    r = FMA(k, SPREAD(-LOG2_REST), r);
    W8 square = MUL(r, r), p = SPREAD(even[0]), q = SPREAD(odd[0]);
    for (int i = 1; i < 6; i++) {
        p = FMA(p, square, SPREAD(even[i]));
        q = FMA(q, square, SPREAD(odd[i]));
    }
    return RAISE(FMA(q, r, p), last_bits);
}

TARGET INLINE W8 NAME(exp_of)(W8 x)
{
    const W8 least = SPREAD(-707.0);
    return PICK(x, least, NAME(exp_within)(MAX(x, least)), SPREAD(0.0));
}
