/* A vector of 8 doubles as one of AVX-512; see vector.h for what each name means. */
#include <immintrin.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq")))
#else /* MSVC compiles all that it knows, wherever it stands */
#define TARGET_AVX512
#endif
#define AVX512 TARGET_AVX512 static inline

typedef __m512d Vector_avx512;
enum { few_registers_avx512 = 0, one_register_avx512 = 1 };

AVX512 __mmask8 mask_avx512(int64_t n)
{ return n >= 8 ? 0xFF : (__mmask8)((1u << n) - 1u); }

AVX512 __m512d spread_avx512(double x)
{ return _mm512_set1_pd(x); }
AVX512 __m512d load_avx512(const double *p)
{ return _mm512_loadu_pd(p); }
AVX512 __m512d head_avx512(const double *p, int64_t n)
{ return _mm512_mask_loadu_pd(_mm512_set1_pd(-INFINITY), mask_avx512(n), p); }
AVX512 __m512d some_avx512(const double *p, int64_t n)
{ return _mm512_maskz_loadu_pd(mask_avx512(n), p); }
AVX512 __m512d gather_avx512(const double *p, const int32_t *at, int64_t n)
{
    __m512i wide = _mm512_maskz_loadu_epi32((__mmask16)mask_avx512(n), at);
    return _mm512_mask_i32gather_pd(_mm512_set1_pd(-INFINITY), mask_avx512(n),
                                    _mm512_castsi512_si256(wide), p, 8);
}
AVX512 void store_avx512(double *p, __m512d v)
{ _mm512_storeu_pd(p, v); }
AVX512 void store_head_avx512(double *p, __m512d v, int64_t n)
{ _mm512_mask_storeu_pd(p, mask_avx512(n), v); }
AVX512 void bytes_avx512(uint8_t *p, __m512d v)
{
    __m256i words = _mm512_cvtpd_epi32(v);
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(words),
                                   _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(half, half));
}
AVX512 void number_bytes_avx512(uint8_t *p, __m512d v)
{ _mm_storel_epi64((__m128i *)p, _mm512_cvtepi64_epi8(_mm512_castpd_si512(v))); }

