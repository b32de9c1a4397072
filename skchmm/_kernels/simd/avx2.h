/* A vector of 8 doubles as two of AVX2; see vector.h for what each name means. */
#include <immintrin.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARGET_AVX2 __attribute__((target("avx2,fma")))
#else /* MSVC compiles all that it knows, wherever it stands */
#define TARGET_AVX2
#endif
#define AVX2 TARGET_AVX2 static inline

typedef struct { __m256d a, b; } Vector_avx2;
enum { few_registers_avx2 = 0, one_register_avx2 = 0 };

/* The lanes below n, of each half. */
AVX2 __m256i low_mask_avx2(int64_t n)
{ return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
AVX2 __m256i high_mask_avx2(int64_t n)
{ return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(4, 5, 6, 7)); }

AVX2 Vector_avx2 spread_avx2(double x)
{ Vector_avx2 r = {_mm256_set1_pd(x), _mm256_set1_pd(x)}; return r; }
AVX2 Vector_avx2 load_avx2(const double *p)
{ Vector_avx2 r = {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; return r; }
AVX2 Vector_avx2 some_avx2(const double *p, int64_t n)
{
    Vector_avx2 r = {_mm256_maskload_pd(p, low_mask_avx2(n)),
                     _mm256_maskload_pd(p + 4, high_mask_avx2(n))};
    return r;
}
AVX2 Vector_avx2 head_avx2(const double *p, int64_t n)
{
    const __m256d none = _mm256_set1_pd(-INFINITY);
    const __m256i low = low_mask_avx2(n), high = high_mask_avx2(n);
    Vector_avx2 r = {
        _mm256_blendv_pd(none, _mm256_maskload_pd(p, low), _mm256_castsi256_pd(low)),
        _mm256_blendv_pd(none, _mm256_maskload_pd(p + 4, high), _mm256_castsi256_pd(high))};
    return r;
}
AVX2 Vector_avx2 gather_avx2(const double *p, const int32_t *at, int64_t n)
{
    double x[8];
    for (int i = 0; i < 8; i++)
        x[i] = i < n ? p[at[i]] : -INFINITY;
    return load_avx2(x);
}
AVX2 void store_avx2(double *p, Vector_avx2 v)
{ _mm256_storeu_pd(p, v.a); _mm256_storeu_pd(p + 4, v.b); }
/* In parts: a masked store takes some processors as long as twenty others. */
AVX2 void store_head_avx2(double *p, Vector_avx2 v, int64_t n)
{
    __m256d half = v.a;
    if (n >= 4) {
        _mm256_storeu_pd(p, v.a);
        if (n >= 8) {
            _mm256_storeu_pd(p + 4, v.b);
            return;
        }
        half = v.b;
        p += 4;
        n -= 4;
    }
    __m128d pair = _mm256_castpd256_pd128(half);
    if (n >= 2) {
        _mm_storeu_pd(p, pair);
        pair = _mm256_extractf128_pd(half, 1);
        p += 2;
        n -= 2;
    }
    if (n > 0)
        _mm_store_sd(p, pair);
}

#define PAIRWISE(op)                                                                    \
    AVX2 Vector_avx2 op##_avx2(Vector_avx2 x, Vector_avx2 y)                            \
    { Vector_avx2 r = {_mm256_##op##_pd(x.a, y.a), _mm256_##op##_pd(x.b, y.b)}; return r; }
PAIRWISE(add)
PAIRWISE(sub)
PAIRWISE(mul)
PAIRWISE(div)
AVX2 Vector_avx2 inverse_avx2(Vector_avx2 x)
{ return div_avx2(spread_avx2(1.0), x); }
PAIRWISE(max)
PAIRWISE(min)
#undef PAIRWISE
AVX2 Vector_avx2 fma_avx2(Vector_avx2 x, Vector_avx2 y, Vector_avx2 z)
{
    Vector_avx2 r = {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)};
    return r;
}
AVX2 Vector_avx2 pick_avx2(Vector_avx2 x, Vector_avx2 y, Vector_avx2 a, Vector_avx2 b)
{
    Vector_avx2 r = {_mm256_blendv_pd(b.a, a.a, _mm256_cmp_pd(x.a, y.a, _CMP_GT_OQ)),
                     _mm256_blendv_pd(b.b, a.b, _mm256_cmp_pd(x.b, y.b, _CMP_GT_OQ))};
    return r;
}
AVX2 Vector_avx2 select_avx2(Vector_avx2 mask, Vector_avx2 a, Vector_avx2 b)
{
    Vector_avx2 r = {_mm256_blendv_pd(b.a, a.a, mask.a), _mm256_blendv_pd(b.b, a.b, mask.b)};
    return r;
}

AVX2 void bytes_avx2(uint8_t *p, Vector_avx2 v)
{
    __m128i words = _mm_packs_epi32(_mm256_cvtpd_epi32(v.a), _mm256_cvtpd_epi32(v.b));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}
/* The low halves of the doubles are the numbers; lanes 0 1 4 5 | 2 3 6 7 of them are put in order. */
AVX2 void number_bytes_avx2(uint8_t *p, Vector_avx2 v)
{
    const __m128i order = _mm_setr_epi8(0, 2, 8, 10, 4, 6, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i low = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castpd_ps(v.a), _mm256_castpd_ps(v.b), 0x88));
    __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64((__m128i *)p, _mm_shuffle_epi8(words, order));
}

AVX2 Vector_avx2 round_avx2(Vector_avx2 x)
{ Vector_avx2 r = {_mm256_round_pd(x.a, 8), _mm256_round_pd(x.b, 8)}; return r; }
AVX2 __m256d half_power_avx2(__m256d k)
{
    __m256d last_bits = _mm256_add_pd(k, _mm256_set1_pd(NUMBER + 1023.0));
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(last_bits), 52));
}
AVX2 Vector_avx2 power_avx2(Vector_avx2 k)
{ Vector_avx2 r = {half_power_avx2(k.a), half_power_avx2(k.b)}; return r; }
AVX2 Vector_avx2 lower_avx2(Vector_avx2 x, Vector_avx2 k)
{ return mul_avx2(x, power_avx2(max_avx2(k, spread_avx2(-1000.0)))); }
AVX2 __m256d half_raise_avx2(__m256d x, __m256d k)
{
    __m256i power = _mm256_slli_epi64(_mm256_castpd_si256(k), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(x), power));
}
AVX2 Vector_avx2 raise_avx2(Vector_avx2 x, Vector_avx2 k)
{ Vector_avx2 r = {half_raise_avx2(x.a, k.a), half_raise_avx2(x.b, k.b)}; return r; }
/* The bits of the exponent, made the last ones of 2^52. */
AVX2 __m256d half_exponent_avx2(__m256d x)
{
    const __m256d whole = _mm256_set1_pd(NUMBER);
    __m256i bits = _mm256_srli_epi64(_mm256_castpd_si256(x), 52);
    __m256d sum = _mm256_or_pd(_mm256_castsi256_pd(bits), whole);
    return _mm256_sub_pd(sum, _mm256_set1_pd(NUMBER + 1023.0));
}
AVX2 Vector_avx2 exponent_avx2(Vector_avx2 x)
{ Vector_avx2 r = {half_exponent_avx2(x.a), half_exponent_avx2(x.b)}; return r; }
AVX2 __m256d half_fraction_avx2(__m256d x)
{
    const __m256d bits = _mm256_castsi256_pd(_mm256_set1_epi64x(0xFFFFFFFFFFFFF));
    return _mm256_or_pd(_mm256_and_pd(x, bits), _mm256_set1_pd(1.0));
}
AVX2 Vector_avx2 fraction_avx2(Vector_avx2 x)
{ Vector_avx2 r = {half_fraction_avx2(x.a), half_fraction_avx2(x.b)}; return r; }

