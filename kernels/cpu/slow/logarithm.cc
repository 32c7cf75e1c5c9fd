// The natural logarithm, and the functions that it makes.

#include <cmath>

#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

namespace opserve::cpu::slow {
namespace {

// The largest quotient that SmallAtanh takes: (sqrt(2) - 1) / (sqrt(2) + 1) and a little.
constexpr double kSmallQuotient = 0.172;

// (atanh(s) - s) / s^3 = 1/3 + s^2/5 + ..., for |s| <= kSmallQuotient: the first term left out is
// s^40/43, below 2^-106.
constexpr auto kAtanhAfterLinear = ReciprocalNumbers<20>(3, 2);

DoubleDouble SmallAtanh(const DoubleDouble& s) {
  const DoubleDouble square = s * s;
  return s + s * square * SumOfPowers(kAtanhAfterLinear, square);
}

}  // namespace

// ln(2^n * m) = n * ln 2 + 2 * atanh((m - 1) / (m + 1)), with m from sqrt(1/2) to sqrt(2): the
// terms never cancel, and near 1 the first is zero.
DoubleDouble Log(const DoubleDouble& x) {
  constexpr DoubleDouble kLn2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
  constexpr double kRootOfHalf = 0x1.6a09e667f3bcdp-1;

  int n = 0;
  if (std::frexp(x.high, &n) < kRootOfHalf) --n;
  const DoubleDouble m = Scaled(x, -n);
  return kLn2 * n + Scaled(SmallAtanh((m - 1) / (m + 1)), 1);
}

DoubleDouble Log1p(const DoubleDouble& x) {
  if (x.high == 0) return x;
  if (std::abs(x.high) > 0.25) return Log(1 + x);
  return Scaled(SmallAtanh(x / (2 + x)), 1);
}

DoubleDouble Softplus(const DoubleDouble& x) {
  return x.high > 0 ? x + Log1p(Exp(-x)) : Log1p(Exp(x));
}

// Squares of FLOAT32 are exact.
DoubleDouble Asinh(double x) {
  if (x == 0) return x;
  const DoubleDouble root = SquareRoot(1 + DoubleDouble(x * x));
  const double magnitude = std::abs(x);
  if (magnitude <= kSmallQuotient) return SmallAtanh(x / root);
  return WithSign(Log(magnitude + root), x);
}

DoubleDouble Acosh(double x) {
  const DoubleDouble above_one = DoubleDouble(x) - 1;
  return Log1p(above_one + SquareRoot(above_one * (above_one + 2)));
}

DoubleDouble Atanh(double x) {
  if (x == 0) return x;
  if (std::abs(x) <= kSmallQuotient) return SmallAtanh(x);
  return Scaled(Log((1 + DoubleDouble(x)) / (1 - DoubleDouble(x))), -1);
}

}  // namespace opserve::cpu::slow
