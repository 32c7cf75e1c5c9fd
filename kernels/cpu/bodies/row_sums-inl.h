// Sums of e^(x - M) over a row with the largest element M: fast in FLOAT64 lanes with an error that
// is known, and slowly in pairs of them. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_ROW_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_ROW_SUMS_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_ROW_SUMS_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_ROW_SUMS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/packed_row-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/slow/double_double.h"
#include "kernels/cpu/slow/series.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Exponentials

// Rows whose elements are no more than kMostSpread below the maximum, of which the magnitude is at
// most kMostOfPlain: so e^(x - M) and its part of a sum of up to 2^32 elements are normal numbers
// of FLOAT32.
using PlainRow = std::true_type;
using AnyRow = std::false_type;
inline constexpr double kMostSpread = 64;
inline constexpr double kMostOfPlain = 0x1p15;

// e^(x - M) of elements x of a row with the largest element M, all times one number next to 1.
//
// x is split as the exponent of e^x itself, where rests are exact but for one rounding; x - M would
// be rounded where x is next to zero. Only powers of two are told from the maximum. Where M is so
// large that multiples of ln 2 would not be exact, x - M is, but for such x that e^(x - M) is 0.
class PowersOfRow {
 public:
  explicit PowersOfRow(double maximum)
      : maximum_(maximum),
        origin_(std::abs(maximum) > kMostOfPlain ? maximum : 0),
        least_(maximum - origin_ - kFarthest),
        shifter_(kShifter - std::rint((maximum - origin_) * kLog2OfE)) {}

  double maximum() const { return maximum_; }

  // e^-700 of those that are farther below the maximum, and of minus infinity. Error 2^-50 and,
  // with AVX-512, |x - M| 2^-54.7, which is below 2^-50.2 on average over a row of up to 2^32
  // elements, each weighed by its part of the sum: that average of M - x is no more than the
  // logarithm of their number.
  template <class Kind, DoubleTag D>
  HWY_INLINE hn::Vec<D> At(D d, Kind /*kind*/, hn::Vec<D> x) const {
    const BitsTag<D> du;
    const auto shifter = hn::Set(d, shifter_);
    auto y = x;
    if constexpr (!Kind::value) y = AtLeast(d, hn::Sub(x, hn::Set(d, origin_)), least_);
    const auto shifted = hn::MulAdd(y, hn::Set(d, kLog2OfE), shifter);
    const auto k = hn::Sub(shifted, shifter);
    const auto one = hn::Set(d, 1);
#if OPSERVE_HAVE_BIT_MASKS
    // As PartsByEighthRoot.
    const auto bits = hn::BitCast(du, shifted);
    const hn::Vec<decltype(du)> root{
        _mm512_permutexvar_epi64(bits.raw, _mm512_load_si512(kRootBits.data()))};
    const auto scale = hn::BitCast(d, hn::Add(root, hn::ShiftLeft<kShift>(bits)));
    const auto rest = hn::NegMulAdd(k, hn::Set(d, kLn2), y);
    const auto growth = HornerOf<0, 1>(d, rest, kGrowthOfSmallFromOne);
#else
    const auto scale = hn::BitCast(d, hn::ShiftLeft<kShift>(hn::BitCast(du, shifted)));
    const auto rest = RestOfExponent(d, y, k);
    const auto growth = PolynomialOf(d, rest, kGrowth);
#endif
    return hn::Mul(scale, hn::MulAdd(rest, growth, one));
  }

  // The number that all are multiplied by.
  double unit() const {
    const hn::ScalableTag<double> dd;
    return hn::GetLane(At(dd, AnyRow(), hn::Set(dd, maximum_)));
  }

 private:
#if OPSERVE_HAVE_BIT_MASKS
  static constexpr double kShifter = 0x1.8p49;
  static constexpr int kShift = 49;
  // Those of 2^(i/8), less i where it is added with the exponent.
  alignas(64) static constexpr std::array kRootBits = [] {
    std::array<uint64_t, 8> bits = {};
    for (size_t i = 0; i < bits.size(); ++i) {
      bits[i] = std::bit_cast<uint64_t>(kEighthRootPowers[i]) - (uint64_t{i} << kShift);
    }
    return bits;
  }();
#else
  static constexpr double kShifter = 0x1.8p52 + 1023;
  static constexpr int kShift = 52;
#endif
  static constexpr double kFarthest = 700;

  double maximum_;
  double origin_;
  double least_;
  double shifter_;
};

// ------------------------------------------------------------------ Sums

// A sum of vectors with compensation: its error is that of its last rounding, and the square of
// 2^-53 times the number of terms.
class SumInLanes {
 public:
  using D = hn::ScalableTag<double>;

  HWY_INLINE SumInLanes() : sum_(hn::Zero(D())), error_(hn::Zero(D())) {}

