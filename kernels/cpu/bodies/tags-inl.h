// Kinds of tags that bodies tell apart. Included once per target.
//
// A body takes a tag and vectors. It accepts every tag that it can serve; where it needs wider
// lanes for its arithmetic it accepts only tags of which as many wide lanes fit in a vector, and
// the drivers of kernels/cpu/shapes-inl.h hand it such a tag.

#if defined(OPSERVE_KERNELS_CPU_BODIES_TAGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_TAGS_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_TAGS_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_TAGS_INL_H_
#endif

#include <concepts>

#include "hwy/highway.h"
#include "kernels/cpu/bodies/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

// Kinds of tags. Those named "in" some type have as few lanes as fit in a vector of that type.
template <class D>
concept FloatTag = std::floating_point<hn::TFromD<D>>;
template <class D>
concept FloatOrHalfTag = FloatTag<D> || kIsHalf<D>;
template <class D>
concept FullHalfTag = std::same_as<D, hn::ScalableTag<hwy::float16_t>>;
template <class D>
concept FullFloatTag = std::same_as<D, hn::ScalableTag<float>>;
template <class D>
concept HalfInFloatTag = kIsHalf<D> && FitsAs<D, float>;
template <class D>
concept FloatInDoubleTag = std::same_as < hn::TFromD<D>,
float > &&FitsAs<D, double>;
template <class D, size_t kBytes>
concept IntTag = std::integral<hn::TFromD<D>> && sizeof(hn::TFromD<D>) == kBytes;
template <class D, size_t kBytes>
concept FullIntTag = IntTag<D, kBytes> && std::same_as<D, hn::ScalableTag<hn::TFromD<D>>>;
template <class D>
concept IntegerTag = std::integral<hn::TFromD<D>>;
template <class D>
concept SignedIntTag = std::signed_integral<hn::TFromD<D>>;
// Numbers that vectors hold as they are.
template <class D>
concept NumberTag = FloatTag<D> || IntegerTag<D>;
template <class D>
concept Int16InFloatTag = IntTag<D, 2> && FitsAs<D, float>;
template <class D>
concept Int32InDoubleTag = IntTag<D, 4> && FitsAs<D, double>;

// FLOAT64 lanes that hold integers, whatever their values: their type says so.
template <class V>
struct WholeNumbers {
  V lanes;
};
template <class V>
WholeNumbers(V) -> WholeNumbers<V>;

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_TAGS_INL_H_
