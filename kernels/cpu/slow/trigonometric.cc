// Sine, cosine and tangent of every FLOAT32, reduced with as many digits of pi as that needs.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/slow/constants.h"
#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

namespace opserve::cpu::slow {
namespace {

// ------------------------------------------------------------------ Reduction

// An angle as quadrant * pi/2 + rest, |rest| <= pi/4; whole turns are left out.
struct ReducedAngle {
  unsigned quadrant;
  DoubleDouble rest;
};

// The bits of 2 / pi, after 32 zeros that stand for whole numbers.
constexpr std::array<uint32_t, 12> kTwoOverPi = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                                 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
                                                 0xDEBBC561, 0xB7246E3A, 0x424DD2E0, 0x06492EEA};

// Numbers of 192 bits, the most significant word first.
constexpr size_t kWords = 6;
using Words = std::array<uint32_t, kWords>;

// The 192 bits of kTwoOverPi from the given one on.
Words BitsOfTwoOverPi(unsigned first) {
  const size_t word = first / 32;
  const unsigned shift = first % 32;
  Words bits;
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t two_words = uint64_t{kTwoOverPi[word + i]} << 32 | kTwoOverPi[word + i + 1];
    bits[i] = static_cast<uint32_t>(two_words >> (32 - shift));
  }
  return bits;
}

// Without what goes beyond 192 bits.
Words Product(const Words& a, uint32_t b) {
  Words product;
  uint64_t carry = 0;
  for (size_t i = kWords; i-- > 0;) {
    carry += uint64_t{a[i]} * b;
    product[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  return product;
}

// The words as a fraction: the sum is exact but for the roundings of the last additions.
DoubleDouble Fraction(const Words& words) {
  DoubleDouble sum;
  for (size_t i = kWords; i-- > 0;) {
    sum = std::ldexp(static_cast<double>(words[i]), -32 * static_cast<int>(i + 1)) + sum;
  }
  return sum;
}

// x = m * 2^e with m of 24 bits. Bits of 2/pi whose product with 2^e is a multiple of 4 make whole
// turns; the 192 after them leave out less than 2^-165 of a quarter turn. The FLOAT32 nearest to a
// multiple of pi/2, 16367173 * 2^72, is 2^-29.9 quarter turns away from it.
ReducedAngle Reduced(double x) {
  if (std::abs(x) <= 0.785) return {0, x};
  int exponent = 0;
  const auto m = static_cast<uint32_t>(std::ldexp(std::frexp(std::abs(x), &exponent), 24));
  exponent -= 24;
  // A turn is a fraction of 1 now.
  Words turns = Product(BitsOfTwoOverPi(static_cast<unsigned>(exponent - 2 + 32)), m);
  unsigned quadrant = turns[0] >> 30;
  turns[0] &= 0x3FFFFFFF;
  // From the nearest quadrant.
  const bool is_below = (turns[0] >> 29) != 0;
  if (is_below) {
    ++quadrant;
    for (uint32_t& word : turns) word = ~word;
    turns[0] &= 0x3FFFFFFF;
  }
  DoubleDouble rest = Scaled(Fraction(turns), 2) * kHalfPi;
  if (is_below) rest = -rest;
  if (x > 0) return {quadrant % 4, rest};
  return {(4 - quadrant) % 4, -rest};
}

// ------------------------------------------------------------------ Within pi/4

// (sin(x) - x) / x^3 and (cos(x) - 1) / x^2 by powers of x^2: the first terms left out are
// x^26/29! and x^28/30!.
constexpr auto kSinAfterLinear = WithAlternatingSigns(ReciprocalFactorials<13>(3, 2));
constexpr auto kCosAfterOne = WithAlternatingSigns(ReciprocalFactorials<14>(2, 2));

DoubleDouble SmallSin(const DoubleDouble& x) {
  const DoubleDouble square = x * x;
  return x - x * square * SumOfPowers(kSinAfterLinear, square);
}

DoubleDouble SmallCos(const DoubleDouble& x) {
  const DoubleDouble square = x * x;
  return 1 - square * SumOfPowers(kCosAfterOne, square);
}

DoubleDouble SinOf(const ReducedAngle& angle) {
  const bool is_odd = angle.quadrant % 2 != 0;
  const DoubleDouble magnitude = is_odd ? SmallCos(angle.rest) : SmallSin(angle.rest);
  return angle.quadrant >= 2 ? -magnitude : magnitude;
}

}  // namespace

DoubleDouble Sin(double x) {
  if (x == 0) return x;
  return SinOf(Reduced(x));
}

DoubleDouble Cos(double x) {
  const ReducedAngle angle = Reduced(x);
  return SinOf({(angle.quadrant + 1) % 4, angle.rest});
}

DoubleDouble Tan(double x) {
  if (x == 0) return x;
  const ReducedAngle angle = Reduced(x);
  const DoubleDouble sine = SmallSin(angle.rest);
  const DoubleDouble cosine = SmallCos(angle.rest);
  return angle.quadrant % 2 != 0 ? -cosine / sine : sine / cosine;
}

}  // namespace opserve::cpu::slow
