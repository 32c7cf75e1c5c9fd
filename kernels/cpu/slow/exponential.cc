// The exponential function, and what is a quotient of its values.

#include <cmath>

#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

namespace opserve::cpu::slow {
namespace {

// Beyond, every result is as good as 0, infinite, or a limit; powers and products stay finite.
constexpr double kLargestExponent = 600;

DoubleDouble LimitedExponent(const DoubleDouble& x) {
  if (x.high > kLargestExponent) return kLargestExponent;
  if (x.high < -kLargestExponent) return -kLargestExponent;
  return x;
}

// (e^x - 1 - x) / x^2 = 1/2! + x/3! + ..., for |x| <= 0.36: the first term left out is x^24/26!.
constexpr auto kAfterLinear = ReciprocalFactorials<24>(2, 1);

// e^x - 1 for |x| <= 0.36.
DoubleDouble SmallExpm1(const DoubleDouble& x) { return x + x * x * SumOfPowers(kAfterLinear, x); }

// (sinh(x) - x) / x^3 and (cosh(x) - 1) / x^2 by powers of x^2, for |x| <= 0.5: the first terms
// left out are x^22/25! and x^24/26!.
constexpr auto kSinhAfterLinear = ReciprocalFactorials<11>(3, 2);
constexpr auto kCoshAfterOne = ReciprocalFactorials<12>(2, 2);

bool IsSmall(const DoubleDouble& x) { return std::abs(x.high) <= 0.5; }

DoubleDouble SmallSinh(const DoubleDouble& x) {
  const DoubleDouble square = x * x;
  return x + x * square * SumOfPowers(kSinhAfterLinear, square);
}

DoubleDouble SmallCosh(const DoubleDouble& x) {
  const DoubleDouble square = x * x;
  return 1 + square * SumOfPowers(kCoshAfterOne, square);
}

}  // namespace

// e^x = 2^n * e^(x - n * ln 2).
DoubleDouble Exp(const DoubleDouble& argument) {
  // ln 2 to 146 digits; n times the first 40 is exact.
  constexpr double kFirstOfLn2 = 0x1.62e42fefa2p-1;
  constexpr DoubleDouble kRestOfLn2 = {0x1.9ef35793c7673p-41, 0x1.f97b57a079a19p-103};
  constexpr double kReciprocalOfLn2 = 0x1.71547652b82fep0;

  const DoubleDouble x = LimitedExponent(argument);
  const double n = std::nearbyint(x.high * kReciprocalOfLn2);
  const DoubleDouble rest = (x - n * kFirstOfLn2) - kRestOfLn2 * n;
  return Scaled(1 + SmallExpm1(rest), static_cast<int>(n));
}

// Next to 0, where multiples of the result may be middles, two more terms are all that there is.
DoubleDouble Expm1(const DoubleDouble& x) {
  if (x.high == 0) return x;
  if (std::abs(x.high) < 0x1p-45) {
    return ExactSumOfOrdered(x.high, x.low + x.high * x.high / 2 * (1 + x.high / 3));
  }
  return std::abs(x.high) <= 0.35 ? SmallExpm1(x) : Exp(x) - 1;
}

DoubleDouble Sinh(const DoubleDouble& x) {
  if (x.high == 0) return x;
  if (IsSmall(x)) return SmallSinh(x);
  const DoubleDouble e = Exp(Magnitude(x));
  return WithSign(Scaled(e - 1 / e, -1), x);
}

DoubleDouble Cosh(const DoubleDouble& x) {
  if (IsSmall(x)) return SmallCosh(x);
  const DoubleDouble e = Exp(Magnitude(x));
  return Scaled(e + 1 / e, -1);
}

DoubleDouble Tanh(const DoubleDouble& x) {
  if (x.high == 0) return x;
  if (std::abs(x.high) < 0x1p-22) {
    const double square = x.high * x.high;
    return ExactSumOfOrdered(x.high, x.low - x.high * square / 3 * (1 - square * 2 / 5));
  }
  if (IsSmall(x)) return SmallSinh(x) / SmallCosh(x);
  return WithSign(1 - 2 / (Exp(Scaled(Magnitude(x), 1)) + 1), x);
}

DoubleDouble Sigmoid(const DoubleDouble& x) { return 1 / (1 + Exp(-x)); }

// The product of two FLOAT32 is exact.
DoubleDouble Swish(double x, double s) {
  if (x == 0) return x;
  const double product = s * x;
  if (std::abs(product) < 0x1p-45) return ExactSumOfOrdered(x / 2, x * product / 4);
  return x / (1 + Exp(-product));
}

}  // namespace opserve::cpu::slow
