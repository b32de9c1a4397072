/* Both ends of a sweep over one sequence, for graphs of up to 8 nodes; see two_ended.pyx.
 *
 * A row is one vector that stays in a register, and so do the weights: what a step waits for is its
 * own arithmetic only. Processors without AVX2 are left to the general kernel.
 */
#ifndef SKCHMM_TWO_ENDED_H
#define SKCHMM_TWO_ENDED_H

#include "blocks.h"

/* One direction: row = emission * sums, sums = row before it times the weights. */
typedef struct {
    const double *weights; /* (8, 8): row k is what node k gives to each node */
    const double *table;   /* emissions, 8 a row */
    const int32_t *rows;   /* of the table: rows[0], rows[step], rows[2 step], ... */
    double *out;           /* the row of the output of the next step, n_states wide */
    int64_t step;          /* 1 ahead, -1 back, 0 idle */
    int64_t at;            /* the next step of the data */
    int64_t exponent;      /* the row was divided by 2^exponent */
    double row[8];
    double least[8];       /* of the positive sums, by node */
    double mass;           /* the smallest one */
    double counts[64];     /* (8, 8), without the weights */
} End;

/* WALK: rows are computed; STORE: and written out; FINISH: the output holds what the other end has
 * stored, and becomes the posterior; COUNT: and transitions are counted. */
enum { WALK, STORE, FINISH, COUNT };

typedef struct {
    /* n steps of both ends */
    void (*run)(int64_t n, int64_t n_states, int mode, End *, End *);
    /* Rows of log-likelihoods as 8 probabilities with maximum 1; NaN where some are below
     * e^log_lossy. The logarithm of what they were divided by goes to tops. */
    void (*convert)(int64_t n, int64_t n_states, const double *log_table, const int32_t *rows,
                    double log_lossy, double *out, double *tops);
} TwoEnded;

#ifdef SKCHMM_X86

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
    /* n = 16 a + j: adding n << 48 to the bits of 2^(j / 16), less j << 48, adds a to the exponent. */
    __m512i root = _mm512_castpd_si512(_mm512_permutex2var_pd(
        _mm512_loadu_pd(roots), n, _mm512_loadu_pd(roots + 8)));
    __m512i j = _mm512_and_si512(n, _mm512_set1_epi64(15));
    __m512i power = _mm512_slli_epi64(_mm512_sub_epi64(n, j), 48);
    __m512d scale = _mm512_castsi512_pd(_mm512_add_epi64(root, power));
    return _mm512_fmadd_pd(scale, p, scale);
}

AVX512 static void convert_avx512(int64_t n, int64_t n_states, const double *log_table,
                                  const int32_t *rows, double log_lossy, double *out, double *tops)
{
    const __m512d none = _mm512_set1_pd(-INFINITY), lossy = _mm512_set1_pd(log_lossy);
    const __mmask8 head = wide_mask(n_states);
    for (int64_t t = 0; t < n; t++) {
        const double *row = log_table + (rows ? rows[t] : t) * n_states;
        __m512d x = _mm512_mask_loadu_pd(none, head, row);
        double top = wide_largest(x);
        tops[t] = top;
        __m512d ratio = _mm512_sub_pd(x, _mm512_set1_pd(top));
        __mmask8 some = _mm512_cmp_pd_mask(x, none, _CMP_NEQ_UQ);
        __mmask8 bad = _mm512_mask_cmp_pd_mask(some, ratio, lossy, _CMP_NGE_UQ);
        __m512d e = _mm512_maskz_mov_pd(some, wide_exp(ratio));
        _mm512_storeu_pd(out + 8 * t, bad ? _mm512_set1_pd(NAN) : e);
    }
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
#define FMA _mm512_fmadd_pd
#define TOTAL wide_total
#define STORE_HEAD wide_store_head
#include "two_ended_steps.h"
#endif

/* What runs on the instruction set of that name, or NULL. */
static inline const TwoEnded *choose_two_ended(const char *name)
{
#ifdef SKCHMM_X86
    static const TwoEnded avx512 = {run_avx512, convert_avx512};
    if (name[3] == '5')
        return &avx512;
#endif
    (void)name;
    return 0;
}

#endif