AVX2 Vector_avx2 lane_avx2(Vector_avx2 v, int k)
{
    __m256d half = k < 4 ? v.a : v.b;
    switch (k % 4) {
    case 0: half = _mm256_permute4x64_pd(half, 0x00); break;
    case 1: half = _mm256_permute4x64_pd(half, 0x55); break;
    case 2: half = _mm256_permute4x64_pd(half, 0xAA); break;
    default: half = _mm256_permute4x64_pd(half, 0xFF);
    }
    Vector_avx2 r = {half, half};
    return r;
}
/* The last of x, then all but the last of y; all but the first of x, then the first of y. */
AVX2 __m256d half_up_avx2(__m256d x, __m256d y)
{ return _mm256_shuffle_pd(_mm256_permute2f128_pd(x, y, 0x21), y, 5); }
AVX2 __m256d half_down_avx2(__m256d x, __m256d y)
{ return _mm256_shuffle_pd(x, _mm256_permute2f128_pd(x, y, 0x21), 5); }
AVX2 Vector_avx2 up_avx2(Vector_avx2 before, Vector_avx2 v)
{ Vector_avx2 r = {half_up_avx2(before.b, v.a), half_up_avx2(v.a, v.b)}; return r; }
AVX2 Vector_avx2 down_avx2(Vector_avx2 v, Vector_avx2 after)
{ Vector_avx2 r = {half_down_avx2(v.a, v.b), half_down_avx2(v.b, after.a)}; return r; }
/* Of each half, the lanes of either half of what they are taken from, and where it is the second. */
typedef struct { __m256i a, b; __m256d second_a, second_b; } Spots_avx2;
AVX2 Spots_avx2 spots_at_avx2(const int32_t *at)
{
    int32_t lanes[16];
    int64_t second[8];
    for (int i = 0; i < 8; i++) {
        lanes[2 * i] = at[i] % 4 * 2;
        lanes[2 * i + 1] = at[i] % 4 * 2 + 1;
        second[i] = -(int64_t)(at[i] >= 4);
    }
    Spots_avx2 r = {_mm256_loadu_si256((const __m256i *)lanes),
                    _mm256_loadu_si256((const __m256i *)(lanes + 8)),
                    _mm256_loadu_pd((const double *)second),
                    _mm256_loadu_pd((const double *)(second + 4))};
    return r;
}
AVX2 __m256d half_taken_avx2(Vector_avx2 v, __m256i lanes, __m256d second)
{
    __m256 a = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v.a), lanes);
    __m256 b = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v.b), lanes);
    return _mm256_blendv_pd(_mm256_castps_pd(a), _mm256_castps_pd(b), second);
}
AVX2 Vector_avx2 taken_avx2(Vector_avx2 v, Spots_avx2 at)
{
    Vector_avx2 r = {half_taken_avx2(v, at.a, at.second_a), half_taken_avx2(v, at.b, at.second_b)};
    return r;
}
/* The bits of zero, less one, are those of a NaN and drop out. */
AVX2 __m256d half_least_avx2(__m256d x, __m256d least)
{
    __m256i below = _mm256_sub_epi64(_mm256_castpd_si256(x), _mm256_set1_epi64x(1));
    return _mm256_min_pd(_mm256_castsi256_pd(below), least);
}
AVX2 Vector_avx2 least_avx2(Vector_avx2 x, Vector_avx2 least)
{
    Vector_avx2 r = {half_least_avx2(x.a, least.a), half_least_avx2(x.b, least.b)};
    return r;
}

