#include "server/service/admin_service.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "opserve/v1/admin_service.pb.h"
#include "server/errors/errors.h"
#include "server/lease/lease_calls.h"
#include "server/rpc/message_bytes.h"
#include "server/service/audited_answer.h"

namespace opserve {
namespace {

// Names and reasons, and room for fields that later clients may send.
constexpr uint64_t kMaxRequestBytes = 4 << 10;

// Checks the device and the reason of a request.
template <class Request>
absl::Status CheckSettingAside(const Request& request, const DevicePool& pool) {
  if (request.reason().size() > kMaxLeaseLabelBytes) {
    return MakeViolationError(
        {"reason", absl::StrCat("The reason has ", request.reason().size(), " bytes; at most ",
                                kMaxLeaseLabelBytes, " are allowed.")});
  }
  return CheckGpuName(request.device(), pool);
}

uint64_t MillisecondsOf(Clock::Duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

void WriteLease(const DeviceLeaseView& lease, v1::DeviceLeaseInfo& out) {
  out.set_number(lease.number);
  out.set_client(lease.client);
  out.set_label(lease.label);
  out.set_device(lease.device);
  out.set_held(lease.is_held);
  out.set_position(static_cast<uint32_t>(lease.position));
  out.set_age_ms(MillisecondsOf(lease.age));
  out.set_left_ms(LeaseMilliseconds(lease.left));
}

}  // namespace

AdminService::AdminService(const Parts& parts)
    : parts_(parts), rpc_(kAdminServiceName, &parts.logger) {
  const auto control = [&](Role role) {
    return MethodLimits{.role = role,
                        .max_request_bytes = kMaxRequestBytes,
                        .admission = &parts.control,
                        .observer = parts.observer};
  };
  rpc_.AddUnary("ListLeases", control(Role::kObserve),
                [this](UnaryCall& call) { ListLeases(call); });
  rpc_.AddUnary("EndLease", control(Role::kAdmin), [this](UnaryCall& call) { EndLease(call); });
  rpc_.AddUnary("DrainDevice", control(Role::kAdmin),
                [this](UnaryCall& call) { DrainDevice(call); });
  rpc_.AddUnary("SetDeviceAside", control(Role::kAdmin),
                [this](UnaryCall& call) { SetDeviceAside(call); });
  rpc_.AddUnary("ResumeDevice", control(Role::kAdmin),
                [this](UnaryCall& call) { ResumeDevice(call); });
}

void AdminService::Answer(UnaryCall& call, AuditEntry entry, const absl::Status& status,
                          const google::protobuf::Message& answer) {
  AnswerAudited(parts_.audit, call, std::move(entry), status, answer);
}

void AdminService::ListLeases(UnaryCall& call) {
  v1::ListLeasesRequest request;
  v1::ListLeasesResponse answer;
  const absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) {
    for (const DeviceLeaseView& lease : parts_.leases.List())
      WriteLease(lease, *answer.add_leases());
  }
  Answer(call, {.method = "ListLeases"}, status, answer);
}

void AdminService::EndLease(UnaryCall& call) {
  v1::EndLeaseRequest request;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) status = parts_.leases.End(request.number(), LeaseEnd::kByAdmin);
  Answer(call, {.method = "EndLease", .lease = request.number()}, status, v1::EndLeaseResponse());
}

void AdminService::DrainDevice(UnaryCall& call) {
  v1::DrainDeviceRequest request;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) status = CheckSettingAside(request, parts_.pool);
  const AuditEntry entry = {
      .method = "DrainDevice", .device = request.device(), .note = request.reason()};
  if (!status.ok()) return Answer(call, entry, status, v1::DrainDeviceResponse());
  parts_.pool.SetDeviceAside(request.device(), request.reason());
  parts_.drains.Wait(call, parts_.pool, request.device(),
                     [this, entry](UnaryCall& drained, const absl::Status& end) {
                       Answer(drained, entry, end, v1::DrainDeviceResponse());
                     });
}

void AdminService::SetDeviceAside(UnaryCall& call) {
  v1::SetDeviceAsideRequest request;
  v1::SetDeviceAsideResponse answer;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) status = CheckSettingAside(request, parts_.pool);
  if (status.ok()) {
    parts_.pool.SetDeviceAside(request.device(), request.reason());
    for (const DeviceStatus& device : parts_.pool.Status()) {
      if (device.profile.name != request.device()) continue;
      answer.set_batches_in_flight(static_cast<uint32_t>(device.in_flight));
    }
  }
  Answer(call, {.method = "SetDeviceAside", .device = request.device(), .note = request.reason()},
         status, answer);
}

void AdminService::ResumeDevice(UnaryCall& call) {
  v1::ResumeDeviceRequest request;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) status = CheckGpuName(request.device(), parts_.pool);
  if (status.ok()) parts_.pool.ResumeDevice(request.device());
  Answer(call, {.method = "ResumeDevice", .device = request.device()}, status,
         v1::ResumeDeviceResponse());
}

}  // namespace opserve
