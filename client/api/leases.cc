#include "client/api/leases.h"

#include <memory>
#include <string>
#include <utility>

#include "client/wire/wire_leases.h"

namespace opserve::client_internal {
namespace {

constexpr char kLeaseDevice[] = "/opserve.v1.OperatorService/LeaseDevice";
constexpr char kRenewLease[] = "/opserve.v1.OperatorService/RenewLease";
constexpr char kListLeases[] = "/opserve.v1.AdminService/ListLeases";
constexpr char kEndLease[] = "/opserve.v1.AdminService/EndLease";
constexpr char kSetDeviceAside[] = "/opserve.v1.AdminService/SetDeviceAside";
constexpr char kDrainDevice[] = "/opserve.v1.AdminService/DrainDevice";
constexpr char kResumeDevice[] = "/opserve.v1.AdminService/ResumeDevice";

// A method that takes a device out of service, and says why.
template <class Request, class Response>
absl::Status TakeOutOfService(ClientImpl& client, const char* method, absl::string_view device,
                              absl::string_view reason, const CallOptions& options) {
  Request request;
  request.set_device(std::string(device));
  request.set_reason(std::string(reason));
  Response response;
  return client.InvokeOnOne(method, request, options, response);
}

}  // namespace

std::shared_ptr<LeaseCore> LeaseDevice(ClientImpl& client, const DeviceLeaseOptions& lease) {
  Route route;
  auto stream = client.OpenRawStream(kLeaseDevice, route);
  auto core = std::make_shared<LeaseCore>(std::move(stream),
                                          [&client, number = route.host](const std::string& id) {
                                            return client.LearnHost(id, number);
                                          });
  core->Start(EncodeLease(lease));
  return core;
}

absl::StatusOr<absl::Duration> RenewLease(ClientImpl& client, absl::string_view id,
                                          absl::Duration time, const CallOptions& options) {
  v1::RenewLeaseRequest request;
  request.set_device_lease(std::string(id));
  request.set_time_s(LeaseSeconds(time));
  v1::RenewLeaseResponse response;
  RetryState retries = client.StartRetries(options);
  const absl::Status status =
      client.Invoke(kRenewLease, request, retries, response, std::string(HostOf(id)));
  if (!status.ok()) return status;
  return absl::Milliseconds(response.left_ms());
}

absl::StatusOr<std::vector<DeviceLeaseInfo>> ListLeases(ClientImpl& client,
                                                        const CallOptions& options) {
  v1::ListLeasesResponse response;
  const absl::Status status =
      client.InvokeOnOne(kListLeases, v1::ListLeasesRequest(), options, response);
  if (!status.ok()) return status;
  return DecodeLeases(response);
}

absl::Status EndLease(ClientImpl& client, uint64_t number, const CallOptions& options) {
  v1::EndLeaseRequest request;
  request.set_number(number);
  v1::EndLeaseResponse response;
  return client.InvokeOnOne(kEndLease, request, options, response);
}

absl::Status SetDeviceAside(ClientImpl& client, absl::string_view device, absl::string_view reason,
                            const CallOptions& options) {
  return TakeOutOfService<v1::SetDeviceAsideRequest, v1::SetDeviceAsideResponse>(
      client, kSetDeviceAside, device, reason, options);
}

absl::Status DrainDevice(ClientImpl& client, absl::string_view device, absl::string_view reason,
                         const CallOptions& options) {
  return TakeOutOfService<v1::DrainDeviceRequest, v1::DrainDeviceResponse>(client, kDrainDevice,
                                                                           device, reason, options);
}

absl::Status ResumeDevice(ClientImpl& client, absl::string_view device,
                          const CallOptions& options) {
  v1::ResumeDeviceRequest request;
  request.set_device(std::string(device));
  v1::ResumeDeviceResponse response;
  return client.InvokeOnOne(kResumeDevice, request, options, response);
}

}  // namespace opserve::client_internal
