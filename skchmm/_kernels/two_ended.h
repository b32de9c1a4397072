/* Both ends of a sweep over one sequence, for graphs of up to 8 nodes; see two_ended.pyx.
 *
 * A row is one vector that stays in a register, so a step waits for its own arithmetic only.
 * Processors without AVX2 are left to the general kernel.
 */
#ifndef SKCHMM_TWO_ENDED_H
#define SKCHMM_TWO_ENDED_H

#include "blocks.h"

/* One direction: row = emission * sums, sums = row before it times the weights. */
typedef struct {
    const double *weights; /* (8, 8): row k is what node k gives to each node */
    const double *table;   /* emissions; 8 can be read of any row, though it may have fewer */
    int64_t stride;        /* of the table */
    const int32_t *rows;   /* of the table: for this step, and on from there or back */
    double *out;           /* the row of the output of this step, n_states wide */
    int64_t step;          /* 1 ahead, -1 back, 0 idle */
    int64_t at;            /* the next step of the data */
    int64_t exponent;      /* the row was divided by 2^exponent */
    double row[8];
    double least[8];       /* of the positive sums, by node */
    double most;           /* of the factors that made posteriors sum to 1 */
    double total;          /* of the last row that was looked at */
    double counts[64];     /* (8, 8), without the weights */
} End;

/* WALK: rows are computed; STORE: and written out; FINISH: the output holds what the other end has
 * stored, and becomes the posterior; COUNT: and transitions are counted. */
enum { WALK, STORE, FINISH, COUNT };

/* Rows are looked at once in so many steps: a total out of range ends a run, or is scaled back. */
#define LOOK 16
#define CHUNK 64
#define SOUND(total) ((total) >= 1e-200 && (total) <= 1e100)
#define IN_RANGE(total) ((total) > 1e-30 && (total) < 1e30)

typedef struct {
    /* n steps ahead and n back, side by side; one of the ends may be idle where n is 1. */
    void (*run)(int64_t n, int64_t n_states, int mode, End *ahead, End *back);
    /* Rows of log-likelihoods, divided by their maximum, as probabilities; the maxima go to tops.
     * Whether a row has elements below log_lossy, or that are no numbers. Up to 3 elements behind
     * the output are changed too; they must be numbers. */
    int (*convert)(int64_t n, int64_t n_states, const double *rows, double log_lossy, double *out,
                   double *tops);
} TwoEnded;

#ifdef SKCHMM_X86

/* --------------------------------------------------------------------- AVX2 */
AVX2 static inline Pair pair_lane(Pair row, int k)
{
    __m256d half = k < 4 ? row.a : row.b;
    switch (k % 4) {
    case 0: half = _mm256_permute4x64_pd(half, 0x00); break;
    case 1: half = _mm256_permute4x64_pd(half, 0x55); break;
    case 2: half = _mm256_permute4x64_pd(half, 0xAA); break;
    default: half = _mm256_permute4x64_pd(half, 0xFF);
    }
    Pair r = {half, half};
    return r;
}
AVX2 static inline Pair pair_some(const double *p, int64_t left)
{
    const __m256i n = _mm256_set1_epi64x(left);
    Pair r = {_mm256_maskload_pd(p, _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(0, 1, 2, 3))),
              _mm256_maskload_pd(p + 4, _mm256_cmpgt_epi64(n, _mm256_setr_epi64x(4, 5, 6, 7)))};
    return r;
}
/* The smaller of least and x; the bits of zero, less one, are those of a NaN and drop out. */
AVX2 static inline __m256d four_least(__m256d x, __m256d least)
{
    __m256i below = _mm256_sub_epi64(_mm256_castpd_si256(x), _mm256_set1_epi64x(1));
    return _mm256_min_pd(_mm256_castsi256_pd(below), least);
}
AVX2 static inline Pair pair_least(Pair x, Pair least)
{ Pair r = {four_least(x.a, least.a), four_least(x.b, least.b)}; return r; }

/* e^x for log_lossy <= x <= 0: 2^n e^r. */
AVX2 static inline __m256d four_exp(__m256d x)
{
    static const double inverse[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800,
                                     1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                                     1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    const __m256d magic = _mm256_set1_pd(0x1.8p52);
    __m256d shifted = _mm256_fmadd_pd(x, _mm256_set1_pd(0x1.71547652b82fep+0), magic);
    __m256d whole = _mm256_sub_pd(shifted, magic);
    __m256d r = _mm256_fnmadd_pd(whole, _mm256_set1_pd(0x1.62e42fefap-1), x);
    r = _mm256_fnmadd_pd(whole, _mm256_set1_pd(0x1.cf79abc9e3b3ap-40), r);
    __m256d p = _mm256_set1_pd(inverse[0]);
    for (int k = 1; k < 14; k++)
        p = _mm256_fmadd_pd(p, r, _mm256_set1_pd(inverse[k]));
    __m256i power = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(p), power));
}

