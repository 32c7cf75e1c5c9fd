#include "kernels/cpu/bound_kernel.h"

#include <algorithm>

namespace opserve::cpu {
namespace {

// A part of the first-level cache; whole vectors of every target and element type.
constexpr size_t kBlockBytes = size_t{8} << 10;

}  // namespace

BoundKernel::BoundKernel(const Invocation& call)
    : kernel_(GetKernel(call.op, {call.lane_type, call.output.data_type, call.mode()})),
      attributes_(call.attributes),
      has_stages_(call.scale_bias || call.fused_activation),
      input_count_(static_cast<size_t>(TraitsOf(call.op).input_count())),
      output_size_(SizeOf(call.output.data_type)) {
  for (size_t i = 0; i < input_count_; ++i) input_sizes_[i] = SizeOf(call.inputs[i].data_type);
  if (call.scale_bias) {
    scale_bias_ = GetScaleBiasKernel(call.lane_type);
    scale_and_bias_ = {call.scale_bias->scale, call.scale_bias->bias};
  }
  if (call.fused_activation) {
    const DataType type = call.output.data_type;
    activation_ = GetKernel(call.fused_activation->op, {.lane = type, .output = type});
    activation_attributes_ = call.fused_activation->attributes;
  }
}

void BoundKernel::RunStages(const std::byte* const* inputs, std::byte* output, size_t count,
                            StoreMode store_mode) const {
  alignas(64) std::byte scaled[kBlockBytes];
  alignas(64) std::byte results[kBlockBytes];
  const size_t elements = kBlockBytes / std::max(input_sizes_[0], output_size_);
  for (size_t at = 0; at < count; at += elements) {
    const size_t here = std::min(elements, count - at);
    std::array<const std::byte*, kMaxInputs> from = {};
    for (size_t i = 0; i < input_count_; ++i) from[i] = inputs[i] + at * input_sizes_[i];
    if (scale_bias_ != nullptr) {
      scale_bias_(from.data(), scaled, here, StoreMode::kCached, scale_and_bias_);
      from[0] = scaled;
    }
    std::byte* const to = output + at * output_size_;
    if (activation_ == nullptr) {
      kernel_(from.data(), to, here, store_mode, attributes_);
      continue;
    }
    kernel_(from.data(), results, here, StoreMode::kCached, attributes_);
    const std::byte* const sums = results;
    activation_(&sums, to, here, store_mode, activation_attributes_);
  }
}

}  // namespace opserve::cpu
