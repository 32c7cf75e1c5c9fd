// File: tests/integration/device_lease_fixture.h
//
// A server with scripted GPUs, and clients that lease them.

#ifndef OPSERVE_TESTS_INTEGRATION_DEVICE_LEASE_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_DEVICE_LEASE_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "opserve/v1/admin_service.grpc.pb.h"
#include "tests/integration/gpu_fixture.h"

namespace opserve::testing {

// A client in the stream of its lease.
class LeasingClient {
 public:
  // `authorization`: the metadata of that name; `name`: what the client calls itself; empty: none.
  explicit LeasingClient(Stub& stub, const std::string& device = "", uint32_t time_s = 0,
                         const std::string& label = "", const std::string& authorization = "",
                         const std::string& name = "") {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    if (!authorization.empty()) context_.AddMetadata("authorization", authorization);
    if (!name.empty()) context_.AddMetadata("opserve-client", name);
    v1::LeaseDeviceRequest request;
    request.set_device(device);
    request.set_time_s(time_s);
    request.set_label(label);
    stream_ = stub.LeaseDevice(&context_, request);
  }

  // Reads events up to the next one of this kind; positions are noted. False where there is none.
  bool WaitFor(v1::LeaseDeviceResponse::EventCase kind) {
    while (stream_->Read(&event_)) {
      if (event_.has_queued()) position_ = event_.queued().position();
      if (event_.has_granted()) id_ = event_.granted().device_lease();
      if (event_.event_case() == kind) return true;
    }
    return false;
  }
  bool WaitUntilGranted() { return WaitFor(v1::LeaseDeviceResponse::kGranted); }
  bool WaitUntilQueued() { return WaitFor(v1::LeaseDeviceResponse::kQueued); }
  // Waits for the end of the lease, and of the stream. Why; DEVICE_LEASE_END_UNSPECIFIED where the
  // stream ends without saying it.
  v1::DeviceLeaseEnd WaitUntilEnded() {
    return WaitFor(v1::LeaseDeviceResponse::kEnded) ? event_.ended().why()
                                                    : v1::DEVICE_LEASE_END_UNSPECIFIED;
  }
  // Waits for the end of the stream.
  grpc::Status Finish() {
    while (stream_->Read(&event_)) {
    }
    return stream_->Finish();
  }

  // The client is gone.
  void Cancel() { context_.TryCancel(); }

  const v1::LeaseDeviceResponse& event() const { return event_; }
  const std::string& id() const { return id_; }
  uint32_t position() const { return position_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::LeaseDeviceResponse>> stream_;
  v1::LeaseDeviceResponse event_;
  std::string id_;
  uint32_t position_ = 0;
};

class DeviceLeaseTest : public GpuServerTest {
 protected:
  // As Start does.
  void StartServer(int gpus, const ServerOptions& options = OneByOneOptions(),
                   const Clock* clock = nullptr) {
    Start(options, gpus, clock);
    admin_ = v1::AdminService::NewStub(server().channel());
  }

  // A request that is to run on a GPU, under a lease if it has an id.
  static v1::ExecuteRequest OnGpu(float value, const std::string& lease = "") {
    v1::ExecuteRequest request = RoundRequest({value});
    request.set_device(v1::DEVICE_PREFERENCE_GPU);
    request.set_device_lease(lease);
    return request;
  }
  // The device that answers.
  std::string RunOn(const v1::ExecuteRequest& request) {
    const Answer answer = server().Execute(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.response.execution().device();
  }
  std::string ReasonFor(const v1::ExecuteRequest& request) {
    return ReasonOf(server().Execute(request).status);
  }

  template <class Request, class Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) {
    grpc::ClientContext context;
    return (server().stub().*method)(&context, request, &response);
  }
  grpc::Status Renew(const std::string& id, uint32_t time_s, v1::RenewLeaseResponse& renewed) {
    v1::RenewLeaseRequest request;
    request.set_device_lease(id);
    request.set_time_s(time_s);
    return Call(&Stub::RenewLease, request, renewed);
  }
  grpc::Status Release(const std::string& id) {
    v1::ReleaseLeaseRequest request;
    request.set_device_lease(id);
    v1::ReleaseLeaseResponse response;
    return Call(&Stub::ReleaseLease, request, response);
  }

  template <class Request, class Response>
  grpc::Status Administer(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                         const Request&, Response*),
                          const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    return (admin_.get()->*method)(&context, request, &response);
  }
  v1::ListLeasesResponse Leases() {
    v1::ListLeasesResponse leases;
    EXPECT_TRUE(Administer(&v1::AdminService::Stub::ListLeases, {}, leases).ok());
    return leases;
  }
  grpc::Status SetAside(const std::string& device, const std::string& reason) {
    v1::SetDeviceAsideRequest request;
    request.set_device(device);
    request.set_reason(reason);
    v1::SetDeviceAsideResponse response;
    return Administer(&v1::AdminService::Stub::SetDeviceAside, request, response);
  }
  grpc::Status Resume(const std::string& device) {
    v1::ResumeDeviceRequest request;
    request.set_device(device);
    v1::ResumeDeviceResponse response;
    return Administer(&v1::AdminService::Stub::ResumeDevice, request, response);
  }

  v1::AdminService::Stub& admin() { return *admin_; }

 private:
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_DEVICE_LEASE_FIXTURE_H_
