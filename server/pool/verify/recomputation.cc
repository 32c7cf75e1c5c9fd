#include "server/pool/verify/recomputation.h"

#include <cstring>

namespace opserve {

Recomputation::Recomputation(const DeviceCall& call) : call_(call) {
  // What is computed again is compared, and kept by nobody.
  call_.content = {};
  if (call.sequence == nullptr) {
    AddResult(*call.invocation, 0, call.output);
    call_.output = results_.front().expected.get();
    return;
  }
  sequence_ = *call.sequence;
  // The results may go to a tensor that others read, even where the client does not wait any more.
  sequence_.stop = nullptr;
  for (size_t i = 0; i < sequence_.outputs.size(); ++i) {
    const uint32_t step = sequence_.sequence->outputs[i];
    AddResult(sequence_.sequence->call(step), step, sequence_.outputs[i]);
    sequence_.outputs[i] = results_.back().expected.get();
  }
  call_.sequence = &sequence_;
}

void Recomputation::AddResult(const Invocation& call, uint32_t step, std::byte* actual) {
  results_.push_back({&call, step, actual, std::make_unique<std::byte[]>(call.output_bytes)});
}

absl::Status Recomputation::Run(ComputeDevice& device) { return device.Run({&call_, 1}); }

std::optional<Mismatch> Recomputation::Repair() {
  std::optional<Mismatch> first;
  for (const Result& result : results_) {
    const std::byte* const expected = result.expected.get();
    const std::optional<Difference> difference =
        call_.sequence == nullptr
            ? FirstDifference(*result.call, expected, result.actual)
            : FirstDifference(*sequence_.sequence, result.step, expected, result.actual);
    if (!difference) continue;
    std::memcpy(result.actual, expected, result.call->output_bytes);
    if (!first) first = {result.call, *difference};
  }
  return first;
}

}  // namespace opserve
