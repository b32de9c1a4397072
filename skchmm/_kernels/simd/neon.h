/* A vector of 8 doubles as four of NEON, which every 64-bit ARM has; see vector.h for what each name
 * means. Comparisons choose, rather than vmaxq: so max and min of zeros and NaNs are those of x86. */
#include <arm_neon.h>

#define TARGET_NEON
#define NEON static inline

typedef struct { float64x2_t a, b, c, d; } Vector_neon;
typedef struct { uint64x2_t a, b, c, d; } LaneSet_neon;
enum { few_registers_neon = 0, one_register_neon = 0 };

/* A function's body: the four parts of what it returns, each as `of` makes it. */
#define OF_PARTS(Type, of) { Type r = {of(a), of(b), of(c), of(d)}; return r; }

NEON Vector_neon load_neon(const double *p)
{ Vector_neon r = {vld1q_f64(p), vld1q_f64(p + 2), vld1q_f64(p + 4), vld1q_f64(p + 6)}; return r; }
NEON void store_neon(double *p, Vector_neon v)
{ vst1q_f64(p, v.a); vst1q_f64(p + 2, v.b); vst1q_f64(p + 4, v.c); vst1q_f64(p + 6, v.d); }
NEON Vector_neon spread_neon(double x)
{ float64x2_t all = vdupq_n_f64(x); Vector_neon r = {all, all, all, all}; return r; }
NEON Vector_neon begin_neon(const double *p, int64_t n, double rest)
{
    double x[8];
    if (n >= 8)
        return load_neon(p);
    for (int i = 0; i < 8; i++)
        x[i] = i < n ? p[i] : rest;
    return load_neon(x);
}
NEON Vector_neon head_neon(const double *p, int64_t n)
{ return begin_neon(p, n, -INFINITY); }
NEON Vector_neon some_neon(const double *p, int64_t n)
{ return begin_neon(p, n, 0.0); }
NEON Vector_neon gather_neon(const double *p, const int32_t *at, int64_t n)
{
    double x[8];
    for (int i = 0; i < 8; i++)
        x[i] = i < n ? p[at[i]] : -INFINITY;
    return load_neon(x);
}
NEON void store_head_neon(double *p, Vector_neon v, int64_t n)
{
    double x[8];
    if (n >= 8) {
        store_neon(p, v);
        return;
    }
    store_neon(x, v);
    for (int i = 0; i < n; i++)
        p[i] = x[i];
}

#define PAIRWISE(name, of)                                      \
    NEON Vector_neon name##_neon(Vector_neon x, Vector_neon y)  \
    OF_PARTS(Vector_neon, of)
#define SUM_OF(part) vaddq_f64(x.part, y.part)
#define DIFFERENCE_OF(part) vsubq_f64(x.part, y.part)
#define PRODUCT_OF(part) vmulq_f64(x.part, y.part)
#define QUOTIENT_OF(part) vdivq_f64(x.part, y.part)
#define LARGER_OF(part) vbslq_f64(vcgtq_f64(x.part, y.part), x.part, y.part)
#define SMALLER_OF(part) vbslq_f64(vcltq_f64(x.part, y.part), x.part, y.part)
/* y: the least so far. */
#define LEAST_OF(part)                                                                  \
    vbslq_f64(vandq_u64(vcgtzq_f64(x.part), vcltq_f64(x.part, y.part)), x.part, y.part)
/* y: the powers, in the last bits. */
#define RAISED_OF(part)                                                                  \
    vreinterpretq_f64_u64(vaddq_u64(vreinterpretq_u64_f64(x.part),                       \
                                    vshlq_n_u64(vreinterpretq_u64_f64(y.part), 52)))
PAIRWISE(add, SUM_OF)
PAIRWISE(sub, DIFFERENCE_OF)
PAIRWISE(mul, PRODUCT_OF)
PAIRWISE(div, QUOTIENT_OF)
NEON Vector_neon inverse_neon(Vector_neon x)
{ return div_neon(spread_neon(1.0), x); }
PAIRWISE(max, LARGER_OF)
PAIRWISE(min, SMALLER_OF)
PAIRWISE(least, LEAST_OF)
PAIRWISE(raise, RAISED_OF)

