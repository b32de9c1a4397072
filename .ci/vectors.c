/* Every operation of simd/vector.h, of one instruction set (-DOTHER=neon, avx2 ...) against plain C.
 *
 *     cc -O2 -DOTHER=avx2 -I skchmm/_kernels .ci/vectors.c -lm && ./a.out
 *
 * Results must have the same bits, except where one of them fuses a product and a sum, and for LEAST
 * and INVERSE, whose last bit is nobody's concern. */
#include <stdio.h>
#include <stdlib.h>

#include "simd/vector.h"

#ifndef OTHER
#error "name an instruction set, such as -DOTHER=neon"
#endif
#define OF(f) JOIN(f, OTHER)
#if defined(SKCHMM_X86)
#define TARGET_OF_avx2 TARGET_AVX2
#define TARGET_OF_avx512 TARGET_AVX512
#define ATTRIBUTES JOIN(TARGET_OF, OTHER)
#else
#define ATTRIBUTES
#endif

static int failures = 0;

static double drawn(void)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 2.0, 1e300, -1e300, 1e-300, 3.0};
    int k = rand() % 24;
    if (k < 9)
        return special[k];
    if (k == 9)
        return -INFINITY;
    return ldexp(rand() / (double)RAND_MAX - 0.5, rand() % 60 - 30);
}

static void same(const char *name, const void *x, const void *y, size_t n)
{
    if (memcmp(x, y, n) != 0 && failures++ < 20)
        printf("%s differs\n", name);
}

static void near(const char *name, const double *x, const double *y)
{
    for (int i = 0; i < 8; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-12 * (fabs(x[i]) + fabs(y[i]))) && failures++ < 20)
            printf("%s differs: %.17g %.17g\n", name, x[i], y[i]);
}

/* Both results of an expression of vectors a, b, c and d, which V(f) names operations of. */
#define VECTORS(isa, expression)                                                          \
    {                                                                                     \
        Vector_##isa a = load_##isa(x), b = load_##isa(y), c = load_##isa(z), d = load_##isa(w); \
        (void)a, (void)b, (void)c, (void)d;                                               \
        expression;                                                                       \
    }
#define BOTH(name, of)                                                                    \
    do {                                                                                  \
        double p[8], q[8];                                                                \
        OF_PLAIN(p, of)                                                                   \
        OF_OTHER(q, of)                                                                   \
        same(name, p, q, sizeof p);                                                       \
    } while (0)
#define OF_PLAIN(out, of) VECTORS(plain, store_plain(out, of(plain)))
#define OF_OTHER(out, of) VECTORS_OTHER(OTHER, out, of)
#define VECTORS_OTHER(isa, out, of) VECTORS_NAMED(isa, out, of)
#define VECTORS_NAMED(isa, out, of) VECTORS(isa, store_##isa(out, of(isa)))
#define NUMBERS(name, of)                                                                 \
    do {                                                                                  \
        double p = 0, q = 0;                                                              \
        VECTORS(plain, p = of(plain))                                                     \
        NUMBER_OF(OTHER, q, of)                                                           \
        if (p != q && failures++ < 20) /* zeros of both signs are the same */             \
            printf("%s differs: %.17g %.17g\n", name, p, q);                              \
    } while (0)
#define NUMBER_OF(isa, out, of) NUMBER_NAMED(isa, out, of)
#define NUMBER_NAMED(isa, out, of) VECTORS(isa, out = of(isa))

#define ADD_OF(isa) add_##isa(a, b)
#define SUB_OF(isa) sub_##isa(a, b)
#define MUL_OF(isa) mul_##isa(a, b)
#define DIV_OF(isa) div_##isa(a, b)
#define MAX_OF(isa) max_##isa(a, b)
#define MIN_OF(isa) min_##isa(a, b)
#define PICK_OF(isa) pick_##isa(a, b, c, d)
#define ROUND_OF(isa) round_##isa(load_##isa(small))
#define POWER_OF(isa) power_##isa(load_##isa(whole))
#define RAISE_OF(isa) raise_##isa(load_##isa(positive), load_##isa(last_bits))
#define EXPONENT_OF(isa) exponent_##isa(load_##isa(positive))
#define LEAST_OF(isa) least_##isa(load_##isa(sums), load_##isa(positive))
#define HEAD_OF(isa) head_##isa(x, n)
#define SOME_OF(isa) some_##isa(x, n)
#define GATHER_OF(isa) gather_##isa(x, at, n)
#define LANE_0(isa) lane_##isa(a, 0)
#define LANE_3(isa) lane_##isa(a, 3)
#define LANE_6(isa) lane_##isa(a, 6)
#define UP_OF(isa) up_##isa(a, b)
#define DOWN_OF(isa) down_##isa(a, b)
#define TAKEN_OF(isa) taken_##isa(a, spots_at_##isa(at))
#define INVERSE_OF(isa) inverse_##isa(load_##isa(fractions))
#define FMA_OF(isa) fma_##isa(load_##isa(small), load_##isa(small + 1), load_##isa(small))
#define ABOVE_OF(isa) above_##isa(a, b)
#define EQUAL_OF(isa) equal_##isa(a, y[0])
#define BETWEEN_OF(isa) (between_##isa(load_##isa(sums), 0.0, y[0]) != 0)
#define TIES_OF(isa) lane_bits_##isa(or_equal_##isa(no_lanes_##isa(), a, b))
#define TOTAL_OF(isa) total_##isa(load_##isa(positive))
#define LARGEST_OF(isa) largest_##isa(a)

