// File: tests/conformance/hlsl_words.h
//
// What the bodies in kernels/hlsl/*.hlsli use of HLSL, in C++. They are included after it, in the
// same namespace, while `loop` is a macro that makes an attribute of C++ of [loop].

#ifndef OPSERVE_TESTS_CONFORMANCE_HLSL_WORDS_H_
#define OPSERVE_TESTS_CONFORMANCE_HLSL_WORDS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/reference_ops.h"

namespace opserve::testing::hlsl_words {

using uint = unsigned;

struct uint2 {
  unsigned x;
  unsigned y;
  constexpr uint2() = default;
  constexpr uint2(unsigned both) : x(both), y(both) {}  // NOLINT(google-explicit-constructor)
  constexpr uint2(unsigned low, unsigned high) : x(low), y(high) {}
};

template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  const std::common_type_t<A, B> left = a;
  const std::common_type_t<A, B> right = b;
  return left < right ? left : right;
}

template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  const std::common_type_t<A, B> left = a;
  const std::common_type_t<A, B> right = b;
  return left < right ? right : left;
}

constexpr int abs(int x) { return x < 0 ? -x : x; }

constexpr uint asuint(float x) { return std::bit_cast<uint>(x); }

// FLOAT16s in the low bits.
inline float f16tof32(uint x) { return reference::ToFloat({static_cast<uint16_t>(x)}); }
inline uint f32tof16(float x) { return reference::ToHalf(x).bits; }

inline float round(float x) { return std::nearbyint(x); }
inline float floor(float x) { return std::floor(x); }

// The place of the highest bit that is set; all bits where there is none.
constexpr uint firstbithigh(uint x) { return 31u - static_cast<uint>(std::countl_zero(x)); }
// And of the lowest one.
constexpr uint firstbitlow(uint x) {
  return x == 0 ? 0xffffffff : static_cast<uint>(std::countr_zero(x));
}

}  // namespace opserve::testing::hlsl_words

#endif  // OPSERVE_TESTS_CONFORMANCE_HLSL_WORDS_H_
