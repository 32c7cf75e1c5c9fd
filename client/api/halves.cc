#include <algorithm>

#include "opserve/half.h"

namespace opserve {
namespace {

// As Half's conversions, but without branches, so that compilers make vector instructions of them.

float Widen(uint16_t half) {
  constexpr uint32_t kExponent = 0x7c00u << 13;
  constexpr uint32_t kRebias = (127u - 15) << 23;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & kExponent;
  const uint32_t normal = magnitude + kRebias + (exponent == kExponent ? kRebias : 0);
  // 2^-14 more than a subnormal is exact, and so is the difference.
  const float subnormal = std::bit_cast<float>(magnitude + kRebias + (1u << 23)) -
                          std::bit_cast<float>(kRebias + (1u << 23));
  const uint32_t bits = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(bits | (half & 0x8000u) << 16);
}

uint16_t Narrow(float value) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kTooLarge = 0x477ff000;     // 65520
  constexpr uint32_t kLeastNormal = 0x38800000;  // 2^-14
  // Where the sum with it is rounded to a multiple of 2^-24, the least subnormal half.
  constexpr uint32_t kMagic = (127u - 1) << 23;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t odd = (magnitude >> 13) & 1;
  const uint32_t normal = (magnitude - ((127u - 15) << 23) + 0xfff + odd) >> 13;
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
  const uint32_t subnormal = std::bit_cast<uint32_t>(sum) - kMagic;
  const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x1ff);
  uint32_t half = magnitude < kLeastNormal ? subnormal : normal;
  half = magnitude >= kTooLarge ? 0x7c00 : half;
  half = magnitude > kInfinity ? nan : half;
  return static_cast<uint16_t>(half | (bits >> 16 & 0x8000));
}

}  // namespace

size_t ConvertHalves(std::span<const float> from, std::span<Half> to) {
  const size_t count = std::min(from.size(), to.size());
  for (size_t i = 0; i < count; ++i) to[i] = Half::FromBits(Narrow(from[i]));
  return count;
}

size_t ConvertHalves(std::span<const Half> from, std::span<float> to) {
  const size_t count = std::min(from.size(), to.size());
  for (size_t i = 0; i < count; ++i) to[i] = Widen(from[i].bits());
  return count;
}

}  // namespace opserve
