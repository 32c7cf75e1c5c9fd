#include "tests/fuzz/place_check.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/data_type.h"
#include "kernels/validate.h"
#include "server/tensors/input_ring.h"
#include "server/wire/wire.h"
#include "tests/fuzz/require.h"
#include "tests/testing/payload_views.h"

namespace opserve::fuzz {
namespace {

constexpr ValidationLimits kLimits = {.max_elements = 1 << 14, .max_tensor_bytes = 1 << 16};

using Bytes = std::vector<std::byte>;
using Pointers = std::array<const std::byte*, kMaxInputs>;

// Exactly the bytes that the kernel may read. What is beyond them is AddressSanitizer's.
std::vector<Bytes> CopiesOf(const Pointers& inputs, const Invocation& call) {
  std::vector<Bytes> copies(kMaxInputs);
  for (size_t i = 0; i < kMaxInputs; ++i) {
    if (inputs[i] != nullptr) copies[i].assign(inputs[i], inputs[i] + call.input_bytes[i]);
  }
  return copies;
}

void Run(const Invocation& call, const Pointers& inputs, std::byte* output) {
  static const CpuExecutor& executor = *new CpuExecutor(1);
  executor.Run(call, std::span(inputs).first(TraitsOf(call.op).inputs.size()), output);
}

// The result in memory of its own.
Bytes Expected(const Invocation& call, const std::vector<Bytes>& inputs) {
  Pointers pointers = {};
  for (size_t i = 0; i < kMaxInputs; ++i) {
    if (call.payload_index[i] >= 0) pointers[i] = inputs[i].data();
  }
  Bytes output(call.output_bytes);
  Run(call, pointers, output.data());
  return output;
}

// A share is of something that there is, and of nothing beyond it.
void CheckShare(const TensorShare& share, uint64_t bytes) {
  if (share.tensor != nullptr) {
    Require(share.tensor->bytes() == bytes && share.slice.region == nullptr);
  } else if (share.slice.region != nullptr) {
    const Region& region = *share.slice.region;
    Require(share.slice.bytes == bytes && share.slice.offset <= region.bytes());
    Require(bytes <= region.bytes() - share.slice.offset);
    Require(share.slice.data() == region.At(0, 0) + share.slice.offset);
  }
}

void CheckInputs(const InputPlaces& inputs, const Invocation& call) {
  for (size_t i = 0; i < inputs.shares().size(); ++i) {
    CheckShare(inputs.shares()[i], inputs.bytes()[i]);
  }
  for (size_t i = 0; i < kMaxInputs; ++i) {
    if (call.payload_index[i] < 0) continue;
    const uint64_t given = inputs.bytes()[static_cast<size_t>(call.payload_index[i])];
    Require(given >= call.input_bytes[i]);
  }
}

void CheckOutput(const OutputPlace& output, const Invocation& call) {
  const TensorShare& share = output.share();
  CheckShare(share, share.tensor != nullptr ? call.output_bytes : share.slice.bytes);
  if (share.tensor != nullptr) return;
  Require(share.slice.bytes >= call.output_bytes);
  Require(reinterpret_cast<uintptr_t>(output.memory()) % kHostBufferAlignment == 0);
}

Bytes ResultIn(const OutputPlace& output, const Invocation& call) {
  if (output.memory() != nullptr) return {output.memory(), output.memory() + call.output_bytes};
  const auto snapshot = output.share().tensor->Snapshot().data;
  return {snapshot.get(), snapshot.get() + call.output_bytes};
}

// As ExecuteJob does: at once in its place unless that touches an input.
void RunInPlace(RegionWorld& world, const v1::ExecuteRequest& request, const Invocation& call,
                InputPlaces& inputs, OutputPlace& output, bool touches_input) {
  const auto sources =
      InputsOf(inputs.Take(testing::PayloadsOf(request), request.verify(), world.buffers()), call);
  // Here all are in one piece.
  Pointers pointers = {};
  std::transform(sources.begin(), sources.end(), pointers.begin(),
                 [](const TensorBytes& source) { return source.data(); });
  const std::vector<Bytes> before = CopiesOf(pointers, call);
  const Bytes expected = Expected(call, before);
  if (!output.is_set()) return;
  if (output.memory() != nullptr && !touches_input) {
    Run(call, pointers, output.memory());
  } else {
    HostBuffer buffer = world.buffers().Take(call.output_bytes);
    Run(call, pointers, buffer.data());
    Require(output.Put(std::move(buffer), call.output_bytes, {}).ok());
  }
  Require(ResultIn(output, call) == expected);
  if (!touches_input) Require(CopiesOf(pointers, call) == before);
}

// Whatever the memory says of how far the client is, what is handed out lies in it.
void CheckRing(RegionWorld& world, v1::ExecuteRequest& request) {
  world.Name(*request.mutable_ring()->mutable_memory());
  const v1::PayloadRing& asked = request.ring();
  InputRing ring(SteadyClock());
  std::vector<Violation> violations;
  const absl::Status status = ring.Resolve(world.parts().regions, {kClient}, asked, violations);
  Require(status.ok() || absl::IsNotFound(status));
  const std::vector<uint64_t> lengths(asked.payload_bytes().begin(), asked.payload_bytes().end());
  const RequestHeader header = HeaderOf(request, lengths);
  const ValidationResult result = Validate(header.call, kLimits);
  if (!status.ok() || !violations.empty() || result.invocation == nullptr) return;
  const Invocation& call = *result.invocation;
  if (!ring.Check(call).empty()) return;

  // Nobody waits.
  const std::atomic<bool> stop = true;
  ring.HasAll();
  const auto inputs = InputsOf(ring.Begin(stop), call);
  const uint64_t room = asked.runs() * asked.run_elements();
  uint64_t elements = 0;
  while (elements < call.plan.element_count) {
    const auto part = ring.Next();
    if (!part.ok()) return Require(absl::IsCancelled(part.status()));
    Require(part->elements > 0 && part->place + part->elements <= room);
    for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
      const uint64_t size = SizeOf(call.inputs[i].data_type);
      const std::byte* const from = inputs[i].data() + part->place * size;
      const Bytes read(from, from + part->elements * size);
      Require(read.size() == part->elements * size);
    }
    elements += part->elements;
    ring.Release();
  }
  Require(elements == call.plan.element_count);
}

}  // namespace