AVX2 int above_avx2(Vector_avx2 x, Vector_avx2 y)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(x.a, y.a, _CMP_GT_OQ))
           | _mm256_movemask_pd(_mm256_cmp_pd(x.b, y.b, _CMP_GT_OQ)) << 4;
}
AVX2 int equal_avx2(Vector_avx2 v, double x)
{
    const __m256d y = _mm256_set1_pd(x);
    return _mm256_movemask_pd(_mm256_cmp_pd(v.a, y, _CMP_EQ_OQ))
           | _mm256_movemask_pd(_mm256_cmp_pd(v.b, y, _CMP_EQ_OQ)) << 4;
}
AVX2 __m256d half_between_avx2(__m256d x, double low, double high)
{
    return _mm256_and_pd(_mm256_cmp_pd(x, _mm256_set1_pd(low), _CMP_GT_OQ),
                         _mm256_cmp_pd(x, _mm256_set1_pd(high), _CMP_LT_OQ));
}
AVX2 int between_avx2(Vector_avx2 x, double low, double high)
{
    return _mm256_movemask_pd(_mm256_or_pd(half_between_avx2(x.a, low, high),
                                           half_between_avx2(x.b, low, high)));
}
typedef Vector_avx2 LaneSet_avx2;
AVX2 Vector_avx2 no_lanes_avx2(void)
{ return spread_avx2(0.0); }
AVX2 Vector_avx2 or_equal_avx2(Vector_avx2 set, Vector_avx2 x, Vector_avx2 y)
{
    const __m256d zero = _mm256_setzero_pd();
    set.a = _mm256_or_pd(set.a, _mm256_cmp_pd(_mm256_sub_pd(x.a, y.a), zero, _CMP_EQ_OQ));
    set.b = _mm256_or_pd(set.b, _mm256_cmp_pd(_mm256_sub_pd(x.b, y.b), zero, _CMP_EQ_OQ));
    return set;
}
AVX2 int lane_bits_avx2(Vector_avx2 set)
{ return _mm256_movemask_pd(set.a) | _mm256_movemask_pd(set.b) << 4; }
AVX2 double total_avx2(Vector_avx2 x)
{
    __m256d s = _mm256_add_pd(x.a, x.b);
    __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
AVX2 double largest_avx2(Vector_avx2 x)
{
    __m256d s = _mm256_max_pd(x.a, x.b);
    __m128d t = _mm_max_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}

AVX2 void transpose_quarter_avx2(__m256d *p, __m256d *q, __m256d *r, __m256d *s)
{
    __m256d a = _mm256_unpacklo_pd(*p, *q), b = _mm256_unpackhi_pd(*p, *q);
    __m256d c = _mm256_unpacklo_pd(*r, *s), d = _mm256_unpackhi_pd(*r, *s);
    *p = _mm256_permute2f128_pd(a, c, 0x20);
    *q = _mm256_permute2f128_pd(b, d, 0x20);
    *r = _mm256_permute2f128_pd(a, c, 0x31);
    *s = _mm256_permute2f128_pd(b, d, 0x31);
}
AVX2 void transpose_avx2(Vector_avx2 *v)
{
    for (int i = 0; i < 8; i += 4) {
        transpose_quarter_avx2(&v[i].a, &v[i + 1].a, &v[i + 2].a, &v[i + 3].a);
        transpose_quarter_avx2(&v[i].b, &v[i + 1].b, &v[i + 2].b, &v[i + 3].b);
    }
    for (int i = 0; i < 4; i++) {
        __m256d swap = v[i].b;
        v[i].b = v[i + 4].a;
        v[i + 4].a = swap;
    }
}
