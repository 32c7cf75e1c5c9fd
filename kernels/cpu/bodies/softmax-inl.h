// Rows of SOFTMAX, LOG_SOFTMAX and HARDMAX: every result is one exact number of its whole row,
// rounded once. Included once per target.
//
// With M the largest element, d = x - M and S the sum of all e^d, which is at least 1,
//
//   SOFTMAX = e^d / S      LOG_SOFTMAX = d - ln S
//
// where d and -ln S are never of unlike signs: nothing cancels. S is kept as the number of elements
// that equal M and the sum of the others, as ln S is no larger than that where the number is 1.
// Both are computed in FLOAT64 lanes with a relative error below kRowError; the few elements
// for which that is too much need the sum of their row again, in pairs of doubles, once.
//
// No order of the row shows: what is decided is decided by the exact number.

#if defined(OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/exponential-inl.h"
#include "kernels/cpu/bodies/lanes-inl.h"
#include "kernels/cpu/bodies/logarithm-inl.h"
#include "kernels/cpu/bodies/polynomial-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/slow/decisions.h"
#include "kernels/cpu/slow/double_double.h"
#include "kernels/cpu/slow/elementary.h"
#include "kernels/cpu/slow/series.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// ------------------------------------------------------------------ Rows in vectors

// Elements of T that are packed, at any address.
template <class T>
struct PackedRow {
  const std::byte* elements;
  size_t count;

  HWY_INLINE const std::byte* at(size_t i) const { return elements + i * sizeof(T); }
};

// As many elements as a vector has FLOAT64 lanes, or FLOAT32 lanes.
template <class T>
using InDoubleTag = hn::Rebind<T, hn::ScalableTag<double>>;
template <class T>
using InFloatTag = hn::Rebind<T, hn::ScalableTag<float>>;

// A vector of the row from `i` on; behind the row come minus infinities, which change no result.
template <class D, class T>
HWY_INLINE Value<D> LoadOfRow(D /*tag*/, const PackedRow<T>& row, size_t i) {
  const ValueTag<D> d;
  const size_t left = row.count - i;
  if (HWY_LIKELY(left >= Lanes(d))) return LoadAt(d, row.at(i));
  using V = hn::TFromD<ValueTag<D>>;
  const uint32_t filler = kIsHalf<D> ? 0xFC00 : 0xFF800000;
  HWY_ALIGN V lanes[MaxLanes(D())];
  for (size_t k = left; k < Lanes(d); ++k) std::memcpy(&lanes[k], &filler, sizeof(V));
  std::memcpy(lanes, row.at(i), left * sizeof(V));
  return hn::Load(d, lanes);
}

// Stores element `i` of `count` and those behind it.
template <class D>
HWY_INLINE void StoreOfRow(D /*tag*/, Value<D> v, std::byte* out, size_t i, size_t count) {
  const ValueTag<D> d;
  using V = hn::TFromD<ValueTag<D>>;
  std::byte* const to = out + i * sizeof(V);
  const size_t left = count - i;
  if (HWY_LIKELY(left >= Lanes(d))) return StoreAt<false>(v, d, to);
  HWY_ALIGN V lanes[MaxLanes(D())];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, left * sizeof(V));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> AsFloats([[maybe_unused]] D d, Value<D> v) {
  if constexpr (kIsHalf<D>) {
    return PromoteHalf(hn::Rebind<float, D>(), v);
  } else {
    return v;
  }
}

// The largest element; NaN where there is one.
template <class T>
float MaximumOfRow(const PackedRow<T>& row) {
  const InFloatTag<T> d;
  const hn::ScalableTag<float> df;
  auto maximum = hn::Neg(hn::Inf(df));
  auto ordered = hn::Eq(maximum, maximum);
  for (size_t i = 0; i < row.count; i += Lanes(d)) {
    const auto x = AsFloats(d, LoadOfRow(d, row, i));
    ordered = hn::And(ordered, hn::Eq(x, x));
    maximum = hn::Max(maximum, x);
  }
  if (!hn::AllTrue(df, ordered)) return std::numeric_limits<float>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(df, maximum));
}

// ------------------------------------------------------------------ Sums of exponentials

