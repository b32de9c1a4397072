/* Steps of max-plus and sum-product recursions on a sparse graph, 8 targets at a time.
 *
 * Written with intrinsics for AVX-512 and AVX2 and in plain C for everything else; which one runs
 * is chosen once, at import, by what the processor has. Additions of a source and a weight are
 * the same in all of them, so best paths do not depend on the processor.
 */
#ifndef SKCHMM_BLOCKS_H
#define SKCHMM_BLOCKS_H

#include <math.h>
#include <stdint.h>

typedef struct {
    int64_t n_blocks;
    const int32_t *start;   /* entries of block i: start[i] .. start[i + 1] */
    const int32_t *shifted; /* from this entry on, lanes take neighbouring sources */
    const int32_t *source;
} Blocks;

/* What all steps of a backward pass share. */
typedef struct {
    Blocks ahead, back;
    const double *back_weights;
    int64_t n_nodes, n_states;
    const int32_t *node_states; /* NULL: node m is state m */
    double floor;
    double *v;      /* one row */
    double *counts; /* by entry of the blocks ahead, or NULL */
} Backward;

/* The edges of an epoch, for 8 sequences side by side; by target, or by source. `nodes` is read from
 * front to back, as runs of nodes with equally many edges: alike, degree, n; then n times a node, its
 * state and the source (the target) of each edge. Alike is 1, or 4 for four nodes in a row with the
 * same others: the first node, the states of all, the others once. It ends with n = 0. All but alike,
 * degree and n are places in a row: 8 times a number. */
typedef struct {
    int64_t n_nodes;
    const int32_t *nodes;
    int64_t edge;          /* the first; the others follow in the order of `nodes` */
    const double *numbers; /* of each edge: LANES_NUMBER + source, which the last bits then are */
    const int32_t *states; /* of all nodes in increasing order, plain numbers */
} Side;

#define LANES_NUMBER 4503599627370496.0 /* 2^52 */
/* Sums of 8 sequences are kept within these bounds. */
#define LANES_LOW 1e-30
#define LANES_HIGH 1e20
/* Exponents of two that differ by less are together; larger ones than POWER are not taken to. */
#define LANES_TOGETHER 66
#define LANES_POWER 1000.0
/* A weight that is larger makes a sum that is out of bounds. */
#define LANES_MOST 1e300
/* Steps of which expected counts are added up before they go to memory. */
#define LANES_STEPS 8

/* ------------------------------------------------------------------ plain C */
typedef struct { double x[8]; } Eight;

static inline Eight eight_spread(double a)
{ Eight r; for (int i = 0; i < 8; i++) r.x[i] = a; return r; }
static inline Eight eight_load(const double *p)
{ Eight r; for (int i = 0; i < 8; i++) r.x[i] = p[i]; return r; }
static inline void eight_store(double *p, Eight a)
{ for (int i = 0; i < 8; i++) p[i] = a.x[i]; }
static inline Eight eight_add(Eight a, Eight b)
{ for (int i = 0; i < 8; i++) a.x[i] += b.x[i]; return a; }
static inline Eight eight_mul(Eight a, Eight b)
{ for (int i = 0; i < 8; i++) a.x[i] *= b.x[i]; return a; }
static inline Eight eight_max(Eight a, Eight b)
{ for (int i = 0; i < 8; i++) a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i]; return a; }
static inline Eight eight_fma(Eight a, Eight b, Eight c)
{ for (int i = 0; i < 8; i++) c.x[i] += a.x[i] * b.x[i]; return c; }
static inline int eight_between(Eight a, double low, double high)
{ int r = 0; for (int i = 0; i < 8; i++) r |= (a.x[i] > low) & (a.x[i] < high); return r; }
static inline double eight_total(Eight a)
{
    return ((a.x[0] + a.x[4]) + (a.x[2] + a.x[6])) + ((a.x[1] + a.x[5]) + (a.x[3] + a.x[7]));
}
static inline double eight_largest(Eight a)
{ double r = a.x[0]; for (int i = 1; i < 8; i++) r = a.x[i] > r ? a.x[i] : r; return r; }