  HWY_INLINE void Add(hn::Vec<D> v) {
    const auto next = ExactSum(D(), sum_, v);
    sum_ = next.value;
    error_ = hn::Add(error_, next.error);
  }

  HWY_INLINE double Total() const {
    return hn::GetLane(hn::SumOfLanes(D(), sum_)) + hn::GetLane(hn::SumOfLanes(D(), error_));
  }

 private:
  hn::Vec<D> sum_;
  hn::Vec<D> error_;
};

// The sum of term(kind, i, x) over vectors x of a row, which begin at element `i`, from `begin`
// up to `end`; behind the row come minus infinities. Three roundings of eight terms, which are
// added up pair by pair, three of lanes, and one.
template <class Kind, class T, class Term>
HWY_INLINE double SumOfBlock(const PackedRow<T>& row, size_t begin, size_t end, const Term& term) {
  const InDoubleTag<T> d;
  const size_t step = Lanes(d);
  // A local copy, so that no store can change it.
  const PackedRow<T> elements = row;
  const auto at = [&](size_t i) HWY_ATTR {
    return term(Kind(), i, Widened(d, LoadAt(ValueTag<InDoubleTag<T>>(), elements.at(i))));
  };
  const auto two_at = [&](size_t i) HWY_ATTR { return hn::Add(at(i), at(i + step)); };
  const auto four_at = [&](size_t i) HWY_ATTR { return hn::Add(two_at(i), two_at(i + 2 * step)); };
  SumInLanes sum;
  size_t i = begin;
  for (; i + 8 * step <= end; i += 8 * step) {
    sum.Add(hn::Add(four_at(i), four_at(i + 4 * step)));
  }
  for (; i + step <= end; i += step) sum.Add(at(i));
  if (i < end) sum.Add(term(AnyRow(), i, Widened(d, LoadOfRow(d, elements, i))));
  return sum.Total();
}

// The same over the whole row, in blocks that are short enough for sums with compensation.
template <class Kind, class T, class Term>
HWY_INLINE double SumOfRow(const PackedRow<T>& row, const Term& term) {
  constexpr size_t kBlock = size_t{1} << 16;
  slow::DoubleDouble sum;
  for (size_t i = 0; i < row.count; i += kBlock) {
    sum = sum + SumOfBlock<Kind>(row, i, std::min(i + kBlock, row.count), term);
  }
  return sum.high;
}

// The sum of e^(x - M) over a row: how many elements are M, and the sum for all others.
struct RowSum {
  double maxima = 0;
  slow::DoubleDouble rest;
};

// ------------------------------------------------------------------ Sums in pairs

