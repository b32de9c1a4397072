/* e^x, for one instruction set. */

/* 2^k e^r with k whole and |r| <= log(2) / 2, and e^r by its series: the error of the last term is
 * below 1e-17. For x <= 0; what is below 1e-307 is 0. log(2) is taken off in two parts, the first of
 * which has so few digits that k times it is exact. */
#define LOG2_FIRST 0.693145751953125
#define LOG2_REST 1.4286068203094172e-06
#define PER_LOG2 1.4426950408889634
TARGET INLINE W8 NAME(exp_of)(W8 x)
{
    static const double c[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                               1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                               1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    W8 least = SPREAD(-707.0), kept = MAX(x, least);
    W8 k = ROUND(MUL(kept, SPREAD(PER_LOG2)));
    W8 r = FMA(k, SPREAD(-LOG2_FIRST), kept);
    r = FMA(k, SPREAD(-LOG2_REST), r);
    W8 p = SPREAD(c[0]);
    for (int i = 1; i < 14; i++)
        p = FMA(p, r, SPREAD(c[i]));
    return PICK(x, least, MUL(p, POWER(k)), SPREAD(0.0));
}
