// File: kernels/reference_ops.h
//
// Bodies of the reference column of kernels/operators.def that are longer than an expression, and
// FLOAT16 as a number. Scalar, plain, and independent of the SIMD bodies.

#ifndef OPSERVE_KERNELS_REFERENCE_OPS_H_
#define OPSERVE_KERNELS_REFERENCE_OPS_H_

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/scalar.h"

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
    // A NaN keeps its bits.
    magnitude = std::bit_cast<float>(0x7F800000u | static_cast<uint32_t>(mantissa) << 13);
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(0x400 + mantissa), exponent - 25);
  }
  return std::copysign(magnitude, is_negative ? -1.0f : 1.0f);
}

// The nearest FLOAT16, to even where two are equally near.
inline Float16 ToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  uint16_t bits;
  if (std::isnan(value)) {
    bits = 0x7E00;
  } else if (magnitude >= 65520.0) {
    bits = 0x7C00;
  } else if (magnitude < 0x1p-14) {
    // Denormals count in units of 2^-24; 1024 of them are the least normal number.
    bits = static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  } else {
    int exponent;
    const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
    const int mantissa = static_cast<int>(std::nearbyint(std::ldexp(fraction, 11)));
    // A mantissa of 2048 carries into the exponent.
    bits = static_cast<uint16_t>(((exponent + 14) << 10) + mantissa - 0x400);
  }
  return Float16{static_cast<uint16_t>(sign | bits)};
}

// The same of a FLOAT32; a NaN that was a FLOAT16 is the same one again.
inline Float16 ToHalf(float value) {
  if (!std::isnan(value)) return ToHalf(double{value});
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t payload = bits >> 13 & 0x3FF;
  return Float16{
      static_cast<uint16_t>((bits >> 16 & 0x8000) | 0x7C00 | (payload != 0 ? payload : 0x200))};
}

// ------------------------------------------------------------------ Rounding once

// The number that stands for a + b where that is rounded to fewer digits than a double has: a + b
// itself, or, where it has too many, the neighbour with an odd last bit, which is on the same side
// of every shorter number and of every middle between two of them.
inline double RoundedToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  const bool is_even = (std::bit_cast<uint64_t>(sum) & 1) == 0;
  if (error == 0 || !is_even) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

// A double in the precision of TElement, as a number.
template <class TElement>
float Rounded(double value) {
  if constexpr (std::is_same_v<TElement, Float16>) {
    return ToFloat(ToHalf(value));
  } else {
    return static_cast<float>(value);
  }
}

// The least and the largest value of an integer type that a double may be truncated to.
template <std::integral T>
T Truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  // The largest value of a 64-bit type becomes the power of two above it.
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

// x * y + z of a float type, rounded once.
template <class TElement>
float MultipliedAndAdded(float x, float y, float z) {
  return Rounded<TElement>(RoundedToOdd(double{x} * double{y}, z));
}

// The same of an integer type, truncated. The product may have more digits than a double: what
// that lacks decides where the sum is integral.
template <class TElement>
requires std::integral<TElement> TElement MultipliedAndAdded(TElement x, float y, float z) {
  const long double product = static_cast<long double>(x) * static_cast<long double>(y);
  static_assert(std::numeric_limits<long double>::digits >= 24 + 32);
  const long double sum = product + static_cast<long double>(z);
  const long double z_part = sum - product;
  const long double error = (product - (sum - z_part)) + (static_cast<long double>(z) - z_part);
  long double whole = std::trunc(sum);
  if (whole == sum && std::isfinite(sum)) {
    if (sum > 0 && error < 0) whole -= 1;
    if (sum < 0 && error > 0) whole += 1;
  }
  return Truncated<TElement>(static_cast<double>(whole));
}

// ------------------------------------------------------------------ Moves, signs and bits

// Integers of 8 and 16 bits saturate, wider ones wrap.
template <class TElement>
TElement NegatedInteger(TElement x) {
  if (x != std::numeric_limits<TElement>::min()) return static_cast<TElement>(-x);
  return sizeof(TElement) < 4 ? std::numeric_limits<TElement>::max() : x;
}

template <class TElement, class T>
T Negated(T x) {
  if constexpr (std::floating_point<T>) {
    return -x;
  } else {
    return NegatedInteger<TElement>(x);
  }
}

