/* A vector of 8 doubles in plain C; see vector.h for what each name means. */

typedef struct { double x[8]; } Vector_plain;
enum { few_registers_plain = 1, one_register_plain = 0 };

#define EACH for (int i = 0; i < 8; i++)

static inline Vector_plain spread_plain(double a)
{ Vector_plain r; EACH r.x[i] = a; return r; }
static inline Vector_plain load_plain(const double *p)
{ Vector_plain r; EACH r.x[i] = p[i]; return r; }
static inline Vector_plain head_plain(const double *p, int64_t n)
{ Vector_plain r; EACH r.x[i] = i < n ? p[i] : -INFINITY; return r; }
static inline Vector_plain some_plain(const double *p, int64_t n)
{ Vector_plain r; EACH r.x[i] = i < n ? p[i] : 0.0; return r; }
static inline Vector_plain gather_plain(const double *p, const int32_t *at, int64_t n)
{ Vector_plain r; EACH r.x[i] = i < n ? p[at[i]] : -INFINITY; return r; }
static inline void store_plain(double *p, Vector_plain a)
{ EACH p[i] = a.x[i]; }
static inline void store_head_plain(double *p, Vector_plain a, int64_t n)
{ for (int i = 0; i < 8 && i < n; i++) p[i] = a.x[i]; }
static inline void bytes_plain(uint8_t *p, Vector_plain a)
{ EACH p[i] = (uint8_t)a.x[i]; }
static inline void number_bytes_plain(uint8_t *p, Vector_plain a)
{ EACH p[i] = (uint8_t)(a.x[i] - NUMBER); }

static inline Vector_plain add_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] += b.x[i]; return a; }
static inline Vector_plain sub_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] -= b.x[i]; return a; }
static inline Vector_plain mul_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] *= b.x[i]; return a; }
static inline Vector_plain div_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] /= b.x[i]; return a; }
static inline Vector_plain inverse_plain(Vector_plain x)
{ return div_plain(spread_plain(1.0), x); }
static inline Vector_plain fma_plain(Vector_plain a, Vector_plain b, Vector_plain c)
{ EACH c.x[i] += a.x[i] * b.x[i]; return c; }
static inline Vector_plain max_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] = a.x[i] > b.x[i] ? a.x[i] : b.x[i]; return a; }
static inline Vector_plain min_plain(Vector_plain a, Vector_plain b)
{ EACH a.x[i] = a.x[i] < b.x[i] ? a.x[i] : b.x[i]; return a; }
static inline Vector_plain pick_plain(Vector_plain x, Vector_plain y, Vector_plain a, Vector_plain b)
{ EACH b.x[i] = x.x[i] > y.x[i] ? a.x[i] : b.x[i]; return b; }
static inline Vector_plain round_plain(Vector_plain a)
{ EACH a.x[i] = rint(a.x[i]); return a; }
/* By their bits: what libraries do for any number takes ten times as long. */
static inline Vector_plain power_plain(Vector_plain k)
{
    EACH {
        uint64_t bits = (uint64_t)(1023 + (int64_t)k.x[i]) << 52;
        memcpy(k.x + i, &bits, 8);
    }
    return k;
}
static inline Vector_plain lower_plain(Vector_plain x, Vector_plain k)
{ return mul_plain(x, power_plain(max_plain(k, spread_plain(-1000.0)))); }
static inline Vector_plain raise_plain(Vector_plain x, Vector_plain k)
{
    EACH {
        uint64_t bits, power;
        memcpy(&bits, x.x + i, 8);
        memcpy(&power, k.x + i, 8);
        bits += power << 52;
        memcpy(x.x + i, &bits, 8);
    }
    return x;
}
static inline Vector_plain exponent_plain(Vector_plain x)
{
    EACH {
        uint64_t bits;
        memcpy(&bits, x.x + i, 8);
        x.x[i] = (double)((int64_t)(bits >> 52) - 1023);
    }
    return x;
}
static inline Vector_plain fraction_plain(Vector_plain x)
{
    EACH {
        uint64_t bits;
        memcpy(&bits, x.x + i, 8);
        bits = (bits & 0xFFFFFFFFFFFFF) | (uint64_t)1023 << 52;
        memcpy(x.x + i, &bits, 8);
    }
    return x;
}
static inline Vector_plain lane_plain(Vector_plain a, int k)
{ return spread_plain(a.x[k]); }
static inline Vector_plain up_plain(Vector_plain before, Vector_plain a)
{ Vector_plain r; EACH r.x[i] = i > 0 ? a.x[i - 1] : before.x[7]; return r; }
static inline Vector_plain down_plain(Vector_plain a, Vector_plain after)
{ Vector_plain r; EACH r.x[i] = i < 7 ? a.x[i + 1] : after.x[0]; return r; }
typedef const int32_t *Spots_plain;
static inline Spots_plain spots_at_plain(const int32_t *at)
{ return at; }
static inline Vector_plain taken_plain(Vector_plain a, Spots_plain at)
{ Vector_plain r; EACH r.x[i] = a.x[at[i]]; return r; }
static inline Vector_plain least_plain(Vector_plain x, Vector_plain least)
{ EACH least.x[i] = x.x[i] > 0.0 && x.x[i] < least.x[i] ? x.x[i] : least.x[i]; return least; }

static inline int above_plain(Vector_plain a, Vector_plain b)
{ int r = 0; EACH r |= (a.x[i] > b.x[i]) << i; return r; }
static inline int equal_plain(Vector_plain a, double x)
{ int r = 0; EACH r |= (a.x[i] == x) << i; return r; }
static inline int between_plain(Vector_plain a, double low, double high)
{ int r = 0; EACH r |= (a.x[i] > low) & (a.x[i] < high); return r; }
typedef int LaneSet_plain;
static inline int no_lanes_plain(void)
{ return 0; }
static inline int or_equal_plain(int set, Vector_plain a, Vector_plain b)
{ EACH set |= (a.x[i] - b.x[i] == 0.0) << i; return set; }
static inline int lane_bits_plain(int set)
{ return set; }
static inline double total_plain(Vector_plain a)
{ return ((a.x[0] + a.x[4]) + (a.x[2] + a.x[6])) + ((a.x[1] + a.x[5]) + (a.x[3] + a.x[7])); }
static inline double largest_plain(Vector_plain a)
{ double r = a.x[0]; EACH r = a.x[i] > r ? a.x[i] : r; return r; }
static inline void transpose_plain(Vector_plain *v)
{
    EACH for (int j = 0; j < i; j++) {
        double swap = v[i].x[j];
        v[i].x[j] = v[j].x[i];
        v[j].x[i] = swap;
    }
}

#undef EACH