void CheckPlaces(RegionWorld& world, v1::ExecuteRequest request) {
  if (request.has_ring()) return CheckRing(world, request);
  for (v1::TensorPlace& place : *request.mutable_input_places()) world.Name(place);
  if (request.has_output_place()) world.Name(*request.mutable_output_place());

  InputPlaces inputs;
  OutputPlace output;
  std::vector<Violation> violations;
  const std::string client = kClient;
  const PlaceCaller caller = {client, {client}};
  absl::Status status =
      inputs.Resolve(world.parts(), caller, request.input_places(),
                     testing::PayloadBytesOf(request), *request.mutable_inputs(), violations);
  if (status.ok()) {
    status =
        output.Resolve(world.parts(), caller, request.output_place(), "output_place", violations);
  }
  Require(status.ok() || absl::IsNotFound(status) || absl::IsInvalidArgument(status));
  if (!status.ok()) return;
  RequestHeader header = HeaderOf(request, inputs.bytes());
  header.call.payload_fields = inputs.fields();
  const ValidationResult result = Validate(header.call, kLimits);
  Require((result.invocation == nullptr) != result.violations.empty());
  if (result.invocation == nullptr || !violations.empty()) return;

  bool touches_input = false;
  if (output.is_set()) {
    output.Check(result.invocation->output, result.invocation->output_bytes, violations);
    touches_input = CheckInPlace(*result.invocation, inputs, output, violations);
    if (!violations.empty()) return;
    CheckOutput(output, *result.invocation);
  }
  CheckInputs(inputs, *result.invocation);
  RunInPlace(world, request, *result.invocation, inputs, output, touches_input);
}

}  // namespace opserve::fuzz
