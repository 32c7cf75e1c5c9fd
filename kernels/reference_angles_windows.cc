// The sine, cosine and tangent that the reference calls, in the place of mingw-w64's own. Those are
// the x87's instructions, whose pi has 66 bits, so that for large angles they have few right bits
// or none. These reduce angles by as many bits of pi as it takes, and leave the rest to the
// instructions, which are as exact as a long double up to pi/4.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/numeric/int128.h"

namespace {

// x = (quarter + rest / (pi/2)) * pi/2 but for whole turns; |rest| is at most pi/4.
struct AngleInQuarters {
  unsigned quarter;
  long double rest;
};

// The digits of 2 / pi in base two behind the point, from the first on.
constexpr std::array<uint64_t, 8> kTwoOverPi = {
    0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561,
    0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484};
constexpr long double kHalfOfPi = 0x1.921fb54442d18469898cp+0L;

// 64 of these digits, the first of which is number `first`; zeros before number 0.
uint64_t DigitsFrom(int first) {
  if (first <= -64) return 0;
  if (first < 0) return kTwoOverPi[0] >> -first;
  const auto word = static_cast<size_t>(first) / 64;
  const int shift = first % 64;
  if (shift == 0) return kTwoOverPi[word];
  return kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

// Of any number up to 2^128, as all that elements can be.
AngleInQuarters Reduced(long double x) {
  const long double magnitude = std::fabs(x);
  if (magnitude < kHalfOfPi / 2) return {0, magnitude};
  // An integer of 64 bits times 2^exponent.
  int exponent = 0;
  const auto digits = static_cast<uint64_t>(std::ldexp(std::frexp(magnitude, &exponent), 64));
  exponent -= 64;
  // Times 2 / pi, modulo 4, in units of 2^-190: digits of 2 / pi that would only count whole turns
  // are left out, as are those below 2^-126 of the result.
  std::array<uint64_t, 3> product = {};
  uint64_t carry = 0;
  for (int i = 2; i >= 0; --i) {
    const absl::uint128 sum = absl::uint128(digits) * DigitsFrom(exponent - 2 + 64 * i) + carry;
    product[static_cast<size_t>(i)] = absl::Uint128Low64(sum);
    carry = absl::Uint128High64(sum);
  }
  auto quarter = static_cast<unsigned>(product[0] >> 62);
  // The fraction at the top, and to the nearest quarter.
  std::array<uint64_t, 3> fraction = {product[0] << 2 | product[1] >> 62,
                                      product[1] << 2 | product[2] >> 62, product[2] << 2};
  const bool is_negative = fraction[0] >> 63 != 0;
  if (is_negative) {
    ++quarter;
    for (uint64_t& word : fraction) word = ~word;
  }
  // Its 64 digits from the first one that is not zero.
  int zeros = std::countl_zero(fraction[0]);
  if (zeros == 64) {
    zeros += std::countl_zero(fraction[1]);
    fraction = {fraction[1], fraction[2], 0};
  }
  const int shift = zeros % 64;
  const uint64_t top =
      shift == 0 ? fraction[0] : fraction[0] << shift | fraction[1] >> (64 - shift);
  const long double rest = std::ldexp(static_cast<long double>(top), -64 - zeros) * kHalfOfPi;
  return {quarter % 4, is_negative ? -rest : rest};
}

long double SineOfRest(long double x) {
  asm("fsin" : "+t"(x));
  return x;
}

long double CosineOfRest(long double x) {
  asm("fcos" : "+t"(x));
  return x;
}

long double SineOf(const AngleInQuarters& angle) {
  const long double magnitude =
      angle.quarter % 2 == 0 ? SineOfRest(angle.rest) : CosineOfRest(angle.rest);
  return angle.quarter < 2 ? magnitude : -magnitude;
}

constexpr long double kNoAngle = std::numeric_limits<long double>::quiet_NaN();

}  // namespace

extern "C" {
long double sinl(long double x) {
  return std::isfinite(x) ? std::copysign(1.0L, x) * SineOf(Reduced(x)) : kNoAngle;
}

long double cosl(long double x) {
  if (!std::isfinite(x)) return kNoAngle;
  const AngleInQuarters angle = Reduced(x);
  return SineOf({(angle.quarter + 1) % 4, angle.rest});
}

long double tanl(long double x) { return sinl(x) / cosl(x); }
}  // extern "C"