// e^x for x.value + x.error, x.value <= 0, of which the error is a rounding error, or NaN beside
// minus infinity. 0 from about -709 down. The remainder has both parts of ln 2 and the error; with
// AVX-512 its polynomial is the one with a term more.
// Error 2^-49.9 where the result is at least 2^-300: that of kGrowth is at most 2^-50.5 of e^x, and
// five roundings are less than 2^-51.4; with AVX-512, 2^-51 in all.
template <DoubleTag D>
HWY_INLINE hn::Vec<D> ExpOfDifference(D d, const Exact<D>& x) {
  const auto one = hn::Set(d, 1);
#if OPSERVE_HAVE_BIT_MASKS
  if constexpr (kSplitsByEighthRoot<D>) {
    // As PartsByEighthRoot.
    const auto shifter = hn::Set(d, 0x1.8p49);
    const auto shifted = hn::MulAdd(x.value, hn::Set(d, kLog2OfE), shifter);
    const auto k = hn::Sub(shifted, shifter);
    const __m512d root =
        _mm512_permutexvar_pd(_mm512_castpd_si512(shifted.raw), _mm512_load_pd(kEighthRootPowers));
    const hn::Vec<D> scale{_mm512_scalef_pd(root, k.raw)};
    const auto any_rest = hn::Add(RestOfExponent(d, x.value, k), x.error);
    // As ExpOf.
    const hn::Vec<D> rest{_mm512_range_pd(any_rest.raw, hn::Set(d, 0.0625).raw, 2)};
    const auto growth = PolynomialOf(d, rest, kGrowthOfSmallFromOne);
    return hn::Mul(scale, hn::MulAdd(rest, growth, one));
  }
#endif
  const auto least = hn::Set(d, -709);
  const auto parts = PartsByTwo(d, hn::Max(x.value, least));
  const auto error = hn::IfThenElseZero(hn::Gt(x.value, least), x.error);
  const auto rest = hn::Add(parts.rest, error);
  const auto growth = PolynomialOf(d, rest, kGrowth);
  return hn::Mul(parts.scale, hn::MulAdd(rest, growth, one));
}

// The sum of e^(x - M) over a row: how many elements are M, and the sum for all others.
struct RowSum {
  double maxima = 0;
  slow::DoubleDouble rest;
};

inline RowSum operator+(const RowSum& a, const RowSum& b) {
  return {a.maxima + b.maxima, a.rest + b.rest};
}

// Rows are added up in blocks of as many vectors. The error of a sum with compensation is that of
// its last rounding and the square of 2^-53 times the number of terms.
inline constexpr size_t kBlockVectors = size_t{1} << 16;

// From `begin` up to `end`; error 2^-49.7: the exponentials', and four roundings.
template <class T>
RowSum SumOfBlock(const PackedRow<T>& row, double maximum, size_t begin, size_t end) {
  const InDoubleTag<T> d;
  const hn::ScalableTag<double> dd;
  const auto zero = hn::Zero(dd);
  const auto one = hn::Set(dd, 1);
  const auto negative_maximum = hn::Set(dd, -maximum);
  auto sum = zero;
  auto error = zero;
  auto maxima = zero;
  for (size_t i = begin; i < end; i += Lanes(d)) {
    const auto difference = ExactSum(dd, Widened(d, LoadOfRow(d, row, i)), negative_maximum);
    const auto is_maximum = hn::Eq(difference.value, zero);
    maxima = hn::Add(maxima, hn::IfThenElseZero(is_maximum, one));
    const auto power = hn::IfThenZeroElse(is_maximum, ExpOfDifference(dd, difference));
    const auto next = ExactSum(dd, sum, power);
    sum = next.value;
    error = hn::Add(error, next.error);
  }
  return {hn::GetLane(hn::SumOfLanes(dd, maxima)),
          hn::GetLane(hn::SumOfLanes(dd, sum)) + hn::GetLane(hn::SumOfLanes(dd, error))};
}

template <class T>
RowSum SumOfRow(const PackedRow<T>& row, double maximum) {
  const size_t block = kBlockVectors * Lanes(InDoubleTag<T>());
  if (row.count <= block) return SumOfBlock(row, maximum, 0, row.count);
  RowSum sum;
  for (size_t i = 0; i < row.count; i += block) {
    sum = sum + SumOfBlock(row, maximum, i, std::min(i + block, row.count));
  }
  return sum;
}

// ------------------------------------------------------------------ The same in pairs

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

// e^x for x <= 0, 0 from -600 down. x = n ln 2 + 8 r, and e^r is squared three times.
// Error below 2^-96: eight times that of e^r, and the squares'.
template <DoubleTag D>
HWY_INLINE Exact<D> PairExp(D d, const Exact<D>& x) {
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
  Exact<D> power = {PolynomialOf(d, r.value, kLastOfExp), hn::Zero(d)};
  for (size_t k = kFirstOfExp.size(); k-- > 0;) {
    const Exact<D> term = {hn::Set(d, kFirstOfExp[k].high), hn::Set(d, kFirstOfExp[k].low)};
    power = PairSum(d, term, PairProduct(d, power, r));
  }
  for (int k = 0; k < 3; ++k) power = PairProduct(d, power, power);
  return {hn::IfThenZeroElse(is_limited, hn::Mul(power.value, scale)),
          hn::IfThenZeroElse(is_limited, hn::Mul(power.error, scale))};
}

