// File: client/compare/element_traits.h
//
// What comparison must know of an element type: how far two elements are apart, and what they are.
// Stateless.

#ifndef OPSERVE_CLIENT_COMPARE_ELEMENT_TRAITS_H_
#define OPSERVE_CLIENT_COMPARE_ELEMENT_TRAITS_H_

#include <bit>
#include <cstdint>
#include <type_traits>

#include "opserve/half.h"

namespace opserve::compare_internal {

// An integer type.
template <class T>
struct IntegerTraits {
  using Bits = std::make_unsigned_t<T>;
  static constexpr bool kIsFloat = false;

  // Exact for all pairs: the difference of two integers fits 64 bits without a sign.
  static uint64_t Distance(Bits a, Bits b) {
    const auto x = static_cast<T>(a);
    const auto y = static_cast<T>(b);
    return x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
                 : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
  }
  static bool IsNegative(Bits bits) { return static_cast<T>(bits) < 0; }
  static double Value(Bits bits) { return static_cast<double>(static_cast<T>(bits)); }
};

// An IEEE 754 type whose encoding is UnsignedBits, with kMantissaBits bits of mantissa.
template <class UnsignedBits, int kMantissaBits>
struct FloatTraits {
  using Bits = UnsignedBits;
  static constexpr bool kIsFloat = true;
  static constexpr int kWidth = 8 * sizeof(Bits);
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kWidth - 1));
  static constexpr Bits kInfinity =
      static_cast<Bits>(((Bits{1} << (kWidth - 1 - kMantissaBits)) - 1) << kMantissaBits);

  static Bits Magnitude(Bits bits) { return static_cast<Bits>(bits & ~kSign); }
  static bool IsNegative(Bits bits) { return (bits & kSign) != 0; }
  static bool IsNan(Bits bits) { return Magnitude(bits) > kInfinity; }
  static bool IsInfinite(Bits bits) { return Magnitude(bits) == kInfinity; }

  // Of numbers: on each side of zero the encodings without the sign are the places from zero on.
  static uint64_t Distance(Bits a, Bits b) {
    const uint64_t x = Magnitude(a);
    const uint64_t y = Magnitude(b);
    if (IsNegative(a) != IsNegative(b)) return x + y;
    return x < y ? y - x : x - y;
  }
  static double Value(Bits bits) {
    if constexpr (sizeof(Bits) == sizeof(double)) {
      return std::bit_cast<double>(bits);
    } else if constexpr (sizeof(Bits) == sizeof(float)) {
      return static_cast<double>(std::bit_cast<float>(bits));
    } else {
      return static_cast<double>(static_cast<float>(Half::FromBits(bits)));
    }
  }
};

using Float64Traits = FloatTraits<uint64_t, 52>;
using Float32Traits = FloatTraits<uint32_t, 23>;
using Float16Traits = FloatTraits<uint16_t, 10>;

}  // namespace opserve::compare_internal

#endif  // OPSERVE_CLIENT_COMPARE_ELEMENT_TRAITS_H_
