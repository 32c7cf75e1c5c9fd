// Rows of packed elements as vectors, and the limits of a row. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_PACKED_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_PACKED_ROW_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_PACKED_ROW_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_PACKED_ROW_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

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

// The least and the largest element of a row without NaNs. With some they mean nothing, though the
// largest is finite only where some element is.
struct RowLimits {
  float least;
  float most;
};

// The least element of a row shorter than a vector is given as minus infinity.
template <class T>
RowLimits LimitsOfRow(const PackedRow<T>& row) {
  const InFloatTag<T> d;
  const hn::ScalableTag<float> df;
  const size_t step = Lanes(d);
  if (row.count < step) {
    const auto x = AsFloats(d, LoadOfRow(d, row, 0));
    return {-std::numeric_limits<float>::infinity(), hn::GetLane(hn::MaxOfLanes(df, x))};
  }
  const auto at = [&](size_t i) HWY_ATTR {
    return AsFloats(d, LoadAt(ValueTag<InFloatTag<T>>(), row.at(i)));
  };
  // The last vector overlaps the one before it.
  auto most = at(row.count - step);
  auto least = most;
  for (size_t i = 0; i + step <= row.count; i += step) {
    const auto x = at(i);
    most = hn::Max(most, x);
    least = hn::Min(least, x);
  }
  return {hn::GetLane(hn::MinOfLanes(df, least)), hn::GetLane(hn::MaxOfLanes(df, most))};
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_PACKED_ROW_INL_H_
