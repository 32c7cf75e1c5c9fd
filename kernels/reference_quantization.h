// File: kernels/reference_quantization.h
//
// Quantisation as the reference computes it. Internal to kernels/reference.cc.

#ifndef OPSERVE_KERNELS_REFERENCE_QUANTIZATION_H_
#define OPSERVE_KERNELS_REFERENCE_QUANTIZATION_H_

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "kernels/reference_ops.h"

namespace opserve::reference {

// The integer next to the exact quotient of x and scale, to even where two are equally near.
// Quotients too large for 8 bits stay as they are.
inline double NearestQuotient(double x, double scale) {
  const double quotient = x / scale;
  if (!(std::fabs(quotient) < 4096)) return quotient;
  // The remainder is exact, and of that integer; so is what it leaves, a multiple of the scale.
  return (x - std::remainder(x, scale)) / scale;
}

template <std::integral TOut>
TOut SaturatedTo(double value) {
  using Limits = std::numeric_limits<TOut>;
  return static_cast<TOut>(
      std::clamp(value, static_cast<double>(Limits::min()), static_cast<double>(Limits::max())));
}

// x is of 32 bits or fewer, or of a float type of them.
template <std::integral TOut>
TOut Quantize(double x, double scale, double zero_point) {
  const double whole = NearestQuotient(x, scale);
  return std::isnan(whole) ? TOut{0} : SaturatedTo<TOut>(whole + zero_point);
}

// Of integers of up to 32 bits, with a scale of the type of the result.
template <class TOut>
float Dequantize(double x, double scale, double zero_point) {
  const long double product = static_cast<long double>(x - zero_point) * scale;
  static_assert(std::numeric_limits<long double>::digits >= 33 + 24);
  if constexpr (std::is_same_v<TOut, Float16>) {
    // 33 digits by 11: exact in a double too.
    return Rounded<TOut>(static_cast<double>(product));
  } else {
    return static_cast<float>(product);
  }
}

// An integer of 8 bits with its scale and its zero point.
struct Quantized {
  double value;
  double scale;
  double zero_point;

  double number() const { return (value - zero_point) * scale; }
};

// What is rounded to odd is on the side of its sum of every middle between two integers, times a
// scale.
template <std::integral TOut>
TOut AddQuantized(const Quantized& a, const Quantized& b, double scale, double zero_point) {
  const double whole = NearestQuotient(RoundedToOdd(a.number(), b.number()), scale);
  return std::isnan(whole) ? std::numeric_limits<TOut>::min()
                           : SaturatedTo<TOut>(whole + zero_point);
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_QUANTIZATION_H_
