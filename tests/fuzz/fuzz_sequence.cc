// Fuzzes the way of a sequence from the wire to the kernels: decode, validate, plan, run. What runs
// must give what its steps give one by one, in buffers of exactly the sizes that are promised:
// under AddressSanitizer a single byte read or written outside of them ends the program.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/validate_sequence.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/wire/sequence_wire.h"

namespace opserve {
namespace {

using Buffer = std::unique_ptr<std::byte[]>;

// Not make_unique: the buffer must have exactly this size and may be uninitialised.
Buffer MakeBuffer(uint64_t bytes) { return Buffer(new std::byte[bytes]); }

std::vector<Buffer> RunStepByStep(const SequenceInvocation& sequence, const CpuExecutor& executor,
                                  std::span<const std::byte* const> inputs) {
  std::vector<Buffer> results;
  for (const SequenceStep& step : sequence.steps) {
    std::array<const std::byte*, kMaxInputs> pointers = {};
    for (size_t i = 0; i < pointers.size(); ++i) {
      const TensorSource& source = step.sources[i];
      if (source.kind == TensorSource::Kind::kInput) pointers[i] = inputs[source.index];
      if (source.kind == TensorSource::Kind::kStep) pointers[i] = results[source.index].get();
    }
    const size_t count = TraitsOf(step.call->op).inputs.size();
    results.push_back(MakeBuffer(step.call->output_bytes));
    executor.Run(*step.call, std::span(pointers).first(count), results.back().get());
  }
  return results;
}

void RunAndCompare(const SequenceInvocation& sequence, const v1::ExecuteSequenceRequest& message) {
  static const CpuExecutor& executor = *new CpuExecutor(1);
  std::vector<Buffer> buffers;
  std::vector<const std::byte*> inputs;
  for (size_t i = 0; i < sequence.input_bytes.size(); ++i) {
    buffers.push_back(MakeBuffer(sequence.input_bytes[i]));
    // The validated length of the payload is at least this.
    std::memcpy(buffers.back().get(), message.payloads(static_cast<int>(i)).data(),
                sequence.input_bytes[i]);
    inputs.push_back(buffers.back().get());
  }
  std::vector<std::byte*> outputs;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) {
    buffers.push_back(MakeBuffer(sequence.output_bytes(i)));
    outputs.push_back(buffers.back().get());
  }
  const Buffer workspace = MakeBuffer(sequence.plan.workspace_bytes);
  executor.RunSequence(sequence, inputs, outputs, workspace.get());
  const std::vector<Buffer> expected = RunStepByStep(sequence, executor, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::byte* const result = expected[sequence.outputs[i]].get();
    if (std::memcmp(outputs[i], result, sequence.output_bytes(i)) != 0) std::abort();
  }
}

}  // namespace
}  // namespace opserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve;
  const SequenceLimits limits = {.tensors = {.max_elements = 1 << 14, .max_tensor_bytes = 1 << 16},
                                 .max_steps = 16};
  v1::ExecuteSequenceRequest message;
  if (!message.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  std::vector<uint64_t> payload_bytes;
  for (const auto& payload : message.payloads()) payload_bytes.push_back(payload.size());
  const SequenceHeader header = HeaderOf(message, payload_bytes);
  const SequenceValidationResult result = ValidateSequence(header.call, limits);
  if ((result.sequence == nullptr) == result.violations.empty()) std::abort();
  if (result.sequence != nullptr) RunAndCompare(*result.sequence, message);
  return 0;
}
