// Angles less multiples of pi. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_REDUCED_ANGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_REDUCED_ANGLE_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_REDUCED_ANGLE_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_REDUCED_ANGLE_INL_H_
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/bodies/tags-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Which multiples of pi an angle is reduced by: whole ones; those half-way between; all halves.
enum MultiplesOfPi { kWholes, kOddHalves, kHalves };

// An angle is multiple * pi + rest, and the lowest bit of `count` tells apart multiples that are
// neighbours: set for odd wholes, for halves below an odd whole, and for odd numbers of halves.
template <class D>
struct ReducedAngle {
  hn::Vec<BitsTag<D>> count;
  hn::Vec<D> rest;
};

template <class D>
struct NearestMultiple {
  hn::Vec<BitsTag<D>> count;
  hn::Vec<D> multiple;
};

// Of x below 2^26, or 2^16 in FLOAT32 lanes. The first addition rounds to units or halves, the
// second removes what it added: a multiple of zero is +0.
template <int kMultiples, FloatTag D>
HWY_INLINE NearestMultiple<D> NearestMultipleTo(D d, hn::Vec<D> x) {
  using T = hn::TFromD<D>;
  const BitsTag<D> du;
  const auto rounder =
      hn::Set(d, (kMultiples == kHalves ? T{0.75} : T{1.5}) / std::numeric_limits<T>::epsilon());
  if constexpr (kMultiples == kOddHalves) {
    const auto half = hn::Set(d, 0.5);
    const auto sum = hn::Add(hn::Sub(x, half), rounder);
    return {hn::BitCast(du, sum), hn::Add(hn::Sub(sum, rounder), half)};
  } else {
    const auto sum = hn::Add(x, rounder);
    return {hn::BitCast(du, sum), hn::Sub(sum, rounder)};
  }
}

// 2^e / pi modulo 2, for the exponents e of FLOAT32 numbers m * 2^e from 2^24 on, 2^23 <= m < 2^24.
// In three parts: products of m with the first two are exact, and what the third leaves out is
// below 2^-110, while no FLOAT32 other than zero is nearer than 2^-30 to a multiple of pi / 2.
struct PowersOverPi {
  static constexpr int kExponents = 104;
  using Table = std::array<double, kExponents>;

  constexpr PowersOverPi() {
    for (int i = 0; i < kExponents; ++i) {
      upper[i] = Digits(i + 1, 29) * 0x1p-28;
      middle[i] = Digits(i + 30, 29) * 0x1p-57;
      lower[i] = Digits(i + 59, 53) * 0x1p-110;
    }
  }

  // Digits of 1 / pi in base two as an integer; the first digit after the point is number 1.
  static constexpr double Digits(int first, int count) {
    constexpr std::array<uint32_t, 7> kDigits = {0x517CC1B7, 0x27220A94, 0xFE13ABE8, 0xFA9A6EE0,
                                                 0x6DB14ACC, 0x9E21C820, 0xFF28B1D5};
    uint64_t digits = 0;
    for (int i = first - 1; i < first - 1 + count; ++i) {
      digits = 2 * digits + ((kDigits[i / 32] >> (31 - i % 32)) & 1);
    }
    return static_cast<double>(digits);
  }

  Table upper = {};
  Table middle = {};
  Table lower = {};
};
inline constexpr PowersOverPi kPowersOverPi;

// Angles from 2^24 on; anything for smaller ones, NaN for infinities and NaNs. Out of line, as few
// vectors need it.
template <int kMultiples, DoubleTag D>
HWY_NOINLINE ReducedAngle<D> ReducedLargeAngle(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const hn::RebindToSigned<D> di;
  const auto magnitude = hn::Abs(x);
  const auto smallest = hn::Set(d, 0x1p24);
  const auto is_finite = hn::Lt(magnitude, hn::Inf(d));
  // Others must not leave the table.
  const auto is_served = hn::And(hn::Ge(magnitude, smallest), is_finite);
  const auto bits = hn::BitCast(du, hn::IfThenElse(is_served, magnitude, smallest));
  const auto exponent = hn::Sub(hn::ShiftRight<52>(bits), hn::Set(du, uint64_t{1023 + 24}));
  const auto index = hn::BitCast(di, exponent);
  const auto digits = hn::And(bits, hn::Set(du, (uint64_t{1} << 52) - 1));
  const auto m_bits = hn::Or(digits, hn::Set(du, uint64_t{1023 + 23} << 52));
  const auto m = hn::CopySign(hn::BitCast(d, m_bits), x);

  const auto upper = hn::Mul(m, hn::GatherIndex(d, kPowersOverPi.upper.data(), index));
  const auto middle = hn::Mul(m, hn::GatherIndex(d, kPowersOverPi.middle.data(), index));
  const auto lower = hn::Mul(m, hn::GatherIndex(d, kPowersOverPi.lower.data(), index));
  const auto nearest = NearestMultipleTo<kMultiples>(d, hn::Add(upper, middle));
  // Exact but for the last sum where the rest is small.
  auto rest = hn::Add(hn::Add(hn::Sub(upper, nearest.multiple), middle), lower);
  rest = hn::Mul(rest, hn::Set(d, 0x1.921fb54442d18p+1));
  return {nearest.count, hn::IfThenElse(is_finite, rest, hn::NaN(d))};
}

// x less the nearest of the multiples of pi, with a relative error below 2^-50; a rest of zero
// keeps the sign of x. NaN for infinities and NaNs.
template <int kMultiples, DoubleTag D>
HWY_INLINE ReducedAngle<D> ReducedAngleOf(D d, hn::Vec<D> x) {
  const BitsTag<D> du;
  const auto nearest =
      NearestMultipleTo<kMultiples>(d, hn::Mul(x, hn::Set(d, 0x1.45f306dc9c883p-2)));
  // pi in parts of 29 digits, 29 and 53. Multiples have up to 24 digits, so that the first two
  // products are exact, and so are the differences where the rest is small.
  auto rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.921fb54p+1), x);
  rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.10b461p-29), rest);
  rest = hn::NegMulAdd(nearest.multiple, hn::Set(d, 0x1.a62633145c06ep-57), rest);
  const auto is_small = hn::Lt(hn::Abs(x), hn::Set(d, 0x1p24));
  if (HWY_LIKELY(hn::AllTrue(d, is_small))) return {nearest.count, rest};
  const ReducedAngle<D> large = ReducedLargeAngle<kMultiples>(d, x);
  return {hn::IfThenElse(hn::RebindMask(du, is_small), nearest.count, large.count),
          hn::IfThenElse(is_small, rest, large.rest)};
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_REDUCED_ANGLE_INL_H_
