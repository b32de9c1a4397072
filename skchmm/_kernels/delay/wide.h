/* Vectors of 8 numbers x 2^e, for one instruction set; see delay/sum_steps.h. */
typedef struct { W8 x, e; } NAME(Wide);
#define WIDE NAME(Wide)

TARGET INLINE WIDE NAME(wide)(const double *x, const double *e)
{ WIDE r = {LOAD(x), LOAD(e)}; return r; }
TARGET INLINE void NAME(put)(double *x, double *e, WIDE v)
{ STORE(x, v.x); STORE(e, v.e); }
TARGET INLINE WIDE NAME(nothing)(void)
{ WIDE r = {SPREAD(0.0), SPREAD(NOTHING)}; return r; }

/* The same number with 1 <= x < 2. */
TARGET INLINE WIDE NAME(normal)(W8 x, W8 e)
{
    const W8 zero = SPREAD(0.0);
    W8 size = EXPONENT(MAX(x, SPREAD(1e-300)));
    WIDE r = {MUL(x, POWER(SUB(zero, size))), PICK(x, zero, ADD(e, size), SPREAD(NOTHING))};
    return r;
}
TARGET INLINE WIDE NAME(times)(WIDE a, WIDE b)
{ return NAME(normal)(MUL(a.x, b.x), ADD(a.e, b.e)); }
TARGET INLINE WIDE NAME(divided)(WIDE a, WIDE b)
{ return NAME(normal)(DIV(a.x, b.x), SUB(a.e, b.e)); }
TARGET INLINE W8 NAME(shifted)(W8 x, W8 by)
{
    const W8 least = SPREAD(NEGLIGIBLE);
    return MUL(x, PICK(by, least, POWER(MAX(by, least)), SPREAD(0.0)));
}

/* The sum of numbers that are both something or nothing. */
TARGET INLINE WIDE NAME(sum_of)(WIDE a, WIDE b)
{
    W8 e = MAX(a.e, b.e);
    WIDE r = {ADD(LOWER(a.x, SUB(a.e, e)), LOWER(b.x, SUB(b.e, e))), e};
    return r;
}

/* With 1 <= x < 2, or 0 and an exponent that is about as it was. */
TARGET INLINE WIDE NAME(brought_back)(W8 x, W8 e)
{
    W8 size = EXPONENT(MAX(x, SPREAD(1e-300)));
    WIDE r = {LOWER(x, SUB(SPREAD(0.0), size)), ADD(e, size)};
    return r;
}
