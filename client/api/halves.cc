#include <algorithm>

#include "opserve/half.h"

namespace opserve {
namespace {

// Inlined into functions for instruction sets of their own.
#define OPSERVE_INLINE inline __attribute__((always_inline))

// As Half's conversions, but without branches, so that compilers make vector instructions of them.

OPSERVE_INLINE uint32_t Choose(bool condition, uint32_t yes, uint32_t no) {
  const uint32_t mask = uint32_t{0} - static_cast<uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

OPSERVE_INLINE float Widen(uint16_t half) {
  constexpr uint32_t kExponent = 0x7c00u << 13;
  constexpr uint32_t kRebias = (127u - 15) << 23;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & kExponent;
  const uint32_t normal = magnitude + kRebias + Choose(exponent == kExponent, kRebias, 0);
  // 2^-14 more than a subnormal is exact, and so is the difference.
  const float subnormal = std::bit_cast<float>(magnitude + kRebias + (1u << 23)) -
                          std::bit_cast<float>(kRebias + (1u << 23));
  const uint32_t bits = Choose(exponent == 0, std::bit_cast<uint32_t>(subnormal), normal);
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

OPSERVE_INLINE uint16_t Narrow(float value) {
  constexpr int32_t kInfinity = 0x7f800000;
  constexpr int32_t kTooLarge = 0x477ff000;     // 65520
  constexpr int32_t kLeastNormal = 0x38800000;  // 2^-14
  // Where the sum with it is rounded to a multiple of 2^-24, the least subnormal half.
  constexpr uint32_t kMagic = (127u - 1) << 23;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // Instruction sets have comparisons of signed integers.
  const auto signed_magnitude = static_cast<int32_t>(magnitude);
  const uint32_t odd = (magnitude >> 13) & 1;
  const uint32_t normal = (magnitude - ((127u - 15) << 23) + 0xfff + odd) >> 13;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
  const uint32_t subnormal = std::bit_cast<uint32_t>(sum) - kMagic;
  const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x1ff);
  uint32_t half = Choose(signed_magnitude < kLeastNormal, subnormal, normal);
  half = Choose(signed_magnitude >= kTooLarge, 0x7c00, half);
  half = Choose(signed_magnitude > kInfinity, nan, half);
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000));
}

OPSERVE_INLINE void NarrowAll(const float* from, Half* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = Half::FromBits(Narrow(from[i]));
}

OPSERVE_INLINE void WidenAll(const Half* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = Widen(from[i].bits());
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void NarrowAllAvx2(const float* from, Half* to, size_t count) {
  NarrowAll(from, to, count);
}

__attribute__((target("avx2"))) void WidenAllAvx2(const Half* from, float* to, size_t count) {
  WidenAll(from, to, count);
}

bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
void NarrowAllAvx2(const float* from, Half* to, size_t count) { NarrowAll(from, to, count); }
void WidenAllAvx2(const Half* from, float* to, size_t count) { WidenAll(from, to, count); }
bool HasAvx2() { return false; }
#endif

}  // namespace

size_t ConvertHalves(std::span<const float> from, std::span<Half> to) {
  const size_t count = std::min(from.size(), to.size());
  if (HasAvx2()) {
    NarrowAllAvx2(from.data(), to.data(), count);
  } else {
    NarrowAll(from.data(), to.data(), count);
  }
  return count;
}

size_t ConvertHalves(std::span<const Half> from, std::span<float> to) {
  const size_t count = std::min(from.size(), to.size());
  if (HasAvx2()) {
    WidenAllAvx2(from.data(), to.data(), count);
  } else {
    WidenAll(from.data(), to.data(), count);
  }
  return count;
}

}  // namespace opserve

#undef OPSERVE_INLINE
