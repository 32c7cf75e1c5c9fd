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
Operation<void> TakeOutOfService(ClientImpl& client, const char* method, absl::string_view device,
                                 absl::string_view reason, const CallOptions& options) {
  Request request;
  request.set_device(std::string(device));
  request.set_reason(std::string(reason));
  return client.AskOne<Response>(method, request, options, [](const Response&) {});
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

Operation<absl::Duration> RenewLease(ClientImpl& client, absl::string_view id, absl::Duration time,
                                     const CallOptions& options) {
  v1::RenewLeaseRequest request;
  request.set_device_lease(std::string(id));
  request.set_time_s(LeaseSeconds(time));
  return client.Ask<v1::RenewLeaseResponse>(
      kRenewLease, request, options,
      [](const v1::RenewLeaseResponse& response) { return absl::Milliseconds(response.left_ms()); },
      id);
}

Operation<std::vector<DeviceLeaseInfo>> ListLeases(ClientImpl& client, const CallOptions& options) {
  return client.AskOne<v1::ListLeasesResponse>(kListLeases, v1::ListLeasesRequest(), options,
                                               DecodeLeases);
}

Operation<void> EndLease(ClientImpl& client, uint64_t number, const CallOptions& options) {
  v1::EndLeaseRequest request;
  request.set_number(number);
  return client.AskOne<v1::EndLeaseResponse>(kEndLease, request, options,
                                             [](const v1::EndLeaseResponse&) {});
}

Operation<void> SetDeviceAside(ClientImpl& client, absl::string_view device,
                               absl::string_view reason, const CallOptions& options) {
  return TakeOutOfService<v1::SetDeviceAsideRequest, v1::SetDeviceAsideResponse>(
      client, kSetDeviceAside, device, reason, options);
}

Operation<void> DrainDevice(ClientImpl& client, absl::string_view device, absl::string_view reason,
                            const CallOptions& options) {
  return TakeOutOfService<v1::DrainDeviceRequest, v1::DrainDeviceResponse>(client, kDrainDevice,
                                                                           device, reason, options);
}

Operation<void> ResumeDevice(ClientImpl& client, absl::string_view device,
                             const CallOptions& options) {
  v1::ResumeDeviceRequest request;
  request.set_device(std::string(device));
  return client.AskOne<v1::ResumeDeviceResponse>(kResumeDevice, request, options,
                                                 [](const v1::ResumeDeviceResponse&) {});
}

}  // namespace opserve::client_internal
