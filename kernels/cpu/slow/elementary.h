// Elementary functions to about 95 digits, one number at a time: they decide the elements that the
// FLOAT64 lanes of the kernels leave open.
//
// Relative error: below 2^-90 wherever the magnitude of the result is from 2^-160 to 2^130; the
// largest of 400,000 inputs each was 2^-101.6, of Pow 2^-97.6. Smaller results are at most 2^-155,
// larger ones at least 2^129; none is infinite or NaN. Where a result is an argument, or half of
// it, and a rest of any smallness, the low part has the sign of that rest: so middles between two
// numbers are decided too. Zeros of odd functions have the sign of the argument.
//
// Arguments are finite and within the domain. A double is exactly a FLOAT32; a DoubleDouble is any
// number, also one of these, and the error counts from its exact value.

#ifndef OPSERVE_KERNELS_CPU_SLOW_ELEMENTARY_H_
#define OPSERVE_KERNELS_CPU_SLOW_ELEMENTARY_H_

#include "kernels/cpu/slow/double_double.h"

namespace opserve::cpu::slow {

// ------------------------------------------------------------------ exponential.cc

DoubleDouble Exp(const DoubleDouble& x);
DoubleDouble Expm1(const DoubleDouble& x);
DoubleDouble Sinh(const DoubleDouble& x);
DoubleDouble Cosh(const DoubleDouble& x);
DoubleDouble Tanh(const DoubleDouble& x);
// 1 / (1 + e^-x)
DoubleDouble Sigmoid(const DoubleDouble& x);
// x / (1 + e^(-s * x))
DoubleDouble Swish(double x, double s);

// ------------------------------------------------------------------ logarithm.cc

// ln(x) for x > 0.
DoubleDouble Log(const DoubleDouble& x);
// ln(1 + x) for x > -1.
DoubleDouble Log1p(const DoubleDouble& x);
// ln(1 + e^x)
DoubleDouble Softplus(const DoubleDouble& x);
DoubleDouble Asinh(double x);
// For x >= 1.
DoubleDouble Acosh(double x);
// For |x| < 1.
DoubleDouble Atanh(double x);

// ------------------------------------------------------------------ trigonometric.cc

DoubleDouble Sin(double x);
DoubleDouble Cos(double x);
DoubleDouble Tan(double x);

// ------------------------------------------------------------------ inverse_trigonometric.cc

DoubleDouble Atan(const DoubleDouble& x);
// For |x| <= 1.
DoubleDouble Asin(double x);
DoubleDouble Acos(double x);
// The angle of the point (x, y), with C's meaning of zeros.
DoubleDouble AtanYx(double y, double x);

// ------------------------------------------------------------------ error_function.cc

DoubleDouble Erf(double x);
// 1 - erf(x)
DoubleDouble Erfc(double x);
// x / 2 * (1 + erf(x / sqrt(2)))
DoubleDouble Gelu(double x);

// ------------------------------------------------------------------ power.cc

// x^y for x > 0; both may be any double whose logarithm is no larger than that of a FLOAT32. Exact
// where the power has at most 53 digits, so that middles are found.
DoubleDouble Pow(double x, double y);

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_ELEMENTARY_H_
