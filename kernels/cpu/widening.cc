// The kernels that give numbers of any type as FLOAT64.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/widening.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "kernels/cpu/bodies/integer_in_double-inl.h"
#include "kernels/cpu/bodies/rounded_sum-inl.h"
#include "kernels/cpu/cells.h"
#include "kernels/cpu/shapes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

template <class T>
struct WideningStep : ElementSizes<op_shapes::kUnary, T, double> {
  using To = hn::ScalableTag<double>;
  using D = hn::Rebind<T, To>;
  static constexpr size_t kCount = MaxLanes(To());

  template <bool kStream>
  static HWY_INLINE void Run(const std::byte* const* in, std::byte* out, size_t i,
                             const Attributes& /*p*/) {
    const auto x = LoadAt(ValueTag<D>(), in[0] + i * sizeof(T));
    StoreAt<kStream>(Widened(D(), x), To(), out + i * sizeof(double));
  }
};

FlatKernel FindWidening(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return &RunFlat<WideningStep<float>>;
    case DataType::kFloat16:
      return &RunFlat<WideningStep<hwy::float16_t>>;
    case DataType::kInt32:
      return &RunFlat<WideningStep<int32_t>>;
    case DataType::kInt16:
      return &RunFlat<WideningStep<int16_t>>;
    case DataType::kInt8:
      return &RunFlat<WideningStep<int8_t>>;
    case DataType::kUint32:
      return &RunFlat<WideningStep<uint32_t>>;
    case DataType::kUint16:
      return &RunFlat<WideningStep<uint16_t>>;
    case DataType::kUint8:
      return &RunFlat<WideningStep<uint8_t>>;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kUnknown:
      break;
  }
  return nullptr;
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace opserve::cpu {
HWY_EXPORT(FindWidening);
FlatKernel GetWideningKernel(DataType type) { return HWY_DYNAMIC_DISPATCH(FindWidening)(type); }
}  // namespace opserve::cpu
#endif  // HWY_ONCE
