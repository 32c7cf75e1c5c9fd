// File: opserve/half.h
//
// A 16-bit IEEE 754 float, the element type of FLOAT16 tensors. It only stores and converts; do
// arithmetic in float. Values are trivially copyable and have exactly the bytes of a tensor
// element.

#ifndef OPSERVE_HALF_H_
#define OPSERVE_HALF_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace opserve {

// One binary16 number. All operations are constexpr, exact where the result is representable, and
// keep the sign of zero, infinities and the top payload bits of NaN.
class Half {
 public:
  constexpr Half() = default;

  // Rounds to the nearest half, ties to even; too large values become infinite.
  explicit constexpr Half(float value) : bits_(Round(std::bit_cast<uint32_t>(value))) {}

  // The number with the given encoding.
  static constexpr Half FromBits(uint16_t bits) {
    Half half;
    half.bits_ = bits;
    return half;
  }

  constexpr uint16_t bits() const { return bits_; }

  // Exact.
  explicit constexpr operator float() const { return std::bit_cast<float>(Widen(bits_)); }

  // Compares encodings: NaN equals itself, and -0 differs from +0.
  constexpr bool operator==(const Half&) const = default;

 private:
  static constexpr uint16_t Round(uint32_t f) {
    const uint32_t sign = (f >> 16) & 0x8000;
    const uint32_t magnitude = f & 0x7fffffff;
    if (magnitude > 0x7f800000) {  // NaN; the quiet bit keeps it one
      return static_cast<uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff));
    }
    if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // >= 65520
    if (magnitude >= 0x38800000) {                                             // normal half
      return static_cast<uint16_t>(sign | (RoundShift(magnitude, 13) - (uint32_t{112} << 10)));
    }
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<uint16_t>(sign);  // below half of the least subnormal
    const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    return static_cast<uint16_t>(sign | RoundShift(mantissa, 126 - exponent));
  }

  // value / 2^shift to the nearest integer, ties to even.
  static constexpr uint32_t RoundShift(uint32_t value, uint32_t shift) {
    const uint32_t odd = (value >> shift) & 1;
    return (value + (uint32_t{1} << (shift - 1)) - 1 + odd) >> shift;
  }

  static constexpr uint32_t Widen(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    const uint32_t exponent = (h >> 10) & 0x1f;
    const uint32_t mantissa = h & 0x3ff;
    if (exponent == 0x1f) return sign | 0x7f800000 | (mantissa << 13);
    if (exponent != 0) return sign | ((exponent + 112) << 23) | (mantissa << 13);
    if (mantissa == 0) return sign;
    const auto shift = static_cast<uint32_t>(std::countl_zero(mantissa)) - 21;
    return sign | ((113 - shift) << 23) | (((mantissa << shift) & 0x3ff) << 13);
  }

  uint16_t bits_ = 0;
};

static_assert(sizeof(Half) == 2);

// Convert as many numbers as both have, and return how many: each as Half does, to the bit, but
// several at a time. The memory must not overlap.
size_t ConvertHalves(std::span<const float> from, std::span<Half> to);
size_t ConvertHalves(std::span<const Half> from, std::span<float> to);

}  // namespace opserve

#endif  // OPSERVE_HALF_H_