AVX2 static int convert_avx2(int64_t n, int64_t n_states, const double *rows, double log_lossy,
                             double *out, double *tops)
{
    const __m256d none = _mm256_set1_pd(-INFINITY), lossy = _mm256_set1_pd(log_lossy);
    int bad = 0;
    for (int64_t t = 0; t < n; t++) {
        const double *row = rows + t * n_states;
        double top = -INFINITY;
        for (int64_t i = 0; i < n_states; i++)
            top = row[i] > top ? row[i] : top;
        tops[t] = top;
        top = top > -INFINITY ? top : 0.0;
        for (int64_t i = 0; i < n_states; i++)
            out[t * n_states + i] = row[i] - top;
    }
    for (int64_t i = 0; i < n * n_states; i += 4) {
        __m256d ratio = _mm256_loadu_pd(out + i);
        __m256d some = _mm256_cmp_pd(ratio, none, _CMP_NEQ_UQ);
        bad |= _mm256_movemask_pd(_mm256_and_pd(some, _mm256_cmp_pd(ratio, lossy, _CMP_NGE_UQ)));
        _mm256_storeu_pd(out + i, _mm256_and_pd(some, four_exp(ratio)));
    }
    return bad != 0;
}

#define TARGET AVX2
#define NAME(f) f##_avx2
#define W8 Pair
#define LANE pair_lane
#define SOME pair_some
#define LEAST pair_least
#define SPREAD pair_spread
#define LOAD pair_load
#define PUT pair_store
#define ADD pair_add
#define MUL pair_mul
#define MAX pair_max
#define LARGEST pair_largest
#define FMA pair_fma
#define TOTAL pair_total
#define STORE_HEAD pair_store_head
#include "two_ended_steps.h"

/* ------------------------------------------------------------------ AVX-512 */
#define wide_lane(row, k) _mm512_permutexvar_pd(_mm512_set1_epi64(k), row)
AVX512 static inline __m512d wide_some(const double *p, int64_t left)
{ return _mm512_maskz_loadu_pd(wide_mask(left), p); }

/* The smaller of least and x; the bits of zero, less one, are those of a NaN and drop out. */
AVX512 static inline __m512d wide_least(__m512d x, __m512d least)
{
    __m512i below = _mm512_sub_epi64(_mm512_castpd_si512(x), _mm512_set1_epi64(1));
    return _mm512_min_pd(_mm512_castsi512_pd(below), least);
}

/* e^x for log_lossy <= x <= 0: 2^(n / 16) e^r, the power by a table and the exponent. */
AVX512 static inline __m512d wide_exp(__m512d x)
{
    static const double roots[16] = {
        0x1p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
        0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
        0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
        0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    __m512d shifted = _mm512_fmadd_pd(x, _mm512_set1_pd(0x1.71547652b82fep+4), magic);
    __m512i n = _mm512_castpd_si512(shifted);
    __m512d whole = _mm512_sub_pd(shifted, magic);
    __m512d r = _mm512_fnmadd_pd(whole, _mm512_set1_pd(0x1.62e42fefap-5), x);
    r = _mm512_fnmadd_pd(whole, _mm512_set1_pd(0x1.cf79abc9e3b3ap-44), r);
    __m512d rr = _mm512_mul_pd(r, r);
    __m512d low = _mm512_fmadd_pd(r, _mm512_set1_pd(1.0 / 6), _mm512_set1_pd(0.5));
    __m512d mid = _mm512_fmadd_pd(r, _mm512_set1_pd(1.0 / 120), _mm512_set1_pd(1.0 / 24));
    __m512d high = _mm512_fmadd_pd(r, _mm512_set1_pd(1.0 / 5040), _mm512_set1_pd(1.0 / 720));
    __m512d p = _mm512_fmadd_pd(_mm512_fmadd_pd(high, rr, mid), rr, low);
    p = _mm512_fmadd_pd(p, rr, r);
    /* n = 16 a + j: to the bits of 2^(j / 16), n << 48 adds a in the exponent, and j << 48, which
     * the table lacks. */
    const __m512i j = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), eight = _mm512_set1_epi64(8);
    __m512i first = _mm512_sub_epi64(_mm512_loadu_si512(roots), _mm512_slli_epi64(j, 48));
    __m512i second = _mm512_sub_epi64(_mm512_loadu_si512(roots + 8),
                                      _mm512_slli_epi64(_mm512_add_epi64(j, eight), 48));
    __m512i root = _mm512_permutex2var_epi64(first, n, second);
    __m512d scale = _mm512_castsi512_pd(_mm512_add_epi64(root, _mm512_slli_epi64(n, 48)));
    return _mm512_fmadd_pd(scale, p, scale);
}