template <class TElement, class T>
T Magnitude(T x) {
  if constexpr (std::floating_point<T>) {
    return std::fabs(x);
  } else {
    return x < 0 ? NegatedInteger<TElement>(x) : x;
  }
}

// Shifts of words of 32 or 64 bits, cut to T.
template <std::unsigned_integral T>
T ShiftedLeft(T x, T y) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Word word = Word{x} << (y & (sizeof(Word) * 8 - 1));
  return static_cast<T>(word);
}

template <std::unsigned_integral T>
T ShiftedRight(T x, T y) {
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return static_cast<T>(Word{x} >> (y & (sizeof(Word) * 8 - 1)));
}

// ------------------------------------------------------------------ Logic, comparisons and tests

// By InfinityMode: 0 either, 1 positive, 2 negative.
template <int kMode, std::floating_point T>
bool IsInfinity(T x) {
  if (kMode == 1) return x == std::numeric_limits<T>::infinity();
  if (kMode == 2) return x == -std::numeric_limits<T>::infinity();
  return std::isinf(x);
}

template <class T>
T Sign(T x) {
  return static_cast<T>(x < 0 ? -1 : x > 0 ? 1 : 0);
}

// ------------------------------------------------------------------ Selection

// The first where neither is less, the other where one is NaN.
template <class T>
T LesserOf(T x, T y) {
  return x != x || y < x ? y : x;
}
template <class T>
T GreaterOf(T x, T y) {
  return x != x || y > x ? y : x;
}

// A FLOAT attribute as a limit of elements like `x`.
template <class T>
T Limit(T /*x*/, float attribute) {
  if constexpr (std::floating_point<T>) {
    return attribute;
  } else {
    return Truncated<T>(attribute);
  }
}

template <class T>
T Limit(T /*x*/, Scalar attribute) {
  return attribute.As<T>();
}

// ------------------------------------------------------------------ Rounding and remainders

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

template <class TElement, std::floating_point T>
T ModulusFloor(T x, T y) {
  const T rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(T{0}, y);
  // The sum has two roundings to FLOAT16, of which the first, to FLOAT32, decides nothing.
  return (rest < 0) == (y < 0) || std::isnan(rest) ? rest : rest + y;
}

template <class TElement, std::integral T>
T ModulusFloor(T x, T y) {
  if (y == 0) return static_cast<T>(std::is_unsigned_v<T> || x >= 0 ? -1 : 1);
  const T rest = ModulusTruncate(x, y);
  const bool agree = rest == 0 || (rest < 0) == (y < 0);
  return static_cast<T>(agree ? rest : rest + y);
}

// ------------------------------------------------------------------ Arithmetic

// Integers wrap: their low bits are those of the 64-bit result.
template <class T>
T Added(T x, T y) {
  if constexpr (std::floating_point<T>)
    return x + y;
  else
    return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}
template <class T>
T Subtracted(T x, T y) {
  if constexpr (std::floating_point<T>)
    return x - y;
  else
    return static_cast<T>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}
template <class T>
T Multiplied(T x, T y) {
  if constexpr (std::floating_point<T>)
    return x * y;
  else
    return static_cast<T>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
}

template <class T>
T Divided(T x, T y) {
  if constexpr (std::floating_point<T>) {
    return x / y;
  } else if constexpr (std::unsigned_integral<T>) {
    return y == 0 ? std::numeric_limits<T>::max() : static_cast<T>(x / y);
  } else {
    if (y == 0) return x >= 0 ? T{-1} : T{1};
    // The least number is its own negative.
    if (y == T{-1}) return Subtracted(T{0}, x);
    return static_cast<T>(x / y);
  }
}

template <class TElement, class T>
T Mean(T x, T y) {
  if constexpr (std::floating_point<T>) {
    return Rounded<TElement>(RoundedToOdd(x, y) / 2);
  } else {
    return static_cast<T>((int64_t{x} + int64_t{y}) / 2);
  }
}