AVX512 __m512d add_avx512(__m512d x, __m512d y)
{ return _mm512_add_pd(x, y); }
AVX512 __m512d sub_avx512(__m512d x, __m512d y)
{ return _mm512_sub_pd(x, y); }
AVX512 __m512d mul_avx512(__m512d x, __m512d y)
{ return _mm512_mul_pd(x, y); }
AVX512 __m512d div_avx512(__m512d x, __m512d y)
{ return _mm512_div_pd(x, y); }
/* By Newton's method from 14 bits: a division keeps its unit busy for three times as long. */
AVX512 __m512d inverse_avx512(__m512d x)
{
    const __m512d one = _mm512_set1_pd(1.0);
    __m512d y = _mm512_rcp14_pd(x);
    y = _mm512_fmadd_pd(y, _mm512_fnmadd_pd(x, y, one), y);
    return _mm512_fmadd_pd(y, _mm512_fnmadd_pd(x, y, one), y);
}
AVX512 __m512d fma_avx512(__m512d x, __m512d y, __m512d z)
{ return _mm512_fmadd_pd(x, y, z); }
AVX512 __m512d max_avx512(__m512d x, __m512d y)
{ return _mm512_max_pd(x, y); }
AVX512 __m512d min_avx512(__m512d x, __m512d y)
{ return _mm512_min_pd(x, y); }
AVX512 __m512d pick_avx512(__m512d x, __m512d y, __m512d a, __m512d b)
{ return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(x, y, _CMP_GT_OQ), b, a); }
AVX512 __m512d select_avx512(__m512d mask, __m512d a, __m512d b)
{
    return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(
        _mm512_castpd_si512(mask), _mm512_castpd_si512(a), _mm512_castpd_si512(b), 0xCA));
}
AVX512 __m512d round_avx512(__m512d x)
{ return _mm512_roundscale_pd(x, 8); }
AVX512 __m512d power_avx512(__m512d k)
{ return _mm512_scalef_pd(_mm512_set1_pd(1.0), k); }
AVX512 __m512d lower_avx512(__m512d x, __m512d k)
{ return _mm512_scalef_pd(x, k); }
AVX512 __m512d raise_avx512(__m512d x, __m512d k)
{
    __m512i power = _mm512_slli_epi64(_mm512_castpd_si512(k), 52);
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(x), power));
}
AVX512 __m512d exponent_avx512(__m512d x)
{ return _mm512_getexp_pd(x); }
AVX512 __m512d fraction_avx512(__m512d x)
{ return _mm512_getmant_pd(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src); }
AVX512 __m512d lane_avx512(__m512d v, int k)
{ return _mm512_permutexvar_pd(_mm512_set1_epi64(k), v); }
AVX512 __m512d joined_avx512(__m512d x, __m512d y, const int from)
{
    const __m512i lanes = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                           _mm512_set1_epi64(from));
    return _mm512_permutex2var_pd(x, lanes, y);
}
AVX512 __m512d up_avx512(__m512d before, __m512d v)
{ return joined_avx512(before, v, 7); }
AVX512 __m512d down_avx512(__m512d v, __m512d after)
{ return joined_avx512(v, after, 1); }
typedef __m512i Spots_avx512;
AVX512 __m512i spots_at_avx512(const int32_t *at)
{ return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)at)); }
AVX512 __m512d taken_avx512(__m512d v, __m512i spots)
{ return _mm512_permutexvar_pd(spots, v); }
/* The bits of zero, less one, are those of a NaN and drop out. */
AVX512 __m512d least_avx512(__m512d x, __m512d least)
{
    __m512i below = _mm512_sub_epi64(_mm512_castpd_si512(x), _mm512_set1_epi64(1));
    return _mm512_min_pd(_mm512_castsi512_pd(below), least);
}

AVX512 int above_avx512(__m512d x, __m512d y)
{ return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
AVX512 int equal_avx512(__m512d v, double x)
{ return _mm512_cmp_pd_mask(v, _mm512_set1_pd(x), _CMP_EQ_OQ); }
AVX512 int between_avx512(__m512d x, double low, double high)
{
    return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, _mm512_set1_pd(low), _CMP_GT_OQ), x,
                                   _mm512_set1_pd(high), _CMP_LT_OQ);
}
typedef __mmask8 LaneSet_avx512;
AVX512 __mmask8 no_lanes_avx512(void)
{ return 0; }
AVX512 __mmask8 or_equal_avx512(__mmask8 set, __m512d x, __m512d y)
{ return set | _mm512_cmp_pd_mask(_mm512_sub_pd(x, y), _mm512_setzero_pd(), _CMP_EQ_OQ); }
AVX512 int lane_bits_avx512(__mmask8 set)
{ return set; }
AVX512 double total_avx512(__m512d x)
{
    __m256d s = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d t = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(t, _mm_unpackhi_pd(t, t)));
}
AVX512 double largest_avx512(__m512d x)
{
    __m256d s = _mm256_max_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d t = _mm_max_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_max_sd(t, _mm_unpackhi_pd(t, t)));
}
AVX512 void transpose_avx512(__m512d *v)
{
    __m512d pair[8], quad[8];
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm512_unpacklo_pd(v[i], v[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd(v[i], v[i + 1]);
    }
    for (int h = 0; h < 8; h += 4)
        for (int i = 0; i < 2; i++) {
            quad[h + i] = _mm512_shuffle_f64x2(pair[h + i], pair[h + i + 2], 0x88);
            quad[h + i + 2] = _mm512_shuffle_f64x2(pair[h + i], pair[h + i + 2], 0xDD);
        }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm512_shuffle_f64x2(quad[i], quad[i + 4], 0x88);
        v[i + 4] = _mm512_shuffle_f64x2(quad[i], quad[i + 4], 0xDD);
    }
}
