// The error function, its complement, and what they make of x.

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/cpu/slow/constants.h"
#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

namespace opserve::cpu::slow {
namespace {

// An argument with its square, which is known better than the product of rounded arguments: errors
// of it become relative ones of e^(-z^2).
struct Argument {
  DoubleDouble z;
  DoubleDouble square;
};

// ------------------------------------------------------------------ Below 1

// 1 / (n! * (2n + 1)) with alternating signs.
constexpr auto kErfSeries = [] {
  auto c = ReciprocalFactorials<29>(0, 1);
  for (size_t n = 0; n < c.size(); ++n) c[n] = c[n] / static_cast<double>(2 * n + 1);
  return WithAlternatingSigns(c);
}();

// erf(z) = 2 / sqrt(pi) * (z - z^3/(1! * 3) + z^5/(2! * 5) - ...), for 0 <= z <= 1: the first term
// left out is z^59/(29! * 59), below 2^-107 of the sum.
DoubleDouble SmallErf(const Argument& a) {
  constexpr DoubleDouble kTwoByRootOfPi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed8p-56};
  return kTwoByRootOfPi * a.z * SumOfPowers(kErfSeries, a.square);
}

// ------------------------------------------------------------------ From 1 on

// erfc(z) = 2 * z / pi * e^(-z^2) * (the integral of e^(-t^2) / (z^2 + t^2) over t >= 0). The rule
// of trapezoids with steps of h finds it but for a relative error of 2 * e^(-(pi / h)^2), here
// 2^-119, and a term for the pole at t = iz.
constexpr double kStep = 11.0 / 32;
constexpr size_t kSteps = 25;

// e^(-(n * h)^2) for n = 1, 2, ...: the first one left out is below 2^-115.
constexpr auto kWeights = [] {
  const DoubleDouble first = SumOfPowers(ReciprocalFactorials<24>(0, 1), -kStep * kStep);
  const DoubleDouble square = first * first;
  std::array<DoubleDouble, kSteps> weights;
  DoubleDouble weight = first;
  // From the weight of n to that of n + 1: first^(2n + 1).
  DoubleDouble ratio = first * square;
  for (DoubleDouble& w : weights) {
    w = weight;
    weight = weight * ratio;
    ratio = ratio * square;
  }
  return weights;
}();

// For z >= 1.
DoubleDouble LargeErfc(const Argument& a) {
  DoubleDouble sum;
  for (size_t i = kSteps; i-- > 0;) {
    const double t = kStep * static_cast<double>(i + 1);
    sum = sum + kWeights[i] / (a.square + t * t);
  }
  sum = Scaled(sum, 1) + 1 / a.square;
  const DoubleDouble integral = kStep * a.z / kPi * Exp(-a.square) * sum;
  // Elsewhere the pole's term is below 2^-100 of the rest.
  if (a.z.high > 6) return integral;
  return integral - 2 / (Exp(Scaled(kPi, 1) * a.z / kStep) - 1);
}

// ------------------------------------------------------------------ Both

bool IsSmall(const Argument& a) { return a.z.high < 1; }

// Of a.z >= 0.
DoubleDouble ErfOf(const Argument& a) { return IsSmall(a) ? SmallErf(a) : 1 - LargeErfc(a); }
DoubleDouble ErfcOf(const Argument& a) { return IsSmall(a) ? 1 - SmallErf(a) : LargeErfc(a); }

Argument MagnitudeOf(double x) { return {std::abs(x), DoubleDouble(x * x)}; }

}  // namespace

DoubleDouble Erf(double x) {
  if (x == 0) return x;
  return WithSign(ErfOf(MagnitudeOf(x)), x);
}

DoubleDouble Erfc(double x) {
  const Argument a = MagnitudeOf(x);
  return x < 0 ? 1 + ErfOf(a) : ErfcOf(a);
}

DoubleDouble Gelu(double x) {
  constexpr DoubleDouble kRootOfHalf = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
  constexpr double kReciprocalOfRootOfTwoPi = 0x1.9884533d43651p-2;
  if (x == 0) return x;
  if (std::abs(x) < 0x1p-45) return ExactSumOfOrdered(x / 2, x * x * kReciprocalOfRootOfTwoPi);
  const Argument a = {kRootOfHalf * std::abs(x), DoubleDouble(x * x / 2)};
  return x / 2 * (x < 0 ? ErfcOf(a) : 1 + ErfOf(a));
}

}  // namespace opserve::cpu::slow