/* The maxima of up to 8 rows. */
#define HALVE(a, b) \
    _mm512_max_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xDD))
AVX512 static inline __m512d wide_tops(const double *rows, int64_t n_states, int64_t n)
{
    __m512d pair[4];
    for (int i = 0; i < 4; i++) {
        __m512d a = wide_head(rows + 2 * i * n_states, 2 * i < n ? n_states : 0);
        __m512d b = wide_head(rows + (2 * i + 1) * n_states, 2 * i + 1 < n ? n_states : 0);
        pair[i] = _mm512_max_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    }
    __m512d low = HALVE(pair[0], pair[1]), high = HALVE(pair[2], pair[3]);
    return HALVE(low, high);
}
#undef HALVE

/* n <= 8 rows, whose elements fill vectors: vector i has those of the rows in of_row[i]. */
AVX512 static inline __attribute__((always_inline)) __mmask8 convert_eight(
    int64_t n, int64_t n_states, const __m512i *of_row, const double *rows, double log_lossy,
    double *out, double *tops)
{
    const __m512d none = _mm512_set1_pd(-INFINITY), lossy = _mm512_set1_pd(log_lossy);
    __m512d top = wide_tops(rows, n_states, n);
    wide_store_head(tops, top, n);
    __mmask8 bad = 0;
    for (int64_t i = 0; 8 * i < n * n_states; i++) {
        int64_t left = n == 8 ? 8 : n * n_states - 8 * i;
        __m512d x = wide_head(rows + 8 * i, left);
        __m512d ratio = _mm512_sub_pd(x, _mm512_permutexvar_pd(of_row[i], top));
        __mmask8 some = _mm512_cmp_pd_mask(x, none, _CMP_NEQ_UQ);
        bad |= _mm512_mask_cmp_pd_mask(some, ratio, lossy, _CMP_NGE_UQ);
        wide_store_head(out + 8 * i, _mm512_maskz_mov_pd(some, wide_exp(ratio)), left);
    }
    return bad;
}

AVX512 static int convert_avx512(int64_t n, int64_t n_states, const double *rows, double log_lossy,
                                 double *out, double *tops)
{
    const __m512d middle = _mm512_setr_pd(0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5);
    __m512i of_row[8];
    __mmask8 bad = 0;
    for (int64_t i = 0; i < n_states; i++) {
        __m512d element = _mm512_add_pd(_mm512_set1_pd(8.0 * i), middle);
        of_row[i] = _mm512_cvttpd_epi64(_mm512_mul_pd(element, _mm512_set1_pd(1.0 / n_states)));
    }
    for (; n >= 8; n -= 8, rows += 8 * n_states, out += 8 * n_states, tops += 8)
        bad |= convert_eight(8, n_states, of_row, rows, log_lossy, out, tops);
    if (n)
        bad |= convert_eight(n, n_states, of_row, rows, log_lossy, out, tops);
    return bad != 0;
}

#define TARGET AVX512
#define NAME(f) f##_avx512
#define W8 __m512d
#define LANE wide_lane
#define SOME wide_some
#define LEAST wide_least
#define SPREAD _mm512_set1_pd
#define LOAD _mm512_loadu_pd
#define PUT _mm512_storeu_pd
#define ADD _mm512_add_pd
#define MUL _mm512_mul_pd
#define MAX _mm512_max_pd
#define LARGEST wide_largest
#define FMA _mm512_fmadd_pd
#define TOTAL wide_total
#define STORE_HEAD wide_store_head
#include "two_ended_steps.h"
#endif

/* What runs on the instruction set of that name, or NULL. */
static inline const TwoEnded *choose_two_ended(const char *name)
{
#ifdef SKCHMM_X86
    static const TwoEnded avx2 = {run_avx2, convert_avx2}, avx512 = {run_avx512, convert_avx512};
    if (name[3] == '2')
        return &avx2;
    if (name[3] == '5')
        return &avx512;
#endif
    (void)name;
    return 0;
}

#endif
