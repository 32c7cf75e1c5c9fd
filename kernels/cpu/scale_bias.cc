// The kernels that replace elements by x * Scale + Bias.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/scale_bias.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/bodies/scale_bias-inl.h"
#include "kernels/cpu/cells.h"
#include "kernels/cpu/shapes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

struct ScaleBiasBody {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const Attributes& p, V x) const
      -> decltype(ApplyScaleBias(d, x, p[0], p[1])) {
    return ApplyScaleBias(d, x, p[0], p[1]);
  }
};

template <class T>
constexpr FlatKernel kScaleBias = &RunFlat<UnaryStep<ScaleBiasBody, T>>;

FlatKernel FindScaleBias(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return kScaleBias<float>;
    case DataType::kFloat16:
      return kScaleBias<hwy::float16_t>;
    case DataType::kInt32:
      return kScaleBias<int32_t>;
    case DataType::kInt16:
      return kScaleBias<int16_t>;
    case DataType::kInt8:
      return kScaleBias<int8_t>;
    case DataType::kUint32:
      return kScaleBias<uint32_t>;
    case DataType::kUint16:
      return kScaleBias<uint16_t>;
    case DataType::kUint8:
      return kScaleBias<uint8_t>;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kUnknown:
      return nullptr;
  }
  return nullptr;
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindScaleBias);
FlatKernel GetScaleBiasKernel(DataType type) { return HWY_DYNAMIC_DISPATCH(FindScaleBias)(type); }
}  // namespace opserve::cpu
#endif  // HWY_ONCE
