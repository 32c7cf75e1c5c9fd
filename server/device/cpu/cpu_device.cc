#include "server/device/cpu/cpu_device.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/data_type.h"
#include "server/device/cpu/processor_name.h"

namespace opserve {
namespace {

// Memory that is kept warm for later calls.
constexpr uint64_t kIdleWorkspaceBytes = uint64_t{64} << 20;

DeviceProfile ProfileOf(const CpuExecutor& executor) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kCpu;
  profile.name = absl::StrCat("cpu/", CpuTargetName());
  profile.description = ProcessorName();
  profile.threads = executor.threads();
  return profile;
}

bool IsInPieces(const TensorBytes& input) { return !input.pieces().empty(); }

// Inputs in one piece each: those that are in several are brought together.
class WholeInputs {
 public:
  // `bytes`: of each input.
  WholeInputs(std::span<const TensorBytes> inputs, std::span<const uint64_t> bytes,
              HostBufferPool& buffers) {
    pointers_.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      pointers_.push_back(inputs[i].Fetched().data());
      if (!IsInPieces(inputs[i])) continue;
      const HostBuffer& whole = gathered_.emplace_back(buffers.Take(bytes[i]));
      inputs[i].CopyTo(whole.data(), bytes[i]);
      pointers_.back() = whole.data();
    }
  }

  std::span<const std::byte* const> pointers() const { return pointers_; }

 private:
  std::vector<const std::byte*> pointers_;
  std::vector<HostBuffer> gathered_;
};

}  // namespace

CpuDevice::CpuDevice(int threads)
    : executor_(threads), profile_(ProfileOf(executor_)), workspaces_(kIdleWorkspaceBytes) {}

absl::Status CpuDevice::Run(std::span<const DeviceCall> calls) {
  for (const DeviceCall& call : calls) {
    if (call.sequence != nullptr) {
      if (absl::Status status = RunSequence(*call.sequence); !status.ok()) return status;
      continue;
    }
    if (call.arriving != nullptr) {
      if (absl::Status status = RunArriving(call); !status.ok()) return status;
      continue;
    }
    RunOne(call);
  }
  return absl::OkStatus();
}

absl::Status CpuDevice::RunArriving(const DeviceCall& call) {
  const Invocation& invocation = *call.invocation;
  const auto input_count = static_cast<size_t>(TraitsOf(invocation.op).input_count());
  const size_t output_size = SizeOf(invocation.output.data_type);
  for (uint64_t done = 0; done < invocation.plan.element_count;) {
    const absl::StatusOr<ArrivingInputs::Part> part = call.arriving->Next();
    if (!part.ok()) return part.status();
    std::array<const std::byte*, kMaxInputs> inputs = {};
    for (size_t i = 0; i < input_count; ++i) {
      inputs[i] = call.inputs[i].data() + part->place * SizeOf(invocation.inputs[i].data_type);
    }
    executor_.RunPart(invocation, part->elements, std::span(inputs).first(input_count),
                      call.output + done * output_size);
    call.arriving->Release();
    done += part->elements;
  }
  return absl::OkStatus();
}

void CpuDevice::RunOne(const DeviceCall& call) {
  const Invocation& invocation = *call.invocation;
  std::array<TensorBytes, kMaxInputs> fetched;
  std::transform(call.inputs.begin(), call.inputs.end(), fetched.begin(),
                 [](const TensorBytes& input) { return input.Fetched(); });
  const auto inputs = std::span<const TensorBytes>(fetched).first(
      static_cast<size_t>(TraitsOf(invocation.op).input_count()));
  if (call.output == nullptr) {
    executor_.RunInPlace(invocation, inputs, call.in_place);
    return;
  }
  if (std::none_of(inputs.begin(), inputs.end(), IsInPieces)) {
    std::array<const std::byte*, kMaxInputs> pointers = {};
    std::transform(inputs.begin(), inputs.end(), pointers.begin(),
                   [](const TensorBytes& input) { return input.data(); });
    executor_.Run(invocation, std::span(pointers).first(inputs.size()), call.output);
  } else if (invocation.plan.is_packed()) {
    executor_.RunPieces(invocation, inputs, call.output);
  } else {
    const WholeInputs whole(inputs, invocation.input_bytes, workspaces_);
    executor_.Run(invocation, whole.pointers(), call.output);
  }
}

absl::Status CpuDevice::RunSequence(const SequenceCall& call) {
  const uint64_t bytes = call.sequence->plan.workspace_bytes;
  const HostBuffer workspace = bytes > 0 ? workspaces_.Take(bytes) : HostBuffer();
  const WholeInputs inputs(call.inputs, call.sequence->input_bytes, workspaces_);
  return executor_.RunSequence(*call.sequence, inputs.pointers(), call.outputs, workspace.data(),
                               call.stop)
             ? absl::OkStatus()
             : absl::CancelledError("nobody waits for the results");
}

}  // namespace opserve
