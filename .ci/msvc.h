/* The C library of Windows as MSVC would show it, made of the headers of mingw, which are written for GNU
 * compilers: they are read first, as one; then clang no longer says what it is. See msvc.py. */
#define __GNUC__ 4
#define __GNUC_MINOR__ 2
#define __MINGW32__ 1
#define __MINGW64__ 1
#define WIN_PTHREADS_TIME_H /* MSVC has none of it */
#include <assert.h>
#include <basetsd.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <io.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <wchar.h>
#define _setjmp setjmp_of_intrin_h
#include <intrin.h>
#undef _setjmp
#include <immintrin.h>
#undef __GNUC__
#undef __GNUC_MINOR__
#undef __MINGW32__
#undef __MINGW64__
#undef __clang__
#undef __forceinline

/* Complex numbers are structures there; numpy's headers ask for them. */
#define _COMPLEX_H_
typedef struct { double _Val[2]; } _Dcomplex;
typedef struct { float _Val[2]; } _Fcomplex;
typedef struct { long double _Val[2]; } _Lcomplex;
double creal(_Dcomplex), cimag(_Dcomplex);
float crealf(_Fcomplex), cimagf(_Fcomplex);
long double creall(_Lcomplex), cimagl(_Lcomplex);

/* Macros of the C library that stand for builtins in mingw, and questions that MSVC does not answer. */
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#undef va_start
#undef va_end
#undef va_copy
#undef offsetof
#define INFINITY ((float)(1e300 * 1e300))
#define NAN (-(float)(INFINITY * 0.0F))
#define HUGE_VAL ((double)INFINITY)
int isnan(double), isinf(double), isfinite(double), signbit(double);
#define va_start(list, last) ((void)((list) = (char *)&(last)))
#define va_end(list) ((void)(list))
#define va_copy(to, from) ((to) = (from))
#define offsetof(type, member) ((size_t)&(((type *)0)->member))
#undef __has_attribute
#undef __has_builtin
#undef __has_c_attribute
#undef __has_cpp_attribute
#undef __has_declspec_attribute