// The sum of a row; error below 2^-90, below 2^-83 for the longest rows: blocks of 2^12 terms, up
// to 2^20 of them.
template <class T>
HWY_NOINLINE RowSum SlowSumOfRow(const PackedRow<T>& row, double maximum) {
  constexpr size_t kSlowBlockVectors = size_t{1} << 12;
  const InDoubleTag<T> d;
  const hn::ScalableTag<double> dd;
  const auto zero = hn::Zero(dd);
  const auto negative_maximum = hn::Set(dd, -maximum);
  RowSum sum;
  for (size_t i = 0; i < row.count;) {
    const size_t end = std::min(i + kSlowBlockVectors * Lanes(d), row.count);
    Exact<hn::ScalableTag<double>> rest = {zero, zero};
    auto maxima = zero;
    for (; i < end; i += Lanes(d)) {
      const auto difference = ExactSum(dd, Widened(d, LoadOfRow(d, row, i)), negative_maximum);
      const auto is_maximum = hn::Eq(difference.value, zero);
      maxima = hn::Add(maxima, hn::IfThenElseZero(is_maximum, hn::Set(dd, 1)));
      auto power = PairExp(dd, difference);
      power.value = hn::IfThenZeroElse(is_maximum, power.value);
      power.error = hn::IfThenZeroElse(is_maximum, power.error);
      rest = PairSum(dd, rest, power);
    }
    HWY_ALIGN double values[MaxLanes(hn::ScalableTag<double>())];
    HWY_ALIGN double errors[MaxLanes(hn::ScalableTag<double>())];
    hn::Store(rest.value, dd, values);
    hn::Store(rest.error, dd, errors);
    sum.maxima += hn::GetLane(hn::SumOfLanes(dd, maxima));
    for (size_t k = 0; k < Lanes(dd); ++k)
      sum.rest = sum.rest + slow::DoubleDouble(values[k], errors[k]);
  }
  return sum;
}

// ------------------------------------------------------------------ Results of a row

// See the functions for their errors.
inline constexpr double kRowError = 0x1p-48;

// What both functions have: a row of finite elements and minus infinities, and its sum.
template <class T>
class RowFunction {
 public:
  RowFunction(const PackedRow<T>& row, double maximum)
      : row_(row), maximum_(maximum), sum_(AtLeastTiny(SumOfRow(row, maximum))) {}

 protected:
  double maximum() const { return maximum_; }
  const RowSum& sum() const { return sum_; }

  slow::DoubleDouble Difference(double x) const { return slow::ExactSum(x, -maximum_); }

  // In pairs; computed where it is first needed.
  const RowSum& slow_sum() {
    if (!slow_sum_) slow_sum_ = AtLeastTiny(SlowSumOfRow(row_, maximum_));
    return *slow_sum_;
  }

 private:
  // Below any number that rounds to something, all that matters is whether the sum is zero.
  RowSum AtLeastTiny(RowSum sum) const {
    constexpr double kTiny = 0x1p-300;
    if (sum.rest.high < kTiny) sum.rest = HasOthers() ? kTiny : 0;
    return sum;
  }

  // Whether finite elements differ.
  bool HasOthers() const {
    const InDoubleTag<T> d;
    const hn::ScalableTag<double> dd;
    for (size_t i = 0; i < row_.count; i += Lanes(d)) {
      const auto x = Widened(d, LoadOfRow(d, row_, i));
      const auto is_other =
          hn::And(hn::Lt(x, hn::Set(dd, maximum_)), hn::Gt(x, hn::Neg(hn::Inf(dd))));
      if (!hn::AllFalse(dd, is_other)) return true;
    }
    return false;
  }

  PackedRow<T> row_;
  double maximum_;
  RowSum sum_;
  std::optional<RowSum> slow_sum_;
};

// e^(x - M) / S. Error 2^-48.6: that of an exponential, that of S, which is no larger than that of
// the sum, and four roundings.
//
// The only rational results are 1/n, for n elements of one value: no other but powers of two are
// middles between two elements, or near to one in 100 digits, and pairs are exact for those.
template <class T>
class SoftmaxOfRow : public RowFunction<T> {
 public:
  SoftmaxOfRow(const PackedRow<T>& row, double maximum)
      : RowFunction<T>(row, maximum),
        reciprocal_(1 / (this->sum().maxima + this->sum().rest.high)) {}

