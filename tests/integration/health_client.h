// File: tests/integration/health_client.h
//
// A client of grpc.health.v1.

#ifndef OPSERVE_TESTS_INTEGRATION_HEALTH_CLIENT_H_
#define OPSERVE_TESTS_INTEGRATION_HEALTH_CLIENT_H_

#include <memory>
#include <string>

#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/proto_utils.h"

namespace opserve::testing {

// HealthCheckResponse.ServingStatus, and what Check says of names that it does not know.
enum class Health { kServing = 1, kNotServing = 2, kUnknownService = 3, kError = -1 };

// Calls Check.
Health CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);

// A call of Watch.
class HealthWatch {
 public:
  HealthWatch(const std::shared_ptr<grpc::Channel>& channel, const std::string& service);
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  // Waits for the next status; the first is the present one. kError once the stream has ended, or
  // after a minute without any.
  Health Next();

 private:
  // The wrappers have the wire format of the health messages, of which gRPC keeps its own.
  using Stream = grpc::ClientAsyncReaderWriter<google::protobuf::StringValue,  //
                                               google::protobuf::Int32Value>;

  bool WaitForStep();

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_HEALTH_CLIENT_H_