// What a * b lacks to the exact product, by the halves of their digits.
inline double ErrorOfProduct(double a, double b) {
  const auto upper = [](double x) {
    const double shifted = x * (0x1p27 + 1);
    return shifted - (shifted - x);
  };
  const double a_lower = a - upper(a);
  const double b_lower = b - upper(b);
  const double error = upper(a) * upper(b) - a * b;
  return error + upper(a) * b_lower + a_lower * upper(b) + a_lower * b_lower;
}

template <class TElement, std::integral T>
T DifferenceSquared(T x, T y) {
  return Multiplied(Subtracted(x, y), Subtracted(x, y));
}

template <class TElement, std::floating_point T>
T DifferenceSquared(T x, T y) {
  const double a = std::fmax(std::fabs(x), std::fabs(y));
  const double b = std::fmin(std::fabs(x), std::fabs(y));
  if (std::isnan(x) || std::isnan(y) || std::isinf(a)) return (x - y) * (x - y);
  const double sign = std::signbit(x) == std::signbit(y) ? 1 : -1;
  // All digits of numbers so near fit in the difference, those of the others decide nothing below
  // the square of the greater.
  if (a < 0x1p28 * b || b == 0) {
    const double difference = a - sign * b;
    return Rounded<TElement>(
        RoundedToOdd(difference * difference, ErrorOfProduct(difference, difference)));
  }
  return Rounded<TElement>(RoundedToOdd(a * a, RoundedToOdd(-2 * sign * a * b, b * b)));
}

// ------------------------------------------------------------------ Activations

template <class TElement>
float LeakyRelu(float x, float alpha) {
  return x >= 0 ? x : Rounded<TElement>(double{x} * double{alpha});
}

template <class T>
T ParameterizedRelu(T x, T slope) {
  return x >= 0 ? x : Multiplied(x, slope);
}

template <class TElement>
float HardSigmoid(float x, float alpha, float beta) {
  const double value = RoundedToOdd(double{x} * double{alpha}, beta);
  if (!(value > 0)) return 0;
  return value >= 1 ? 1 : Rounded<TElement>(value);
}

template <class TElement>
float Softsign(float x) {
  const double magnitude = std::fabs(x);
  // So near to x, or to 1, that no other number is nearer.
  if (magnitude < 0x1p-29) return x;
  if (magnitude > 0x1p52) return std::copysign(1.0f, x);
  const double quotient = x / (1 + magnitude);
  const double rest = (x - quotient * (1 + magnitude)) - ErrorOfProduct(quotient, 1 + magnitude);
  return Rounded<TElement>(RoundedToOdd(quotient, rest / (1 + magnitude)));
}

template <class TElement, class T>
T Shrink(T x, float bias, float threshold) {
  const double value = static_cast<double>(x);
  const bool is_above = value > threshold;
  if (!is_above && !(value < -threshold)) return 0;
  const double moved = RoundedToOdd(value, is_above ? -bias : bias);
  if constexpr (std::floating_point<T>) {
    return Rounded<TElement>(moved);
  } else {
    return Truncated<T>(std::nearbyint(moved));
  }
}

template <class TElement>
float HardSwish(float x, float alpha, float beta) {
  const double product = double{x} * double{alpha};
  const double factor = RoundedToOdd(product, beta);
  if (!(factor > 0)) {
    const bool has_limit = std::isfinite(alpha) && std::isfinite(beta) && alpha != 0;
    return std::isinf(x) && has_limit ? std::copysign(0.0f, x) : x * 0.0f;
  }
  if (factor >= 1 || x == 0) return x;
  // x * product in two parts, and x * beta.
  const double square = product * x;
  const double linear = double{x} * double{beta};
  const double sum = square + linear;
  const double linear_part = sum - square;
  const double error = (square - (sum - linear_part)) + (linear - linear_part);
  return Rounded<TElement>(RoundedToOdd(sum, RoundedToOdd(error, ErrorOfProduct(product, x))));
}

// ------------------------------------------------------------------ Rows

// 1 for the element that a scan for a greater one ends at, 0 for all others.
inline std::vector<float> Hardmax(const std::vector<float>& row) {
  size_t best = 0;
  for (size_t i = 1; i < row.size(); ++i) {
    if (row[i] > row[best]) best = i;
  }
  std::vector<float> result(row.size(), 0.0f);
  result[best] = 1;
  return result;
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_OPS_H_