/* p[0], p[1], ... p[left - 1], then -inf */
static inline Eight eight_head(const double *p, int64_t left)
{ Eight r; for (int i = 0; i < 8; i++) r.x[i] = i < left ? p[i] : -INFINITY; return r; }
static inline Eight eight_gather(const double *p, const int32_t *at, int64_t left)
{ Eight r; for (int i = 0; i < 8; i++) r.x[i] = i < left ? p[at[i]] : -INFINITY; return r; }
static inline int eight_equal(Eight a, double x)
{ int r = 0; for (int i = 0; i < 8; i++) r |= (a.x[i] == x) << i; return r; }

/* lanes of a where x > y, else of b */
static inline Eight eight_pick(Eight x, Eight y, Eight a, Eight b)
{ for (int i = 0; i < 8; i++) b.x[i] = x.x[i] > y.x[i] ? a.x[i] : b.x[i]; return b; }
static inline void eight_store_head(double *p, Eight a, int64_t left)
{ for (int i = 0; i < 8 && i < left; i++) p[i] = a.x[i]; }
static inline void eight_bytes(uint8_t *p, Eight a)
{ for (int i = 0; i < 8; i++) p[i] = (uint8_t)a.x[i]; }

static inline Eight eight_sub(Eight a, Eight b)
{ for (int i = 0; i < 8; i++) a.x[i] -= b.x[i]; return a; }
static inline void eight_number_bytes(uint8_t *p, Eight a)
{ eight_bytes(p, eight_sub(a, eight_spread(LANES_NUMBER))); }
static inline Eight eight_min(Eight a, Eight b)
{ for (int i = 0; i < 8; i++) a.x[i] = a.x[i] < b.x[i] ? a.x[i] : b.x[i]; return a; }
static inline Eight eight_round(Eight a)
{ for (int i = 0; i < 8; i++) a.x[i] = rint(a.x[i]); return a; }
static inline Eight eight_power(Eight k)
{ for (int i = 0; i < 8; i++) k.x[i] = ldexp(1.0, (int)k.x[i]); return k; }
static inline Eight eight_exponent(Eight x)
{ for (int i = 0; i < 8; i++) x.x[i] = x.x[i] > 0.0 ? (double)ilogb(x.x[i]) : 0.0; return x; }
static inline int eight_above(Eight a, Eight b)
{ int r = 0; for (int i = 0; i < 8; i++) r |= (a.x[i] > b.x[i]) << i; return r; }
static inline void eight_transpose(Eight *x)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) {
            double swap = x[i].x[j];
            x[i].x[j] = x[j].x[i];
            x[j].x[i] = swap;
        }
}

#define TARGET
#define EXPONENT eight_exponent
#define NUMBER_BYTES eight_number_bytes
#define SUB eight_sub
#define MIN eight_min
#define ROUND eight_round
#define POWER eight_power
#define ABOVE eight_above
#define TRANSPOSE eight_transpose
#define NAME(f) f##_plain
#define HEAD eight_head
#define GATHER eight_gather
#define EQUAL eight_equal
#define PICK eight_pick
#define BYTES eight_bytes
#define STORE_HEAD eight_store_head
#define W8 Eight
#define SPREAD eight_spread
#define LOAD eight_load
#define STORE eight_store
#define ADD eight_add
#define MUL eight_mul
#define MAX eight_max
#define FMA eight_fma
#define BETWEEN eight_between
#define TOTAL eight_total
#define LARGEST eight_largest
#include "blocks_steps.h"
#include "lanes_steps.h"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#define SKCHMM_X86 1
#include <immintrin.h>

/* --------------------------------------------------------------------- AVX2 */
#define AVX2 __attribute__((target("avx2,fma")))
typedef struct { __m256d a, b; } Pair;