#define FUSED_OF(part) vfmaq_f64(z.part, x.part, y.part)
NEON Vector_neon fma_neon(Vector_neon x, Vector_neon y, Vector_neon z)
OF_PARTS(Vector_neon, FUSED_OF)
#define PICKED_OF(part) vbslq_f64(vcgtq_f64(x.part, y.part), u.part, v.part)
NEON Vector_neon pick_neon(Vector_neon x, Vector_neon y, Vector_neon u, Vector_neon v)
OF_PARTS(Vector_neon, PICKED_OF)
#define SELECTED_OF(part) vbslq_f64(vreinterpretq_u64_f64(mask.part), u.part, v.part)
NEON Vector_neon select_neon(Vector_neon mask, Vector_neon u, Vector_neon v)
OF_PARTS(Vector_neon, SELECTED_OF)
#define ROUNDED_OF(part) vrndnq_f64(x.part)
NEON Vector_neon round_neon(Vector_neon x)
OF_PARTS(Vector_neon, ROUNDED_OF)
#define POWER_OF(part)                                                                      \
    vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(vcvtnq_s64_f64(k.part), vdupq_n_s64(1023)), 52))
NEON Vector_neon power_neon(Vector_neon k)
OF_PARTS(Vector_neon, POWER_OF)
NEON Vector_neon lower_neon(Vector_neon x, Vector_neon k)
{ return mul_neon(x, power_neon(max_neon(k, spread_neon(-1000.0)))); }
#define EXPONENT_OF(part)                                                                   \
    vcvtq_f64_s64(vsubq_s64(vshrq_n_s64(vreinterpretq_s64_f64(x.part), 52), vdupq_n_s64(1023)))
NEON Vector_neon exponent_neon(Vector_neon x)
OF_PARTS(Vector_neon, EXPONENT_OF)
#define FRACTION_OF(part)                                                                   \
    vreinterpretq_f64_u64(vorrq_u64(vandq_u64(vreinterpretq_u64_f64(x.part),                \
                                              vdupq_n_u64(0xFFFFFFFFFFFFF)),                \
                                    vreinterpretq_u64_f64(vdupq_n_f64(1.0))))
NEON Vector_neon fraction_neon(Vector_neon x)
OF_PARTS(Vector_neon, FRACTION_OF)
NEON Vector_neon lane_neon(Vector_neon v, int k)
{
    float64x2_t two = k < 2 ? v.a : k < 4 ? v.b : k < 6 ? v.c : v.d;
    two = k % 2 ? vdupq_laneq_f64(two, 1) : vdupq_laneq_f64(two, 0);
    Vector_neon r = {two, two, two, two};
    return r;
}

NEON Vector_neon up_neon(Vector_neon before, Vector_neon v)
{
    Vector_neon r = {vextq_f64(before.d, v.a, 1), vextq_f64(v.a, v.b, 1), vextq_f64(v.b, v.c, 1),
                     vextq_f64(v.c, v.d, 1)};
    return r;
}
NEON Vector_neon down_neon(Vector_neon v, Vector_neon after)
{
    Vector_neon r = {vextq_f64(v.a, v.b, 1), vextq_f64(v.b, v.c, 1), vextq_f64(v.c, v.d, 1),
                     vextq_f64(v.d, after.a, 1)};
    return r;
}

/* By bytes. */
typedef struct { uint8x16_t a, b, c, d; } Spots_neon;
NEON Spots_neon spots_at_neon(const int32_t *at)
{
    uint8_t bytes[64];
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)(8 * at[i / 8] + i % 8);
    Spots_neon r = {vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
                    vld1q_u8(bytes + 48)};
    return r;
}
#define TAKEN_OF(part) vreinterpretq_f64_u8(vqtbl4q_u8(all, at.part))
NEON Vector_neon taken_neon(Vector_neon v, Spots_neon at)
{
    const uint8x16x4_t all = {{vreinterpretq_u8_f64(v.a), vreinterpretq_u8_f64(v.b),
                               vreinterpretq_u8_f64(v.c), vreinterpretq_u8_f64(v.d)}};
    OF_PARTS(Vector_neon, TAKEN_OF)
}

/* The last byte of each lane. */
NEON uint8x8_t last_bytes_neon(uint64x2_t a, uint64x2_t b, uint64x2_t c, uint64x2_t d)
{
    uint32x4_t low = vcombine_u32(vmovn_u64(a), vmovn_u64(b));
    uint32x4_t high = vcombine_u32(vmovn_u64(c), vmovn_u64(d));
    return vmovn_u16(vcombine_u16(vmovn_u32(low), vmovn_u32(high)));
}
NEON void bytes_neon(uint8_t *p, Vector_neon v)
{
    vst1_u8(p, last_bytes_neon(vcvtq_u64_f64(v.a), vcvtq_u64_f64(v.b), vcvtq_u64_f64(v.c),
                               vcvtq_u64_f64(v.d)));
}
NEON void number_bytes_neon(uint8_t *p, Vector_neon v)
{
    vst1_u8(p, last_bytes_neon(vreinterpretq_u64_f64(v.a), vreinterpretq_u64_f64(v.b),
                               vreinterpretq_u64_f64(v.c), vreinterpretq_u64_f64(v.d)));
}