// The operations of slow::DoubleDouble, with the same bounds, on lanes.
template <DoubleTag D>
HWY_INLINE Exact<D> OrderedSum(D /*tag*/, hn::Vec<D> a, hn::Vec<D> b) {
  const auto sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

template <DoubleTag D>
HWY_INLINE Exact<D> PairSum(D d, const Exact<D>& a, const Exact<D>& b) {
  const auto upper = ExactSum(d, a.value, b.value);
  const auto lower = ExactSum(d, a.error, b.error);
  const auto sum = OrderedSum(d, upper.value, hn::Add(upper.error, lower.value));
  return OrderedSum(d, sum.value, hn::Add(lower.error, sum.error));
}

template <DoubleTag D>
HWY_INLINE Exact<D> PairProduct(D d, const Exact<D>& a, const Exact<D>& b) {
  const auto product = ExactProduct(d, a.value, b.value);
  const auto cross = hn::Add(hn::Mul(a.value, b.error), hn::Mul(a.error, b.value));
  return OrderedSum(d, product.value, hn::Add(product.error, cross));
}

// 1/k! for the terms of e^r, r at most ln(2) / 16, that need pairs, and for those that need none:
// the 8th is below 2^-51, the first left out below 2^-107.
inline constexpr auto kFirstOfExp = slow::ReciprocalFactorials<8>(0, 1);
inline constexpr std::array kLastOfExp = {1.0 / 40320,      1.0 / 362880,    1.0 / 3628800,
                                          1.0 / 39916800,   1.0 / 479001600, 1.0 / 6227020800,
                                          1.0 / 87178291200};

// How far e^x has come for a vector: x = ln(scale) + 8 r, and the power is that of r.
template <class D>
struct PairPower {
  hn::Vec<D> scale;
  Exact<D> r;
  Exact<D> power;
};

// Before the terms that need pairs. The scale is zero from x = -600 down.
template <DoubleTag D>
HWY_INLINE PairPower<D> BegunPower(D d, const Exact<D>& x) {
  const BitsTag<D> du;
  const auto least = hn::Set(d, -600);
  const auto is_limited = hn::Not(hn::Gt(x.value, least));
  const auto value = hn::IfThenElse(is_limited, least, x.value);
  const auto error = hn::IfThenZeroElse(is_limited, x.error);
  // As PartsByTwo; ln 2 as in slow::Exp.
  const auto shifter = hn::Set(d, 0x1.8p52 + 1023);
  const auto shifted = hn::Add(hn::Mul(value, hn::Set(d, kLog2OfE)), shifter);
  const auto scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
  const auto n = hn::Sub(shifter, shifted);
  auto rest = PairSum(d, Exact<D>{value, error},
                      Exact<D>{hn::Mul(n, hn::Set(d, 0x1.62e42fefa2p-1)), hn::Zero(d)});
  const Exact<D> rest_of_ln2 = {hn::Set(d, 0x1.9ef35793c7673p-41),
                                hn::Set(d, 0x1.f97b57a079a19p-103)};
  rest = PairSum(d, rest, PairProduct(d, rest_of_ln2, Exact<D>{n, hn::Zero(d)}));

  const auto eighth = hn::Set(d, 0.125);
  const Exact<D> r = {hn::Mul(rest.value, eighth), hn::Mul(rest.error, eighth)};
  return {hn::IfThenZeroElse(is_limited, scale),
          r,
          {PolynomialOf(d, r.value, kLastOfExp), hn::Zero(d)}};
}

// e^x of several vectors of x <= 0, 0 from -600 down: their steps take turns, as each waits for the
// one before it. Error below 2^-96: eight times that of e^r, which is squared three times, and the
// squares'.
template <DoubleTag D, size_t kCount>
HWY_INLINE void PairExp(D d, Exact<D> (&x)[kCount]) {
  PairPower<D> powers[kCount];
  for (size_t i = 0; i < kCount; ++i) powers[i] = BegunPower(d, x[i]);
  for (size_t k = kFirstOfExp.size(); k-- > 0;) {
    const Exact<D> term = {hn::Set(d, kFirstOfExp[k].high), hn::Set(d, kFirstOfExp[k].low)};
    for (PairPower<D>& each : powers) {
      each.power = PairSum(d, term, PairProduct(d, each.power, each.r));
    }
  }
  for (int k = 0; k < 3; ++k) {
    for (PairPower<D>& each : powers) each.power = PairProduct(d, each.power, each.power);
  }
  for (size_t i = 0; i < kCount; ++i) {
    x[i] = {hn::Mul(powers[i].power.value, powers[i].scale),
            hn::Mul(powers[i].power.error, powers[i].scale)};
  }
}

// The sum of a row; error below 2^-90, below 2^-83 for the longest rows: blocks of 2^12 terms, up
// to 2^20 of them.
template <class T>
HWY_NOINLINE RowSum SlowSumOfRow(const PackedRow<T>& row, double maximum) {
  constexpr size_t kSlowBlockVectors = size_t{1} << 12;
  constexpr size_t kTogether = 4;
  const InDoubleTag<T> d;
  const hn::ScalableTag<double> dd;
  const size_t step = Lanes(d);
  const auto zero = hn::Zero(dd);
  const auto negative_maximum = hn::Set(dd, -maximum);
  RowSum sum;
  for (size_t i = 0; i < row.count;) {
    const size_t end = std::min(i + kSlowBlockVectors * step, row.count);
    Exact<hn::ScalableTag<double>> rest = {zero, zero};
    auto maxima = zero;
    for (; i < end; i += kTogether * step) {
      Exact<hn::ScalableTag<double>> powers[kTogether];
      hn::Vec<hn::ScalableTag<double>> are_others[kTogether];
      for (size_t k = 0; k < kTogether; ++k) {
        // Nothing but minus infinities where no elements are left.
        const auto x = LoadOfRow(d, row, std::min(i + k * step, row.count));
        powers[k] = ExactSum(dd, Widened(d, x), negative_maximum);
        are_others[k] = hn::IfThenZeroElse(hn::Eq(powers[k].value, zero), hn::Set(dd, 1));
        maxima = hn::Add(maxima, hn::Sub(hn::Set(dd, 1), are_others[k]));
      }
      PairExp(dd, powers);
      for (size_t k = 0; k < kTogether; ++k) {
        powers[k].value = hn::Mul(powers[k].value, are_others[k]);
        powers[k].error = hn::Mul(powers[k].error, are_others[k]);
        rest = PairSum(dd, rest, powers[k]);
      }
    }
    HWY_ALIGN double values[MaxLanes(hn::ScalableTag<double>())];
    HWY_ALIGN double errors[MaxLanes(hn::ScalableTag<double>())];
    hn::Store(rest.value, dd, values);
    hn::Store(rest.error, dd, errors);
    sum.maxima += hn::GetLane(hn::SumOfLanes(dd, maxima));
    for (size_t k = 0; k < step; ++k)
      sum.rest = sum.rest + slow::DoubleDouble(values[k], errors[k]);
  }
  return sum;
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_ROW_SUMS_INL_H_