AVX2 static inline Pair pair_spread(double x)
{ Pair r = {_mm256_set1_pd(x), _mm256_set1_pd(x)}; return r; }
AVX2 static inline Pair pair_load(const double *p)
{ Pair r = {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; return r; }
AVX2 static inline void pair_store(double *p, Pair v)
{ _mm256_storeu_pd(p, v.a); _mm256_storeu_pd(p + 4, v.b); }
#define PAIRWISE(op)                                                                    \
    AVX2 static inline Pair pair_##op(Pair x, Pair y)                                   \
    { Pair r = {_mm256_##op##_pd(x.a, y.a), _mm256_##op##_pd(x.b, y.b)}; return r; }
PAIRWISE(add)
PAIRWISE(sub)
PAIRWISE(mul)
PAIRWISE(max)
PAIRWISE(min)
#undef PAIRWISE
AVX2 static inline Pair pair_fma(Pair x, Pair y, Pair z)
{ Pair r = {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)}; return r; }
AVX2 static inline int pair_between(Pair x, double low, double high)
{
    __m256d l = _mm256_set1_pd(low), h = _mm256_set1_pd(high);
    __m256d a = _mm256_and_pd(_mm256_cmp_pd(x.a, l, _CMP_GT_OQ), _mm256_cmp_pd(x.a, h, _CMP_LT_OQ));
    __m256d b = _mm256_and_pd(_mm256_cmp_pd(x.b, l, _CMP_GT_OQ), _mm256_cmp_pd(x.b, h, _CMP_LT_OQ));
    return _mm256_movemask_pd(_mm256_or_pd(a, b));
}
AVX2 static inline double pair_total(Pair x)
{
    __m256d s = _mm256_add_pd(x.a, x.b);
    __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
AVX2 static inline double pair_largest(Pair x)
{
    __m256d s = _mm256_max_pd(x.a, x.b);
    __m128d t = _mm_max_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}

AVX2 static inline Pair pair_head(const double *p, int64_t left)
{
    const __m256i a = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(0, 1, 2, 3));
    const __m256i b = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(4, 5, 6, 7));
    const __m256d none = _mm256_set1_pd(-INFINITY);
    Pair r = {_mm256_blendv_pd(none, _mm256_maskload_pd(p, a), _mm256_castsi256_pd(a)),
              _mm256_blendv_pd(none, _mm256_maskload_pd(p + 4, b), _mm256_castsi256_pd(b))};
    return r;
}
AVX2 static inline Pair pair_gather(const double *p, const int32_t *at, int64_t left)
{
    double x[8];
    for (int i = 0; i < 8; i++)
        x[i] = i < left ? p[at[i]] : -INFINITY;
    return pair_load(x);
}
AVX2 static inline int pair_equal(Pair v, double x)
{
    __m256d y = _mm256_set1_pd(x);
    return _mm256_movemask_pd(_mm256_cmp_pd(v.a, y, _CMP_EQ_OQ))
           | _mm256_movemask_pd(_mm256_cmp_pd(v.b, y, _CMP_EQ_OQ)) << 4;
}

AVX2 static inline Pair pair_pick(Pair x, Pair y, Pair a, Pair b)
{
    Pair r = {_mm256_blendv_pd(b.a, a.a, _mm256_cmp_pd(x.a, y.a, _CMP_GT_OQ)),
              _mm256_blendv_pd(b.b, a.b, _mm256_cmp_pd(x.b, y.b, _CMP_GT_OQ))};
    return r;
}
AVX2 static inline void pair_store_head(double *p, Pair v, int64_t left)
{
    const __m256i n = _mm256_set1_epi64x(left);
    _mm256_maskstore_pd(p, _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(0, 1, 2, 3)), v.a);
    _mm256_maskstore_pd(p + 4, _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(4, 5, 6, 7)), v.b);
}
AVX2 static inline void pair_bytes(uint8_t *p, Pair v)
{
    __m128i words = _mm_packs_epi32(_mm256_cvtpd_epi32(v.a), _mm256_cvtpd_epi32(v.b));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

AVX2 static inline void pair_number_bytes(uint8_t *p, Pair v)
{ pair_bytes(p, pair_sub(v, pair_spread(LANES_NUMBER))); }

AVX2 static inline Pair pair_round(Pair x)
{ Pair r = {_mm256_round_pd(x.a, 8), _mm256_round_pd(x.b, 8)}; return r; }
AVX2 static inline __m256d quad_power(__m256d k)
{
    __m256i wide = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(k));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_add_epi64(wide, _mm256_set1_epi64x(1023)), 52));
}
AVX2 static inline Pair pair_power(Pair k)
{ Pair r = {quad_power(k.a), quad_power(k.b)}; return r; }
/* Of positive numbers: the bits of the exponent, made the last ones of 2^52. */
AVX2 static inline __m256d quad_exponent(__m256d x)
{
    __m256d whole = _mm256_set1_pd(4503599627370496.0);
    __m256i bits = _mm256_srli_epi64(_mm256_castpd_si256(x), 52);
    __m256d sum = _mm256_or_pd(_mm256_castsi256_pd(bits), whole);
    return _mm256_sub_pd(_mm256_sub_pd(sum, whole), _mm256_set1_pd(1023.0));
}
AVX2 static inline Pair pair_exponent(Pair x)
{ Pair r = {quad_exponent(x.a), quad_exponent(x.b)}; return r; }
AVX2 static inline int pair_above(Pair x, Pair y)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(x.a, y.a, _CMP_GT_OQ))
           | _mm256_movemask_pd(_mm256_cmp_pd(x.b, y.b, _CMP_GT_OQ)) << 4;
}
AVX2 static inline void quad_transpose(__m256d *p, __m256d *q, __m256d *r, __m256d *s)
{
    __m256d a = _mm256_unpacklo_pd(*p, *q), b = _mm256_unpackhi_pd(*p, *q);
    __m256d c = _mm256_unpacklo_pd(*r, *s), d = _mm256_unpackhi_pd(*r, *s);
    *p = _mm256_permute2f128_pd(a, c, 0x20);
    *q = _mm256_permute2f128_pd(b, d, 0x20);
    *r = _mm256_permute2f128_pd(a, c, 0x31);
    *s = _mm256_permute2f128_pd(b, d, 0x31);
}
AVX2 static inline void pair_transpose(Pair *x)
{
    quad_transpose(&x[0].a, &x[1].a, &x[2].a, &x[3].a);
    quad_transpose(&x[0].b, &x[1].b, &x[2].b, &x[3].b);
    quad_transpose(&x[4].a, &x[5].a, &x[6].a, &x[7].a);
    quad_transpose(&x[4].b, &x[5].b, &x[6].b, &x[7].b);
    for (int i = 0; i < 4; i++) {
        __m256d swap = x[i].b;
        x[i].b = x[i + 4].a;
        x[i + 4].a = swap;
    }
}

