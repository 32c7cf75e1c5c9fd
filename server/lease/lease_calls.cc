#include "server/lease/lease_calls.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/lease/lease_stream.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/unary_call.h"
#include "server/validate/request_validator.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kUsualTime = std::chrono::minutes(1);

void RenewLease(DeviceLeases& leases, UnaryCall& call) {
  v1::RenewLeaseRequest request;
  v1::RenewLeaseResponse answer;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) {
    const auto left = leases.Renew(request.device_lease(), call.caller().identity(),
                                   WantedLeaseTime(request.time_s()));
    status = left.status();
    if (left.ok()) answer.set_left_ms(LeaseMilliseconds(*left));
  }
  call.Finish(status, answer);
}

void ReleaseLease(DeviceLeases& leases, UnaryCall& call) {
  v1::ReleaseLeaseRequest request;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) {
    status = leases.Release(request.device_lease(), call.caller().identity());
  }
  call.Finish(status, v1::ReleaseLeaseResponse());
}

}  // namespace

absl::Status CheckGpuName(const std::string& name, const DevicePool& pool) {
  const std::string shown = TruncateUtf8(name, kMaxRequestIdBytes);
  const DeviceProfile* const profile = pool.Find(name);
  if (profile == nullptr) {
    return MakeError(ErrorReason::DEVICE_NOT_FOUND,
                     absl::StrCat("There is no GPU called \"", shown, "\"."), {{"device", shown}});
  }
  if (profile->kind == DeviceKind::kGpu) return absl::OkStatus();
  return MakeViolationError(
      {"device", absl::StrCat("\"", shown,
                              "\" is the processor, which serves everybody where no "
                              "GPU does; only GPUs are allowed.")});
}

absl::Status CheckLeaseRequest(const v1::LeaseDeviceRequest& request, const DevicePool& pool) {
  if (request.label().size() > kMaxLeaseLabelBytes) {
    return MakeViolationError(
        {"label", absl::StrCat("The label has ", request.label().size(), " bytes; at most ",
                               kMaxLeaseLabelBytes, " are allowed.")});
  }
  if (!request.device().empty()) return CheckGpuName(request.device(), pool);
  RequestEnvelope any_gpu;
  any_gpu.device = v1::DEVICE_PREFERENCE_GPU;
  return CheckDevice(any_gpu, [&pool] { return pool.gpu_presence(); });
}

Clock::Duration WantedLeaseTime(uint32_t time_s) {
  return time_s == 0 ? kUsualTime : seconds(time_s);
}

uint64_t LeaseMilliseconds(Clock::Duration left) {
  return static_cast<uint64_t>(std::chrono::ceil<milliseconds>(left).count());
}

void AddLeaseMethods(RpcService& rpc, const MethodLimits& stream, const MethodLimits& control,
                     DeviceLeases& leases, const DevicePool& pool) {
  rpc.AddStream("LeaseDevice", stream,
                [&](StreamCall& call) { return StartLeaseDevice(leases, pool, call); });
  rpc.AddUnary("RenewLease", control, [&](UnaryCall& call) { RenewLease(leases, call); });
  rpc.AddUnary("ReleaseLease", control, [&](UnaryCall& call) { ReleaseLease(leases, call); });
}

}  // namespace opserve
