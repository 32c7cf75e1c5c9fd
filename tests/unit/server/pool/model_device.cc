#include "tests/unit/server/pool/model_device.h"

#include <chrono>

namespace opserve::testing {
namespace {

Clock::Duration Transfer(uint64_t bytes, double speed) {
  if (speed == 0) return {};
  return std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(bytes) / speed));
}

uint64_t InputBytes(const Invocation& call) {
  uint64_t bytes = 0;
  for (const uint64_t input : call.input_bytes) bytes += input;
  return bytes;
}

}  // namespace

Clock::Duration ModelTime(const ModelSpeeds& speeds, uint64_t up_bytes, uint64_t down_bytes,
                          uint64_t kernels, uint64_t kernel_bytes) {
  return speeds.latency + Transfer(up_bytes, speeds.up) + Transfer(down_bytes, speeds.down) +
         static_cast<int64_t>(kernels) * speeds.per_kernel + Transfer(kernel_bytes, speeds.memory);
}

absl::Status ModelDevice::Run(std::span<const DeviceCall> calls) {
  uint64_t up = 0;
  uint64_t down = 0;
  uint64_t kernels = 0;
  uint64_t kernel_bytes = 0;
  const auto add_kernel = [&](const Invocation& call) {
    ++kernels;
    kernel_bytes += InputBytes(call) + call.output_bytes;
  };
  for (const DeviceCall& call : calls) {
    if (call.sequence == nullptr) {
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        const ContentId content = call.inputs[i].content();
        if (!kept_.contains(content)) up += call.invocation->input_bytes[i];
        if (content != kNoContent) kept_.insert(content);
      }
      const ResultContent& result = call.content;
      if (result.id != kNoContent) kept_.insert(result.id);
      if (result.stays != nullptr) {
        *result.stays = true;
      } else {
        down += call.invocation->output_bytes;
      }
      add_kernel(*call.invocation);
      continue;
    }
    const SequenceInvocation& sequence = *call.sequence->sequence;
    for (const uint64_t bytes : sequence.input_bytes) up += bytes;
    for (size_t i = 0; i < sequence.outputs.size(); ++i) down += sequence.output_bytes(i);
    for (const SequenceStep& step : sequence.steps) add_kernel(*step.call);
  }
  clock_.Advance(ModelTime(speeds_, up, down, kernels, kernel_bytes));
  return absl::OkStatus();
}

}  // namespace opserve::testing
