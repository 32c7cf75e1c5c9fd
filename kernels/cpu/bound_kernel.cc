#include "kernels/cpu/bound_kernel.h"

#include <algorithm>

namespace opserve::cpu {
namespace {

// Elements that go through all stages together: whole vectors of every target and element type, and
// of a few tensors a part of the first-level cache.
constexpr size_t kBlockElements = 512;

// Whatever the type, a block has room for it as FLOAT64.
struct alignas(64) Block {
  std::byte bytes[kBlockElements * sizeof(double)];
};

// What absent numbers are.
constexpr Block kZeros = {};

}  // namespace

BoundKernel::BoundKernel(const Invocation& call)
    : attributes_(call.attributes), output_size_(SizeOf(call.output.data_type)) {
  const OpTraits& op = TraitsOf(call.op);
  const int number = op.shape.number_input();
  const bool has_numbers = number < op.input_count();
  KernelVariant variant = {call.lane_type, call.output.data_type, call.mode()};
  if (has_numbers) variant.number = call.inputs[static_cast<size_t>(number)].data_type;
  kernel_ = GetKernel(call.op, variant);

  has_stages_ = has_numbers || call.scale_bias || call.fused_activation;
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

BoundKernel::BoundKernel(const Invocation& call, uint64_t elements, ResultTables& tables)
    : BoundKernel(call) {
  if (elements < ResultTables::kLeastElements || !ResultTables::Serve(call)) return;
  table_ =
      tables.Find(call, elements, [this](const std::byte* input, std::byte* output, size_t count) {
        Compute(&input, output, count, StoreMode::kCached);
      });
}

const std::byte* BoundKernel::StagedInput(size_t input, const std::byte* elements, size_t at,
                                          size_t count, std::byte* scaled,
                                          std::byte* staged) const {
  const Stages& stages = inputs_[input];
  if (stages.element_size == 0) return kZeros.bytes;
  const std::byte* from = elements + at * stages.element_size;
  if (stages.scale_bias != nullptr) {
    std::byte* const to = stages.widening != nullptr ? scaled : staged;
    stages.scale_bias(&from, to, count, StoreMode::kCached, scale_and_bias_);
    from = to;
  }
  if (stages.widening != nullptr) {
    stages.widening(&from, staged, count, StoreMode::kCached, {});
    from = staged;
  }
  return from;
}

void BoundKernel::RunStages(const std::byte* const* inputs, std::byte* output, size_t count,
                            StoreMode store_mode) const {
  std::array<Block, kMaxInputs> staged;
  Block scaled;
  Block results;
  for (size_t at = 0; at < count; at += kBlockElements) {
    const size_t here = std::min(kBlockElements, count - at);
    std::array<const std::byte*, kMaxInputs> from = {};
    for (size_t i = 0; i < input_count_; ++i) {
      from[i] = StagedInput(i, inputs[i], at, here, scaled.bytes, staged[i].bytes);
    }
    std::byte* const to = output + at * output_size_;
    if (activation_ == nullptr) {
      kernel_(from.data(), to, here, store_mode, attributes_);
      continue;
    }
    kernel_(from.data(), results.bytes, here, StoreMode::kCached, attributes_);
    const std::byte* const sums = results.bytes;
    activation_(&sums, to, here, store_mode, activation_attributes_);
  }
}

}  // namespace opserve::cpu