  template <DoubleTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    const auto difference = ExactSum(d, x, hn::Set(d, -this->maximum()));
    return hn::Mul(ExpOfDifference(d, difference), hn::Set(d, reciprocal_));
  }

  // The result of one element, rounded to odd.
  double Decided(double x) {
    const RowSum& parts = this->slow_sum();
    const slow::DoubleDouble sum = parts.maxima + parts.rest;
    return slow::Remembered({&kIdentity, {sum.high, sum.low}, {x, this->maximum()}}, [&] {
      return slow::RoundedToOdd(slow::Exp(this->Difference(x)) / sum);
    });
  }

 private:
  static constexpr char kIdentity = 0;

  double reciprocal_;
};

// (x - M) - ln S. Error 2^-48.5: terms have the same sign, so it is at most that of the logarithm,
// and two roundings.
//
// An irrational number is no middle, but it may be next to one in thousands of digits: where x - M
// is a middle, and S next to 1. There the sign of the logarithm decides. Where x - M is a middle
// but for the last digits of x and M, these are at least 2^-47 of it: M has 24 digits, too.
template <class T>
class LogSoftmaxOfRow : public RowFunction<T> {
 public:
  LogSoftmaxOfRow(const PackedRow<T>& row, double maximum)
      : RowFunction<T>(row, maximum), logarithm_(FastLogarithm(this->sum())) {}

  template <DoubleTag D>
  HWY_INLINE hn::Vec<D> Fast(D d, hn::Vec<D> x) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, this->maximum())), hn::Set(d, logarithm_));
  }

  // The result of one element, rounded to odd.
  double Decided(double x) {
    const slow::DoubleDouble difference = this->Difference(x);
    // Most often next to a middle because x - M is one: then about any logarithm will do.
    const double nearer = slow::RoundedToOdd(difference - logarithm_ * (1 - kRowError));
    const double farther = slow::RoundedToOdd(difference - logarithm_ * (1 + kRowError));
    if (AreSameElement(nearer, farther)) return nearer;
    const slow::DoubleDouble logarithm = SlowLogarithm();
    return slow::Remembered({&kIdentity, {logarithm.high, logarithm.low}, {x, this->maximum()}},
                            [&] { return slow::RoundedToOdd(difference - logarithm); });
  }

 private:
  static constexpr char kIdentity = 0;

  // ln S = ln T + (S - T) / T for T next to S: error 2^-48.8, that of the sum and of LogOf.
  static double FastLogarithm(const RowSum& sum) {
    const hn::ScalableTag<double> dd;
    const slow::DoubleDouble parts = slow::ExactSum(sum.maxima, sum.rest.high);
    const double logarithm = hn::GetLane(LogOf(dd, hn::Set(dd, parts.high)));
    return logarithm + parts.low / parts.high;
  }

  const slow::DoubleDouble& SlowLogarithm() {
    if (!slow_logarithm_) {
      const RowSum& parts = this->slow_sum();
      slow_logarithm_ =
          parts.maxima == 1 ? slow::Log1p(parts.rest) : slow::Log(parts.maxima + parts.rest);
    }
    return *slow_logarithm_;
  }

  static bool AreSameElement(double a, double b) {
    const InDoubleTag<T> d;
    const hn::ScalableTag<double> dd;
    const BitsTag<decltype(d)> du;
    return hn::AllTrue(du, hn::Eq(hn::BitCast(du, Narrowed(d, hn::Set(dd, a))),
                                  hn::BitCast(du, Narrowed(d, hn::Set(dd, b)))));
  }

  double logarithm_;
  std::optional<slow::DoubleDouble> slow_logarithm_;
};

// ------------------------------------------------------------------ Rows

// `result`, with those lanes replaced whose bounds round to elements that differ.
template <class D, class F>
HWY_NOINLINE Value<D> SettledInRow(D d, F& function, Value<D> x, hn::ScalableTag<double> dd,
                                   hn::Vec<hn::ScalableTag<double>> result, Value<D> lower,
                                   Value<D> upper) {
  const BitsTag<D> du;
  using Bits = hn::TFromD<BitsTag<D>>;
  HWY_ALIGN Bits below[MaxLanes(D())];
  HWY_ALIGN Bits above[MaxLanes(D())];
  HWY_ALIGN double results[MaxLanes(D())];
  HWY_ALIGN double inputs[MaxLanes(D())];
  hn::Store(hn::BitCast(du, lower), du, below);
  hn::Store(hn::BitCast(du, upper), du, above);
  hn::Store(result, dd, results);
  hn::Store(Widened(d, x), dd, inputs);
  for (size_t i = 0; i < Lanes(d); ++i) {
    if (below[i] != above[i]) results[i] = function.Decided(inputs[i]);
  }
  return Narrowed(d, hn::Load(dd, results));
}

