#include "kernels/cpu/bound_kernel.h"

#include <algorithm>

namespace opserve::cpu {
namespace {

// A part of the first-level cache; whole vectors of every target and element type.
constexpr size_t kBlockBytes = size_t{8} << 10;
using Block = std::array<std::byte, kBlockBytes>;

}  // namespace

BoundKernel::BoundKernel(const Invocation& call)
    : attributes_(call.attributes), output_size_(SizeOf(call.output.data_type)) {
  const OpTraits& op = TraitsOf(call.op);
  const int number = op.shape.number_input();
  KernelVariant variant = {call.lane_type, call.output.data_type, call.mode()};
  if (number >= 0) variant.number = call.inputs[static_cast<size_t>(number)].data_type;
  kernel_ = GetKernel(call.op, variant);

  has_stages_ = number >= 0 || call.scale_bias || call.fused_activation;
  input_count_ = static_cast<size_t>(op.input_count());
  for (size_t i = 0; i < input_count_; ++i) {
    const DataType type = call.inputs[i].data_type;
    inputs_[i].element_size = SizeOf(type);
    if (call.scale_bias) inputs_[i].scale_bias = GetScaleBiasKernel(type);
    if (op.shape.is_number(static_cast<int>(i))) inputs_[i].widening = GetWideningKernel(type);
  }
  if (call.scale_bias) scale_and_bias_ = {call.scale_bias->scale, call.scale_bias->bias};
  if (call.fused_activation) {
    const DataType type = call.output.data_type;
    activation_ = GetKernel(call.fused_activation->op, {.lane = type, .output = type});
    activation_attributes_ = call.fused_activation->attributes;
  }
}

void BoundKernel::RunStages(const std::byte* const* inputs, std::byte* output, size_t count,
                            StoreMode store_mode) const {
  alignas(64) std::array<Block, kMaxInputs> scaled;
  alignas(64) std::array<Block, kMaxInputs> widened;
  alignas(64) Block results;
  // Whatever the types, a block has room for them as FLOAT64.
  constexpr size_t kElements = kBlockBytes / sizeof(double);
  for (size_t at = 0; at < count; at += kElements) {
    const size_t here = std::min(kElements, count - at);
    std::array<const std::byte*, kMaxInputs> from = {};
    for (size_t i = 0; i < input_count_; ++i) {
      from[i] = inputs[i] + at * inputs_[i].element_size;
      if (inputs_[i].scale_bias != nullptr) {
        inputs_[i].scale_bias(&from[i], scaled[i].data(), here, StoreMode::kCached,
                              scale_and_bias_);
        from[i] = scaled[i].data();
      }
      if (inputs_[i].widening != nullptr) {
        inputs_[i].widening(&from[i], widened[i].data(), here, StoreMode::kCached, {});
        from[i] = widened[i].data();
      }
    }
    std::byte* const to = output + at * output_size_;
    if (activation_ == nullptr) {
      kernel_(from.data(), to, here, store_mode, attributes_);
      continue;
    }
    kernel_(from.data(), results.data(), here, StoreMode::kCached, attributes_);
    const std::byte* const sums = results.data();
    activation_(&sums, to, here, store_mode, activation_attributes_);
  }
}

}  // namespace opserve::cpu
