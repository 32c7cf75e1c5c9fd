// File: kernels/reference_power.h
//
// Powers as the reference computes them. Internal to kernels/reference.cc.

#ifndef OPSERVE_KERNELS_REFERENCE_POWER_H_
#define OPSERVE_KERNELS_REFERENCE_POWER_H_

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "kernels/reference_elementary.h"

namespace opserve::reference {

// An exponent, exactly, and whether its type is an integer's.
struct Exponent {
  Wide value = 0;
  bool is_integer = false;
};

// The integer x^exponent, held within 2^40: no step below that is inexact. Negative exponents leave
// nothing but powers of 1 and -1.
inline int64_t WholePower(int64_t x, Wide exponent) {
  constexpr Wide kMost = 0x1p40;
  const bool is_odd = std::fmod(exponent, Wide{2}) != 0;
  if (exponent < 0 && x != 1 && x != -1) return 0;
  // More steps change nothing but the sign.
  const Wide magnitude = std::fabs(exponent);
  const int steps = magnitude <= 64 ? static_cast<int>(magnitude) : is_odd ? 65 : 64;
  Wide power = 1;
  for (int i = 0; i < steps; ++i) power = std::clamp(power * static_cast<Wide>(x), -kMost, kMost);
  return static_cast<int64_t>(power);
}

// x^exponent modulo 2^32, for the exponents that WholePower has.
inline uint32_t WrappedPower(int64_t x, Wide exponent) {
  if (exponent < 0) return static_cast<uint32_t>(WholePower(x, exponent));
  auto factor = static_cast<uint32_t>(x);
  uint32_t power = 1;
  for (auto steps = static_cast<uint32_t>(exponent); steps != 0; steps >>= 1) {
    if ((steps & 1) != 0) power *= factor;
    factor *= factor;
  }
  return power;
}

// x^exponent truncated toward zero and saturated, 0 for NaN.
template <std::integral T>
T TruncatedPower(T x, Wide exponent) {
  constexpr Wide kLeast = std::numeric_limits<T>::min();
  constexpr Wide kMost = std::numeric_limits<T>::max();
  Wide base = x;
  // Roots that are integers are taken exactly; whatever is left is irrational.
  while (exponent != std::trunc(exponent) && std::isfinite(exponent) && base > 1) {
    const Wide root = std::nearbyint(std::sqrt(base));
    if (root * root != base) break;
    base = root;
    exponent *= 2;
  }
  // However near to one.
  const bool is_below_one = exponent < 0 && (base == 0 || base > 1);
  const Wide power = exponent == std::trunc(exponent) && std::isfinite(exponent)
                         ? static_cast<Wide>(WholePower(static_cast<int64_t>(base), exponent))
                         : std::pow(base, exponent);
  if (is_below_one || std::isnan(power)) return 0;
  return static_cast<T>(std::trunc(std::clamp(power, kLeast, kMost)));
}

template <class TElement, class T>
T RaisedTo(T x, const Exponent& exponent) {
  if constexpr (std::floating_point<T>) {
    return Pow<TElement>(x, exponent.value);
  } else if (!exponent.is_integer) {
    return TruncatedPower(x, exponent.value);
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(WrappedPower(x, exponent.value));
  } else {
    return static_cast<T>(std::clamp<int64_t>(WholePower(x, exponent.value),
                                              std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()));
  }
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_POWER_H_
