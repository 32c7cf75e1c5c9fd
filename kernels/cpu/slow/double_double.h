// Numbers of about 106 digits, each the sum of two doubles, for elements that FLOAT64 cannot
// decide.
//
// The bounds are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic" (2017). They hold where no part leaves the range of
// normal doubles; magnitudes stay below 2^990. Every operation must round by itself, so whoever
// includes this is compiled with -ffp-contract=off.

#ifndef OPSERVE_KERNELS_CPU_SLOW_DOUBLE_DOUBLE_H_
#define OPSERVE_KERNELS_CPU_SLOW_DOUBLE_DOUBLE_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace opserve::cpu::slow {

// The exact sum of both parts. `high` is that sum rounded to nearest, so `low` is at most half a
// unit in its last place; it may be far smaller, as in 0.5 + 2^-150.
struct DoubleDouble {
  constexpr DoubleDouble() = default;
  // A double is one of these: that lets formulas mix both.
  constexpr DoubleDouble(double value) : high(value) {}
  constexpr DoubleDouble(double high_part, double low_part) : high(high_part), low(low_part) {}

  double high = 0;
  double low = 0;
};

// ------------------------------------------------------------------ Exact operations on doubles

constexpr DoubleDouble ExactSum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The same where `a` is zero or its exponent is not below that of `b`.
constexpr DoubleDouble ExactSumOfOrdered(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// The upper half of the digits of x, rounded, so that the rest has no more than the other half.
constexpr double UpperDigits(double x) {
  const double shifted = x * (0x1p27 + 1);
  return shifted - (shifted - x);
}

constexpr DoubleDouble ExactProduct(double a, double b) {
  const double product = a * b;
  const double a_upper = UpperDigits(a);
  const double b_upper = UpperDigits(b);
  const double a_lower = a - a_upper;
  const double b_lower = b - b_upper;
  double error = a_upper * b_upper - product;
  error += a_upper * b_lower;
  error += a_lower * b_upper;
  return {product, error + a_lower * b_lower};
}

// ------------------------------------------------------------------ Arithmetic

constexpr DoubleDouble operator-(const DoubleDouble& x) { return {-x.high, -x.low}; }

// Relative error below 2^-104, also where terms of unlike signs cancel: it is relative to the sum.
constexpr DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = ExactSum(a.high, b.high);
  const DoubleDouble low = ExactSum(a.low, b.low);
  const DoubleDouble sum = ExactSumOfOrdered(high.high, high.low + low.high);
  return ExactSumOfOrdered(sum.high, low.low + sum.low);
}

constexpr DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }

// Relative error below 2^-103.
constexpr DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble product = ExactProduct(a.high, b.high);
  const double cross = a.high * b.low + a.low * b.high;
  return ExactSumOfOrdered(product.high, product.low + cross);
}

// Relative error below 2^-102.
constexpr DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double quotient = a.high / b.high;
  const DoubleDouble rest = a - b * quotient;
  return ExactSumOfOrdered(quotient, rest.high / b.high);
}

// x * 2^exponent, exact.
inline DoubleDouble Scaled(const DoubleDouble& x, int exponent) {
  return {std::ldexp(x.high, exponent), std::ldexp(x.low, exponent)};
}

// The root of x >= 0; its relative error is below 2^-104.
inline DoubleDouble SquareRoot(const DoubleDouble& x) {
  const double root = std::sqrt(x.high);
  if (root == 0) return root;
  const DoubleDouble rest = x - ExactProduct(root, root);
  return ExactSumOfOrdered(root, rest.high / (2 * root));
}

// ------------------------------------------------------------------ Comparisons

constexpr bool operator==(const DoubleDouble& a, const DoubleDouble& b) {
  return a.high == b.high && a.low == b.low;
}

constexpr bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

constexpr bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }

// The sign is that of the high part, so that zeros have one too.
inline bool IsNegative(const DoubleDouble& x) { return std::signbit(x.high); }

inline DoubleDouble Magnitude(const DoubleDouble& x) { return IsNegative(x) ? -x : x; }

// x with the sign of `sign`.
inline DoubleDouble WithSign(const DoubleDouble& x, const DoubleDouble& sign) {
  return IsNegative(x) == IsNegative(sign) ? x : -x;
}

// ------------------------------------------------------------------ Rounding

// The double towards zero from x, with its last bit set where it is not x: that lies on the same
// side as x of every FLOAT32 and FLOAT16, and of every middle between two of them, so rounding it
// to nearest rounds x once. Infinities and NaNs stay.
constexpr double RoundedToOdd(const DoubleDouble& x) {
  if (x.low == 0 || !(x.high - x.high == 0)) return x.high;
  const DoubleDouble sum = ExactSum(x.high, x.low);
  if (sum.low == 0) return sum.high;
  uint64_t bits = std::bit_cast<uint64_t>(sum.high);
  if ((sum.high < 0) != (sum.low < 0)) --bits;
  return std::bit_cast<double>(bits | 1);
}

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_DOUBLE_DOUBLE_H_