// All results of a row.
template <class T, class F>
void RunRow(const PackedRow<T>& row, std::byte* out, F& function) {
  const InDoubleTag<T> d;
  const hn::ScalableTag<double> dd;
  const BitsTag<decltype(d)> du;
  const auto less = hn::Set(dd, 1 - kRowError);
  const auto more = hn::Set(dd, 1 + kRowError);
  for (size_t i = 0; i < row.count; i += Lanes(d)) {
    const auto x = LoadOfRow(d, row, i);
    const auto result = function.Fast(dd, Widened(d, x));
    // Rounding is monotone: where both bounds give one element, so does the exact number.
    auto element = Narrowed(d, hn::Mul(result, less));
    const auto upper = Narrowed(d, hn::Mul(result, more));
    const auto is_settled = hn::Eq(hn::BitCast(du, element), hn::BitCast(du, upper));
    if (HWY_UNLIKELY(!hn::AllTrue(du, is_settled))) {
      element = SettledInRow(d, function, x, dd, result, element, upper);
    }
    StoreOfRow(d, element, out, i, row.count);
  }
}

template <class T>
void FillWithNaN(std::byte* out, size_t count) {
  const uint32_t nan = sizeof(T) == 2 ? 0x7E00 : 0x7FC00000;
  for (size_t i = 0; i < count; ++i) std::memcpy(out + i * sizeof(T), &nan, sizeof(T));
}

// A row without a finite maximum has no sum: NaN and plus infinity take it, minus infinities have
// nothing but themselves.
template <template <class> class Function, class T>
void RunRowFunction(const std::byte* in, std::byte* out, size_t count) {
  const PackedRow<T> row = {in, count};
  const float maximum = MaximumOfRow(row);
  if (!std::isfinite(maximum)) return FillWithNaN<T>(out, count);
  Function<T> function(row, maximum);
  RunRow(row, out, function);
}

// SOFTMAX of `count` packed elements of T, float or hwy::float16_t. Both rows may have any address;
// they do not overlap.
template <class T>
void SoftmaxRow(const std::byte* in, std::byte* out, size_t count) {
  RunRowFunction<SoftmaxOfRow, T>(in, out, count);
}

// The same for LOG_SOFTMAX.
template <class T>
void LogSoftmaxRow(const std::byte* in, std::byte* out, size_t count) {
  RunRowFunction<LogSoftmaxOfRow, T>(in, out, count);
}

// The element that HARDMAX chooses of at least one: the first that no other is above, where a NaN
// is above none and none above a NaN that is the first.
template <class T>
size_t HardmaxIndex(const std::byte* in, size_t count) {
  const PackedRow<T> row = {in, count};
  const InFloatTag<T> d;
  const hn::ScalableTag<float> df;
  const float first = hn::GetLane(AsFloats(d, LoadOfRow(d, row, 0)));
  if (std::isnan(first)) return 0;
  auto highest = hn::Set(df, first);
  for (size_t i = 0; i < count; i += Lanes(d)) {
    const auto x = AsFloats(d, LoadOfRow(d, row, i));
    highest = hn::IfThenElse(hn::Gt(x, highest), x, highest);
  }
  const auto maximum = hn::Set(df, hn::GetLane(hn::MaxOfLanes(df, highest)));
  for (size_t i = 0; i < count; i += Lanes(d)) {
    const auto is_maximum = hn::Eq(AsFloats(d, LoadOfRow(d, row, i)), maximum);
    const intptr_t found = hn::FindFirstTrue(df, is_maximum);
    if (found >= 0) return i + static_cast<size_t>(found);
  }
  return 0;
}

// 1 for that element, +0 for all others.
template <class T>
void HardmaxRow(const std::byte* in, std::byte* out, size_t count) {
  const size_t chosen = HardmaxIndex<T>(in, count);
  const uint32_t one = sizeof(T) == 2 ? 0x3C00 : 0x3F800000;
  std::memset(out, 0, count * sizeof(T));
  std::memcpy(out + chosen * sizeof(T), &one, sizeof(T));
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_SOFTMAX_INL_H_
