#include "kernels/cpu/bound_kernel.h"

#include <algorithm>

namespace opserve::cpu {
namespace {

// A part of the first-level cache; whole vectors of every target and element type.
constexpr size_t kBlockBytes = size_t{8} << 10;

}  // namespace

BoundKernel::BoundKernel(const Invocation& call)
    : kernel_(GetKernel(call.op, {call.lane_type, call.output.data_type, call.mode()})),
      attributes_(call.attributes) {
  if (!call.scale_bias) return;
  scale_bias_ = GetScaleBiasKernel(call.lane_type);
  scale_and_bias_ = {call.scale_bias->scale, call.scale_bias->bias};
  input_size_ = SizeOf(call.lane_type);
  output_size_ = SizeOf(call.output.data_type);
}

void BoundKernel::RunScaled(const std::byte* const* inputs, std::byte* output, size_t count,
                            StoreMode store_mode) const {
  alignas(64) std::byte block[kBlockBytes];
  const size_t elements = kBlockBytes / input_size_;
  for (size_t at = 0; at < count; at += elements) {
    const size_t here = std::min(elements, count - at);
    const std::byte* const from = inputs[0] + at * input_size_;
    scale_bias_(&from, block, here, StoreMode::kCached, scale_and_bias_);
    const std::byte* const scaled = block;
    // The input has been read: where the output takes its place, that does no harm.
    const StoreMode mode = store_mode == StoreMode::kInPlace ? StoreMode::kCached : store_mode;
    kernel_(&scaled, output + at * output_size_, here, mode, attributes_);
  }
}

}  // namespace opserve::cpu
