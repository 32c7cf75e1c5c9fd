// File: client/transport.h
//
// One attempt of each RPC. Thread-safe. The gRPC transport implements it; tests script their own.

#ifndef OPSERVE_CLIENT_TRANSPORT_H_
#define OPSERVE_CLIENT_TRANSPORT_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/catalogue.h"
#include "opserve/options.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {

// An attempt that takes longer than `timeout` fails with DEADLINE_EXCEEDED.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual absl::Status Execute(const v1::ExecuteRequest& request, absl::Duration timeout,
                               v1::ExecuteResponse& response) = 0;
  // Calls `done` once, on a thread of the transport; the messages must live until then.
  virtual void ExecuteAsync(const v1::ExecuteRequest& request, absl::Duration timeout,
                            v1::ExecuteResponse& response,
                            std::function<void(absl::Status)> done) = 0;
  virtual absl::Status ListOperators(const v1::ListOperatorsRequest& request,
                                     absl::Duration timeout,
                                     v1::ListOperatorsResponse& response) = 0;
  virtual absl::Status GetServerInfo(const v1::GetServerInfoRequest& request,
                                     absl::Duration timeout,
                                     v1::GetServerInfoResponse& response) = 0;
  virtual absl::Status SelfTestDevices(const v1::SelfTestDevicesRequest& request,
                                       absl::Duration timeout,
                                       v1::SelfTestDevicesResponse& response) = 0;
  virtual absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service,
                                                   absl::Duration timeout) = 0;
};

// A transport over gRPC; connects with its first call. INVALID_ARGUMENT for a malformed target or
// options.
absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_TRANSPORT_H_