#define TARGET AVX2
#define EXPONENT pair_exponent
#define NUMBER_BYTES pair_number_bytes
#define SUB pair_sub
#define MIN pair_min
#define ROUND pair_round
#define POWER pair_power
#define ABOVE pair_above
#define TRANSPOSE pair_transpose
#define HEAD pair_head
#define GATHER pair_gather
#define EQUAL pair_equal
#define PICK pair_pick
#define BYTES pair_bytes
#define STORE_HEAD pair_store_head
#define NAME(f) f##_avx2
#define W8 Pair
#define SPREAD pair_spread
#define LOAD pair_load
#define STORE pair_store
#define ADD pair_add
#define MUL pair_mul
#define MAX pair_max
#define FMA pair_fma
#define BETWEEN pair_between
#define TOTAL pair_total
#define LARGEST pair_largest
#include "blocks_steps.h"
#include "lanes_steps.h"

/* ------------------------------------------------------------------ AVX-512 */
#define AVX512 __attribute__((target("avx512f,avx512dq")))

AVX512 static inline int wide_between(__m512d x, double low, double high)
{
    return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, _mm512_set1_pd(low), _CMP_GT_OQ), x,
                                   _mm512_set1_pd(high), _CMP_LT_OQ);
}
AVX512 static inline double wide_total(__m512d x)
{
    __m256d s = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
AVX512 static inline double wide_largest(__m512d x)
{
    __m256d s = _mm256_max_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d t = _mm_max_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}

AVX512 static inline __mmask8 wide_mask(int64_t left)
{ return left >= 8 ? 0xFF : (__mmask8)((1u << left) - 1u); }
AVX512 static inline __m512d wide_head(const double *p, int64_t left)
{ return _mm512_mask_loadu_pd(_mm512_set1_pd(-INFINITY), wide_mask(left), p); }
AVX512 static inline __m512d wide_gather(const double *p, const int32_t *at, int64_t left)
{
    __m512i wide = _mm512_maskz_loadu_epi32((__mmask16)wide_mask(left), at);
    return _mm512_mask_i32gather_pd(_mm512_set1_pd(-INFINITY), wide_mask(left),
                                    _mm512_castsi512_si256(wide), p, 8);
}
AVX512 static inline int wide_equal(__m512d v, double x)
{ return _mm512_cmp_pd_mask(v, _mm512_set1_pd(x), _CMP_EQ_OQ); }

AVX512 static inline __m512d wide_pick(__m512d x, __m512d y, __m512d a, __m512d b)
{ return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, y, _CMP_GT_OQ), b, a); }
AVX512 static inline void wide_store_head(double *p, __m512d v, int64_t left)
{ _mm512_mask_storeu_pd(p, wide_mask(left), v); }
AVX512 static inline void wide_bytes(uint8_t *p, __m512d v)
{
    __m256i words = _mm512_cvtpd_epi32(v);
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(words),
                                   _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(half, half));
}