NEON LaneSet_neon no_lanes_neon(void)
{ uint64x2_t none = vdupq_n_u64(0); LaneSet_neon r = {none, none, none, none}; return r; }
NEON int lane_bits_neon(LaneSet_neon set)
{
    static const uint8_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    return vaddv_u8(vand_u8(last_bytes_neon(set.a, set.b, set.c, set.d), vld1_u8(bits)));
}
#define SAME_OF(part) vorrq_u64(set.part, vceqzq_f64(vsubq_f64(x.part, y.part)))
NEON LaneSet_neon or_equal_neon(LaneSet_neon set, Vector_neon x, Vector_neon y)
OF_PARTS(LaneSet_neon, SAME_OF)
#define ABOVE_OF(part) vcgtq_f64(x.part, y.part)
NEON LaneSet_neon lanes_above_neon(Vector_neon x, Vector_neon y)
OF_PARTS(LaneSet_neon, ABOVE_OF)
#define EQUAL_OF(part) vceqq_f64(x.part, y.part)
NEON LaneSet_neon lanes_equal_neon(Vector_neon x, Vector_neon y)
OF_PARTS(LaneSet_neon, EQUAL_OF)
NEON int above_neon(Vector_neon x, Vector_neon y)
{ return lane_bits_neon(lanes_above_neon(x, y)); }
NEON int equal_neon(Vector_neon v, double x)
{ return lane_bits_neon(lanes_equal_neon(v, spread_neon(x))); }
NEON int between_neon(Vector_neon x, double low, double high)
{
    LaneSet_neon up = lanes_above_neon(x, spread_neon(low));
    LaneSet_neon down = lanes_above_neon(spread_neon(high), x);
    uint64x2_t some = vorrq_u64(vorrq_u64(vandq_u64(up.a, down.a), vandq_u64(up.b, down.b)),
                                vorrq_u64(vandq_u64(up.c, down.c), vandq_u64(up.d, down.d)));
    return vmaxvq_u32(vreinterpretq_u32_u64(some)) != 0;
}
NEON double total_neon(Vector_neon x)
{ return vaddvq_f64(vaddq_f64(vaddq_f64(x.a, x.c), vaddq_f64(x.b, x.d))); }
NEON double largest_neon(Vector_neon x)
{ return vmaxvq_f64(vmaxq_f64(vmaxq_f64(x.a, x.c), vmaxq_f64(x.b, x.d))); }

/* Squares of two by two, each turned and put in the place of its mirror image. */
NEON void transpose_neon(Vector_neon *v)
{
    double x[64];
    for (int i = 0; i < 8; i++)
        store_neon(x + 8 * i, v[i]);
    for (int i = 0; i < 8; i += 2)
        for (int j = 0; j <= i; j += 2) {
            float64x2_t p = vld1q_f64(x + 8 * i + j), q = vld1q_f64(x + 8 * i + 8 + j);
            float64x2_t r = vld1q_f64(x + 8 * j + i), s = vld1q_f64(x + 8 * j + 8 + i);
            vst1q_f64(x + 8 * j + i, vtrn1q_f64(p, q));
            vst1q_f64(x + 8 * j + 8 + i, vtrn2q_f64(p, q));
            vst1q_f64(x + 8 * i + j, vtrn1q_f64(r, s));
            vst1q_f64(x + 8 * i + 8 + j, vtrn2q_f64(r, s));
        }
    for (int i = 0; i < 8; i++)
        v[i] = load_neon(x + 8 * i);
}

#undef OF_PARTS
#undef PAIRWISE
#undef SUM_OF
#undef DIFFERENCE_OF
#undef PRODUCT_OF
#undef LARGER_OF
#undef SMALLER_OF
#undef LEAST_OF
#undef RAISED_OF
#undef FUSED_OF
#undef TAKEN_OF
#undef PICKED_OF
#undef ROUNDED_OF
#undef FRACTION_OF
#undef POWER_OF
#undef EXPONENT_OF
#undef SAME_OF
#undef ABOVE_OF
#undef EQUAL_OF
