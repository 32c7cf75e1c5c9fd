#include "client/cli/device_run.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/wire/wire_tensors.h"

namespace opserve::cli {
namespace {

constexpr char kAllDevices[] = "all";

std::string Explained(const char* what, const absl::Status& status) {
  return absl::StrCat(what, absl::StatusCodeToString(status.code()), ": ", status.message());
}

// Why another device answered.
std::string WhyNot(const DeviceRun& run, const ExecutionInfo& info) {
  if (run.is_unsupported) return "it has no kernel for this call";
  if (info.verified) return "its result was wrong, and the server replaced it by the processor's";
  return absl::StrCat("it failed, and ", info.device, " answered");
}

// Runs the call where it is placed, which may be on another device than that of `run`.
void Execute(Client& client, const OperatorCall& call, DeviceRun& run) {
  ExecutionInfo info;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<Tensor> result = client.Execute(call, {}, &info);
  run.round_trip = absl::FromChrono(std::chrono::steady_clock::now() - start);
  if (!result.ok()) {
    run.failure = Explained("", result.status());
  } else if (info.device == run.device) {
    run.result = *std::move(result);
  } else {
    run.is_unsupported = info.attempts <= 1 && !info.verified;
    run.failure = WhyNot(run, info);
  }
}

}  // namespace

absl::StatusOr<std::vector<DeviceInfo>> SelectGpus(const std::vector<DeviceInfo>& devices,
                                                   const std::vector<std::string>& names) {
  std::vector<DeviceInfo> gpus;
  for (const DeviceInfo& device : devices) {
    if (device.kind == DeviceInfo::Kind::kGpu) gpus.push_back(device);
  }
  const auto name_of = [](std::string* text, const DeviceInfo& device) {
    text->append(device.name);
  };
  for (const std::string& name : names) {
    const auto has_name = [&](const DeviceInfo& gpu) { return gpu.name == name; };
    if (name == kAllDevices || std::any_of(gpus.begin(), gpus.end(), has_name)) continue;
    return absl::NotFoundError(
        absl::StrCat("the server has no GPU '", name,
                     "'; it has: ", gpus.empty() ? "none" : absl::StrJoin(gpus, ", ", name_of)));
  }
  const auto is_chosen = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_chosen(kAllDevices)) return gpus;
  std::erase_if(gpus, [&](const DeviceInfo& gpu) { return !is_chosen(gpu.name); });
  return gpus;
}

DeviceRun RunOnDevice(Client& client, const DeviceInfo& device, OperatorCall call,
                      absl::Duration limit) {
  DeviceRun run{.device = device.name};
  if (device.state != DeviceInfo::State::kReady && device.state != DeviceInfo::State::kSuspect) {
    // An administrator's reason is any text, also such as would move the cursor.
    run.failure =
        absl::StrCat("it is ", NameOf(device.state), device.state_reason.empty() ? "" : ": ",
                     absl::Utf8SafeCEscape(device.state_reason));
    return run;
  }
  call.device = DevicePreference::kGpu;
  // A GPU that this program has already is not free for another lease.
  if (std::getenv(client_internal::kDeviceLeaseVariable) != nullptr) {
    Execute(client, call, run);
    if (run.result) return run;
    run = {.device = device.name};
  }
  const std::unique_ptr<DeviceLease> lease =
      client.LeaseDevice({.device = device.name, .time = limit, .label = "opserve compare"});
  const Call<DeviceGrant> waiting = lease->grant();
  if (!waiting.WaitFor(limit)) {
    run.failure = absl::StrCat("others had it for ", absl::FormatDuration(limit));
    return run;
  }
  const absl::StatusOr<DeviceGrant> grant = waiting.Wait();
  if (!grant.ok()) {
    run.failure = Explained("no lease: ", grant.status());
    return run;
  }
  call.device_lease = grant->id;
  Execute(client, call, run);
  return run;
}

}  // namespace opserve::cli