AVX512 static inline __m512d wide_round(__m512d x)
{ return _mm512_roundscale_pd(x, 8); }
AVX512 static inline __m512d wide_power(__m512d k)
{ return _mm512_scalef_pd(_mm512_set1_pd(1.0), k); }
AVX512 static inline int wide_above(__m512d x, __m512d y)
{ return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
AVX512 static inline void wide_transpose(__m512d *x)
{
    __m512d pair[8], quad[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_pd(x[i], x[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
    }
    for (int h = 0; h < 8; h += 4)
        for (int i = 0; i < 2; i++) {
            quad[h + i] = _mm512_shuffle_f64x2(pair[h + i], pair[h + i + 2], 0x88);
            quad[h + i + 2] = _mm512_shuffle_f64x2(pair[h + i], pair[h + i + 2], 0xDD);
        }
    for (int i = 0; i < 4; i++) {
        x[i] = _mm512_shuffle_f64x2(quad[i], quad[i + 4], 0x88);
        x[i + 4] = _mm512_shuffle_f64x2(quad[i], quad[i + 4], 0xDD);
    }
}

AVX512 static inline void wide_number_bytes(uint8_t *p, __m512d v)
{ _mm_storel_epi64((__m128i *)p, _mm512_cvtepi64_epi8(_mm512_castpd_si512(v))); }

#define TARGET AVX512
#define EXPONENT _mm512_getexp_pd
#define NUMBER_BYTES wide_number_bytes
#define SUB _mm512_sub_pd
#define MIN _mm512_min_pd
#define ROUND wide_round
#define POWER wide_power
#define ABOVE wide_above
#define TRANSPOSE wide_transpose
#define HEAD wide_head
#define GATHER wide_gather
#define EQUAL wide_equal
#define PICK wide_pick
#define BYTES wide_bytes
#define STORE_HEAD wide_store_head
#define NAME(f) f##_avx512
#define W8 __m512d
#define SPREAD _mm512_set1_pd
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define ADD _mm512_add_pd
#define MUL _mm512_mul_pd
#define MAX _mm512_max_pd
#define FMA _mm512_fmadd_pd
#define BETWEEN wide_between
#define TOTAL wide_total
#define LARGEST wide_largest
#include "blocks_steps.h"
#include "lanes_steps.h"

/* As spread_rows, for up to 16 states and nodes, by a permutation. */
AVX512 static void spread_rows_registers(int64_t n, int64_t n_states, int64_t n_nodes,
                                         int64_t stride, const int32_t *states,
                                         const double *table, const int32_t *rows, double *out)
{
    if (n_states > 16 || stride > 16) {
        spread_rows_avx512(n, n_states, n_nodes, stride, states, table, rows, out);
        return;
    }
    int64_t at[16] = {0};
    for (int64_t m = 0; m < n_nodes; m++)
        at[m] = states[m];
    const __m512i low = _mm512_loadu_si512(at), high = _mm512_loadu_si512(at + 8);
    const __mmask8 first = wide_mask(n_states), second = wide_mask(n_states > 8 ? n_states - 8 : 0);
    for (int64_t t = 0; t < n; t++) {
        const double *row = table + (rows ? rows[t] : t) * n_states;
        __m512d a = _mm512_maskz_loadu_pd(first, row), b = _mm512_maskz_loadu_pd(second, row + 8);
        _mm512_storeu_pd(out + t * stride, _mm512_permutex2var_pd(a, low, b));
        if (stride > 8)
            _mm512_storeu_pd(out + t * stride + 8, _mm512_permutex2var_pd(a, high, b));
    }
}

/* As choose_run, for up to 16 nodes: the row stays in two registers, and an entry picks its sources
 * by a permutation. Reading back what was just stored, at another offset, would stall. */
#define REGISTER_ENTRIES 48
#define CANDIDATE(k)                                                             \
    _mm512_add_pd(_mm512_permutex2var_pd(row[0], pick[(k) - origin], row[1]),    \
                  _mm512_loadu_pd(weights + 8 * (k)))
#define CHOOSE(best, which)                                                      \
    do {                                                                         \
        __m512d candidate = CANDIDATE(k);                                        \
        which = _mm512_mask_mov_epi64(which, _mm512_cmp_pd_mask(candidate, best, _CMP_GT_OQ), \
                                      pick[k - origin]);                         \
        best = _mm512_max_pd(best, candidate);                                   \
    } while (0)
AVX512 static double *choose_run_registers(const Blocks *b, const double *weights, int64_t n,
                                           const double *table, const int32_t *rows, double *here,
                                           double *there, uint8_t *choices)
{
    int64_t stride = 8 * b->n_blocks, origin = b->start[0];
    if (b->n_blocks > 2 || b->start[b->n_blocks] - origin > REGISTER_ENTRIES)
        return choose_run_avx512(b, weights, n, table, rows, here, there, choices);
    const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i pick[REGISTER_ENTRIES];
    for (int64_t i = 0; i < b->n_blocks; i++)
        for (int64_t k = b->start[i]; k < b->start[i + 1]; k++) {
            __m512i from = _mm512_set1_epi64(b->source[k]);
            pick[k - origin] = k < b->shifted[i] ? from : _mm512_add_epi64(from, lanes);
        }
    const __m512d none = _mm512_set1_pd(-INFINITY);
    __m512d row[2] = {_mm512_loadu_pd(here), none};
    if (b->n_blocks == 2)
        row[1] = _mm512_loadu_pd(here + 8);
    for (int64_t t = 0; t < n; t++) {
        const double *emit = table + (rows ? rows[t] : t) * stride;
        __m512d next[2] = {none, none};
        for (int64_t i = 0; i < b->n_blocks; i++) {
            int64_t first = b->start[i], end = b->start[i + 1], k = first;
            int64_t half = first + (end - first + 1) / 2;
            __m512d best = none, later = none;
            __m512i which = _mm512_setzero_si512(), later_which = which;
            if (first < end) {
                best = CANDIDATE(k);
                which = pick[k - origin];
            }
            for (k++; k < half; k++)
                CHOOSE(best, which);
            if (k < end) {
                later = CANDIDATE(k);
                later_which = pick[k - origin];
            }
            for (k++; k < end; k++)
                CHOOSE(later, later_which);
            __mmask8 won = _mm512_cmp_pd_mask(later, best, _CMP_GT_OQ);
            next[i] = _mm512_add_pd(_mm512_max_pd(best, later), _mm512_loadu_pd(emit + 8 * i));
            _mm_storel_epi64((__m128i *)(choices + t * stride + 8 * i),
                             _mm512_cvtepi64_epi8(_mm512_mask_mov_epi64(which, won, later_which)));
        }
        row[0] = next[0];
        row[1] = next[1];
    }
    _mm512_storeu_pd(here, row[0]);
    if (b->n_blocks == 2)
        _mm512_storeu_pd(here + 8, row[1]);
    return here;
}
#endif

/* --------------------------------------------------------------- the choice */
typedef struct {
    const char *name;
    int64_t small; /* blocks up to which noting the winners beats finding them again */
    void (*max_step)(const Blocks *, const double *, const double *, const double *, double *);
    double (*sum_step)(const Blocks *, const double *, const double *, const double *, double,
                       double *, int *);
    void (*back_step)(const Blocks *, const double *, const double *, const double *, double,
                      double *, double *, double *, int *);
    void (*count_step)(const Blocks *, const double *, const double *, double *);
    double *(*choose_run)(const Blocks *, const double *, int64_t, const double *, const int32_t *,
                          double *, double *, uint8_t *);
    int64_t (*sum_run)(const Blocks *, const double *, int64_t, const double *, const int32_t *,
                       const uint8_t *, double, const double *, double *, double *, int *);
    int64_t (*best_source)(int64_t, const int32_t *, const double *, const double *);
    int64_t (*back_run)(const Backward *, int64_t, const double *, const double *,
                        const int32_t *, double *, double **, double **, double *, double *,
                        int *);
    void (*put_gamma)(const Backward *, const double *, const double *, double, double *);
    void (*multiply)(int64_t, const double *, const double *, double, double *);
    void (*spread_rows)(int64_t, int64_t, int64_t, int64_t, const int32_t *, const double *,
                        const int32_t *, double *);
    void (*normal_rows)(int64_t, int64_t, int64_t, const double *, const double *, const double *,
                        const double *, double *);
    void (*lanes_fill)(int64_t, int64_t, const double *, const int64_t *, double *);
    int (*lanes_exp)(int64_t, int64_t, double, const int8_t *, double *, double *, double *,
                     uint8_t *);
    double *(*lanes_choose_run)(const Side *, const double *, int64_t, int64_t, const double *,
                                double *, double *, uint8_t *);
    int64_t (*lanes_sum_run)(const Side *, const double *, int64_t, int64_t, const double *,
                             double *, int, double *, double *);
    void (*lanes_back_run)(const Side *, const double *, int64_t, int64_t, int, const double *,
                           const double *, double **, double *, double *, double *, double *);
    void (*lanes_first)(const Side *, int64_t, int, const double *, const double *, double **,
                        const double *, double *, double *);
    void (*lanes_weigh)(int64_t, const int32_t *, const int32_t *, const double *, const double *,
                        const double *, double, int, const double *, double *);
    void (*lanes_reach)(int64_t, int64_t, const int32_t *, const int32_t *, const double *,
                        const double *, double *);
    void (*lanes_move)(int64_t, const int32_t *, const double *, const double *, double *,
                       double *);
    int (*lanes_balance)(int64_t, int64_t, const int32_t *, const int32_t *, const double *,
                         const double *, double *, double *, double *);
    void (*lanes_undo)(int64_t, const double *, double *, double *, double *);
    void (*moment_rows)(int64_t, int64_t, int64_t, const double *, const double *, const double *,
                        double *);
    void (*full_normal_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                             const double *, const double *, double *);
    void (*product_rows)(int64_t, int64_t, int64_t, const double *, const double *,
                         const double *, double *);
} Steps;

#define STEPS(isa, small, choose, spread) {#isa, small, max_step_##isa, sum_step_##isa, back_step_##isa, \
                    count_step_##isa, choose, sum_run_##isa, best_source_##isa, back_run_##isa, \
                    put_gamma_##isa, multiply_##isa, spread, normal_rows_##isa, \
                    lanes_fill_##isa, lanes_exp_##isa, lanes_choose_run_##isa, \
                    lanes_sum_run_##isa, lanes_back_run_##isa, \
                    lanes_first_##isa, lanes_weigh_##isa, lanes_reach_##isa, lanes_move_##isa, \
                    lanes_balance_##isa, lanes_undo_##isa, \
                    moment_rows_##isa, full_normal_rows_##isa, product_rows_##isa}

/* The steps for an instruction set, or the best that there is where it is not to be had. */
static inline const Steps *choose_steps(int at_most)
{
    static const Steps plain = STEPS(plain, 1, choose_run_plain, spread_rows_plain);
#ifdef SKCHMM_X86
    static const Steps avx2 = STEPS(avx2, 2, choose_run_avx2, spread_rows_avx2),
                       avx512 = STEPS(avx512, 3, choose_run_registers, spread_rows_registers);
    __builtin_cpu_init();
    if (at_most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &avx512;
    if (at_most >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &avx2;
#endif
    (void)at_most;
    return &plain;
}

#endif
