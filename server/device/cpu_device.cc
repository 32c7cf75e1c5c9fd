#include "server/device/cpu_device.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// Memory that is kept warm for later sequences.
constexpr uint64_t kIdleWorkspaceBytes = uint64_t{64} << 20;

// The processor's own name where Linux tells it.
std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(':');
    if (absl::StartsWith(line, "model name") && colon != std::string::npos) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "processor";
}

DeviceProfile ProfileOf(const CpuExecutor& executor) {
  DeviceProfile profile;
  profile.kind = DeviceKind::kCpu;
  profile.name = absl::StrCat("cpu/", CpuTargetName());
  profile.description = ProcessorName();
  profile.threads = executor.threads();
  return profile;
}

}  // namespace

CpuDevice::CpuDevice(int threads)
    : executor_(threads), profile_(ProfileOf(executor_)), workspaces_(kIdleWorkspaceBytes) {}

absl::Status CpuDevice::Run(std::span<const DeviceCall> calls) {
  for (const DeviceCall& call : calls) {
    if (call.sequence != nullptr) {
      RunSequence(*call.sequence);
      continue;
    }
    const auto inputs = static_cast<size_t>(TraitsOf(call.invocation->op).input_count());
    executor_.Run(*call.invocation, std::span(call.inputs).first(inputs), call.output);
  }
  return absl::OkStatus();
}

void CpuDevice::RunSequence(const SequenceCall& call) {
  const uint64_t bytes = call.sequence->plan.workspace_bytes;
  const HostBuffer workspace = bytes > 0 ? workspaces_.Take(bytes) : HostBuffer();
  executor_.RunSequence(*call.sequence, call.inputs, call.outputs, workspace.data());
}

}  // namespace opserve