#define STORED(isa)                                                                       \
    {                                                                                     \
        Vector_##isa v[8];                                                                \
        for (int i = 0; i < 8; i++)                                                       \
            v[i] = load_##isa(square + 8 * i);                                            \
        store_head_##isa(r->head, v[0], n);                                               \
        bytes_##isa(r->bytes, load_##isa(counts));                                        \
        number_bytes_##isa(r->numbers, load_##isa(last_bits));                            \
        transpose_##isa(v);                                                               \
        for (int i = 0; i < 8; i++)                                                       \
            store_##isa(r->turned + 8 * i, v[i]);                                         \
    }
typedef struct { double head[8], turned[64]; uint8_t bytes[8], numbers[8]; } Stored;
#define STORED_OF(isa) STORED(isa)

ATTRIBUTES static void round_of_checks(void)
{
    double x[8], y[8], z[8], w[8], small[9], whole[8], positive[8], last_bits[8], sums[8], counts[8];
    double fractions[8];
    double square[64];
    int32_t at[8];
    int64_t n = rand() % 10;
    Stored results[2], *r;
    memset(results, 0, sizeof results);
    for (int i = 0; i < 8; i++) {
        x[i] = drawn();
        y[i] = rand() % 3 ? drawn() : x[i];
        z[i] = drawn();
        w[i] = drawn();
        whole[i] = rand() % 2001 - 1000;
        counts[i] = rand() % 256;
        positive[i] = ldexp(1.0 + rand() / (double)RAND_MAX, rand() % 400 - 200);
        sums[i] = rand() % 3 ? positive[i] * (rand() / (double)RAND_MAX) : 0.0;
        last_bits[i] = NUMBER + rand() % 256;
        fractions[i] = 1.0 + rand() / (RAND_MAX + 1.0);
        at[i] = rand() % 8;
    }
    for (int i = 0; i < 9; i++)
        small[i] = 100.0 * rand() / (double)RAND_MAX;
    for (int i = 0; i < 64; i++)
        square[i] = drawn();
    BOTH("add", ADD_OF);
    BOTH("sub", SUB_OF);
    BOTH("mul", MUL_OF);
    BOTH("div", DIV_OF);
    BOTH("max", MAX_OF);
    BOTH("min", MIN_OF);
    BOTH("pick", PICK_OF);
    BOTH("round", ROUND_OF);
    BOTH("power", POWER_OF);
    BOTH("raise", RAISE_OF);
    BOTH("exponent", EXPONENT_OF);
    BOTH("head", HEAD_OF);
    BOTH("some", SOME_OF);
    BOTH("gather", GATHER_OF);
    BOTH("lane 0", LANE_0);
    BOTH("lane 3", LANE_3);
    BOTH("lane 6", LANE_6);
    BOTH("up", UP_OF);
    BOTH("down", DOWN_OF);
    BOTH("taken", TAKEN_OF);
    NUMBERS("above", ABOVE_OF);
    NUMBERS("equal", EQUAL_OF);
    NUMBERS("between", BETWEEN_OF);
    NUMBERS("or_equal", TIES_OF);
    NUMBERS("total", TOTAL_OF);
    NUMBERS("largest", LARGEST_OF);
    double first[8], second[8];
    OF_PLAIN(first, FMA_OF)
    OF_OTHER(second, FMA_OF)
    near("fma", first, second);
    OF_PLAIN(first, LEAST_OF)
    OF_OTHER(second, LEAST_OF)
    near("least", first, second);
    OF_PLAIN(first, INVERSE_OF)
    OF_OTHER(second, INVERSE_OF)
    near("inverse", first, second);
    r = results;
    STORED(plain)
    r = results + 1;
    STORED_OF(OTHER)
    same("stores", results, results + 1, sizeof(Stored));
}

#define NAME_OF(isa) NAMED(isa)
#define NAMED(isa) #isa
int main(void)
{
    srand(1);
    for (int i = 0; i < 20000; i++)
        round_of_checks();
    printf("%s against plain C: %s\n", NAME_OF(OTHER), failures ? "FAILED" : "all the same");
    return failures != 0;
}
