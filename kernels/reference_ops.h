// File: kernels/reference_ops.h
//
// Bodies of the reference column of kernels/elementwise.def that are longer than an expression, and
// FLOAT16 as a number. Scalar, plain, and independent of the SIMD bodies.

#ifndef OPSERVE_KERNELS_REFERENCE_OPS_H_
#define OPSERVE_KERNELS_REFERENCE_OPS_H_

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace opserve::reference {

// FLOAT16 in memory.
struct Float16 {
  uint16_t bits = 0;
};

// The value of a FLOAT16.
inline float ToFloat(Float16 half) {
  const bool is_negative = (half.bits & 0x8000) != 0;
  const int exponent = (half.bits >> 10) & 0x1F;
  const int mantissa = half.bits & 0x3FF;
  float magnitude;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(0x400 + mantissa), exponent - 25);
  }
  return std::copysign(magnitude, is_negative ? -1.0f : 1.0f);
}

// The nearest FLOAT16, to even where two are equally near.
inline Float16 ToHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  uint16_t bits;
  if (std::isnan(value)) {
    bits = 0x7E00;
  } else if (magnitude >= 65520.0f) {
    bits = 0x7C00;
  } else if (magnitude < 0x1p-14f) {
    // Denormals count in units of 2^-24; 1024 of them are the least normal number.
    bits = static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  } else {
    int exponent;
    const float fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
    const int mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
    // A mantissa of 2048 carries into the exponent.
    bits = static_cast<uint16_t>(((exponent + 14) << 10) + mantissa - 0x400);
  }
  return Float16{static_cast<uint16_t>(sign | bits)};
}

// By InfinityMode: 0 either, 1 positive, 2 negative.
template <int kMode, std::floating_point T>
bool IsInfinity(T x) {
  if (kMode == 1) return x == std::numeric_limits<T>::infinity();
  if (kMode == 2) return x == -std::numeric_limits<T>::infinity();
  return std::isinf(x);
}

// By RoundingMode: 0 halves to even, 1 toward zero, 2 halves away from zero.
template <int kMode, std::floating_point T>
T Round(T x) {
  if (kMode == 1) return std::trunc(x);
  if (kMode == 2) {
    // Not std::round: mingw-w64's takes the number before 0.5 for a half.
    const T whole = std::trunc(x);
    return std::abs(x - whole) >= T{0.5} ? whole + std::copysign(T{1}, x) : whole;
  }
  return std::nearbyint(x);
}

template <std::floating_point T>
T ModulusTruncate(T x, T y) {
  return std::fmod(x, y);
}

template <std::unsigned_integral T>
T ModulusTruncate(T x, T y) {
  return y == 0 ? std::numeric_limits<T>::max() : static_cast<T>(x % y);
}

template <std::signed_integral T>
T ModulusTruncate(T x, T y) {
  if (y == 0) return x;
  // The quotient of the least value and -1 does not exist in T.
  if (y == T{-1}) return 0;
  return static_cast<T>(x % y);
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_OPS_H_
