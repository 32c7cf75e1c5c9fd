// Arctangents, and the functions that they make.

#include <cmath>

#include "kernels/cpu/slow/constants.h"
#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

namespace opserve::cpu::slow {
namespace {

// The largest number that SmallAtan takes: tan(pi / 32) and a little.
constexpr double kSmallTangent = 0.0985;

// (x - atan(x)) / x^3 = 1/3 - x^2/5 + ...: the first term left out is x^32/35, below 2^-111.
constexpr auto kAtanAfterLinear = WithAlternatingSigns(ReciprocalNumbers<16>(3, 2));

DoubleDouble SmallAtan(const DoubleDouble& x) {
  const DoubleDouble square = x * x;
  return x - x * square * SumOfPowers(kAtanAfterLinear, square);
}

// For |x| <= 1. Halves the angle up to three times: tan(a / 2) = tan(a) / (1 + sqrt(1 + tan(a)^2)).
DoubleDouble AtanWithinOne(DoubleDouble x) {
  int halvings = 0;
  for (; std::abs(x.high) > kSmallTangent; ++halvings) x = x / (1 + SquareRoot(1 + x * x));
  return Scaled(SmallAtan(x), halvings);
}

}  // namespace

DoubleDouble Atan(const DoubleDouble& x) {
  if (x.high == 0) return x;
  if (std::abs(x.high) <= 1) return AtanWithinOne(x);
  return WithSign(kHalfPi, x) - AtanWithinOne(1 / x);
}

// The tangent is x / sqrt(1 - x^2); the square is exact.
DoubleDouble Asin(double x) {
  if (x == 0) return x;
  if (std::abs(x) == 1) return WithSign(kHalfPi, x);
  return Atan(x / SquareRoot(1 - DoubleDouble(x * x)));
}

// Half of the angle has the tangent sqrt((1 - x) / (1 + x)).
DoubleDouble Acos(double x) {
  if (x == -1) return kPi;
  return Scaled(Atan(SquareRoot((1 - DoubleDouble(x)) / (1 + DoubleDouble(x)))), 1);
}

DoubleDouble AtanYx(double y, double x) {
  if (y == 0) return std::signbit(x) ? WithSign(kPi, y) : y;
  if (std::abs(y) > std::abs(x)) {
    return WithSign(kHalfPi, y) - AtanWithinOne(DoubleDouble(x) / y);
  }
  const DoubleDouble quotient = DoubleDouble(y) / x;
  if (x > 0 && std::abs(quotient.high) < 0x1p-22) {
    const double q = quotient.high;
    return ExactSumOfOrdered(q, quotient.low - q * q * q / 3 * (1 - q * q * 3 / 5));
  }
  const DoubleDouble angle = AtanWithinOne(quotient);
  return x > 0 ? angle : WithSign(kPi, y) + angle;
}

}  // namespace opserve::cpu::slow
