// File: kernels/reference_elementary.h
//
// Bodies of the reference column for elementary functions and the activations made of them:
// formulas in the C library's long double, whose last digits are 2^-40 of the distance between two
// FLOAT32. tests/conformance/elementary_test.cc holds them, and the kernels, to MPFR.

#ifndef OPSERVE_KERNELS_REFERENCE_ELEMENTARY_H_
#define OPSERVE_KERNELS_REFERENCE_ELEMENTARY_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/reference_ops.h"

namespace opserve::reference {

using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

// a + b in the precision of TElement, rounded once, where |a| >= |b| or one is 0.
template <class TElement>
float SumRoundedOnce(Wide a, Wide b) {
  const Wide sum = b == 0 ? a : a + b;
  const auto value = static_cast<double>(sum);
  if (!std::isfinite(value)) return Rounded<TElement>(value);
  // What the double lacks; what the sum lacks, where that is nothing.
  Wide rest = sum - Wide{value};
  if (rest == 0) rest = b - (sum - a);
  const bool is_even = (std::bit_cast<uint64_t>(value) & 1) == 0;
  if (rest == 0 || !is_even) return Rounded<TElement>(value);
  return Rounded<TElement>(std::nextafter(value, rest > 0 ? HUGE_VAL : -HUGE_VAL));
}

template <class TElement>
float RoundedOnce(Wide value) {
  return SumRoundedOnce<TElement>(value, 0);
}

// Near zero the result is a half and a little, which may lie next to a middle.
template <class TElement>
float Sigmoid(float x) {
  if (std::fabs(x) < 1) return SumRoundedOnce<TElement>(0.5L, std::tanh(Wide{x} / 2) / 2);
  return RoundedOnce<TElement>(1 / (1 + std::exp(-Wide{x})));
}

template <class TElement>
float Swish(float x, float scale) {
  const Wide product = Wide{x} * Wide{scale};
  if (std::isinf(x) && std::isfinite(scale) && scale != 0) {
    return product > 0 ? x : std::copysign(0.0f, x);
  }
  if (std::fabs(product) < 1) {
    return SumRoundedOnce<TElement>(Wide{x} / 2, Wide{x} * std::tanh(product / 2) / 2);
  }
  return RoundedOnce<TElement>(Wide{x} / (1 + std::exp(-product)));
}

template <class TElement>
float Gelu(float x) {
  const Wide argument = Wide{x} / std::sqrt(Wide{2});
  if (x == -std::numeric_limits<float>::infinity()) return -0.0f;
  if (std::fabs(x) < 0.5f) {
    return SumRoundedOnce<TElement>(Wide{x} / 2, Wide{x} / 2 * std::erf(argument));
  }
  return RoundedOnce<TElement>(Wide{x} / 2 * std::erfc(-argument));
}

// Near zero many functions are next to their argument, or a multiple of it, which may be a middle:
// the second term of their series decides.
constexpr Wide kNearZero = 0x1p-17;

// The angle of (x, y), where y is the input called A.
template <class TElement>
float ArctanYx(float y, float x) {
  const Wide quotient = Wide{y} / Wide{x};
  if (x > 0 && std::fabs(quotient) < kNearZero) {
    return SumRoundedOnce<TElement>(quotient, -quotient * quotient * quotient / 3);
  }
  return RoundedOnce<TElement>(std::atan2(Wide{y}, Wide{x}));
}

// C's pow. powl is off by less than 2^-62, also where the power is a middle, which has few digits:
// so those beyond 58 are rounded away.
template <class TElement>
float Pow(float x, Wide exponent) {
  const Wide power = std::pow(Wide{x}, exponent);
  const Wide shifted = power * 0x41;
  const Wide rounded = shifted - (shifted - power);
  return RoundedOnce<TElement>(std::isfinite(shifted) ? rounded : power);
}

// factor * (e^x - 1). Far below zero that is next to -factor, which may be a middle: no e^x is zero
// but that of minus infinity.
template <class TElement>
float ScaledExpm1(Wide x, Wide factor) {
  if (std::fabs(x) < kNearZero && std::isfinite(factor)) {
    return SumRoundedOnce<TElement>(factor * x, factor * (x * x / 2 + x * x * x / 6));
  }
  if (!(x < -1) || !std::isfinite(factor)) {
    return RoundedOnce<TElement>(factor * std::expm1(x));
  }
  if (std::isinf(x)) return RoundedOnce<TElement>(-factor);
  return SumRoundedOnce<TElement>(-factor, factor * std::exp(std::fmax(x, Wide{-10000})));
}

// gamma * (x >= 0 ? x : alpha * (e^x - 1))
template <class TElement>
float Elu(float x, float alpha, float gamma) {
  if (x >= 0) return RoundedOnce<TElement>(Wide{gamma} * Wide{x});
  return ScaledExpm1<TElement>(x, Wide{gamma} * Wide{alpha});
}

template <class TElement>
float Celu(float x, float alpha) {
  if (std::isnan(x)) return 0;
  if (x > 0) return x;
  if (x == 0 || alpha == 0 || !std::isfinite(alpha)) return 0;
  return ScaledExpm1<TElement>(Wide{x} / Wide{alpha}, alpha);
}

template <class TElement>
float ScaledTanh(float x, float alpha, float beta) {
  const Wide product = Wide{beta} * Wide{x};
  if (!std::isfinite(alpha)) return RoundedOnce<TElement>(Wide{alpha} * std::tanh(product));
  if (std::fabs(product) < kNearZero) {
    const Wide cube = product * product * product;
    return SumRoundedOnce<TElement>(Wide{alpha} * product, -Wide{alpha} * cube / 3);
  }
  if (!(std::fabs(product) > 1)) return RoundedOnce<TElement>(Wide{alpha} * std::tanh(product));
  // Next to Alpha, which may be a middle.
  const Wide limit = Wide{alpha} * std::copysign(Wide{1}, product);
  if (std::isinf(product)) return RoundedOnce<TElement>(limit);
  const Wide power = std::exp(2 * std::fmin(std::fabs(product), Wide{5000}));
  return SumRoundedOnce<TElement>(limit, -limit * 2 / (power + 1));
}

// factor * ln(1 + e^x). Far above zero that is next to factor * x, which may be a middle.
template <class TElement>
float ScaledSoftplus(Wide x, Wide factor) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (x == std::numeric_limits<Wide>::infinity()) return RoundedOnce<TElement>(factor * x);
  const Wide power = std::exp(std::isinf(x) ? x : -std::fmin(std::fabs(x), Wide{10000}));
  if (!(x > 1) || !std::isfinite(factor)) {
    return RoundedOnce<TElement>(factor * (std::fmax(x, Wide{0}) + std::log1p(power)));
  }
  return SumRoundedOnce<TElement>(factor * x, factor * std::log1p(power));
}

template <class TElement>
float Softplus(float x, float steepness) {
  return ScaledSoftplus<TElement>(Wide{steepness} * Wide{x}, 1 / Wide{steepness});
}

template <class TElement>
float ParametricSoftplus(float x, float alpha, float beta) {
  return ScaledSoftplus<TElement>(Wide{beta} * Wide{x}, alpha);
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_ELEMENTARY_H_
