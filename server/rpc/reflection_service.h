// File: server/rpc/reflection_service.h
//
// grpc.reflection.v1alpha: what the server offers, for tools without its .proto files. gRPC's own
// service takes a thread for each stream, which clients may open as many as they like of.

#ifndef OPSERVE_SERVER_RPC_REFLECTION_SERVICE_H_
#define OPSERVE_SERVER_RPC_REFLECTION_SERVICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "server/admission/admission.h"
#include "server/base/log.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Knows the services that it is told, itself, and every message that is linked into the program;
// beside these the details of errors by the names that they have on the wire, so that tools can
// print them. Thread-safe. Must outlive the server.
class ReflectionService {
 public:
  // `services`: full names. `streams` counts the streams, and `logger` gets a line for those that
  // fail by an exception; both may be nullptr, and must outlive the service.
  explicit ReflectionService(std::vector<std::string> services, Admission* streams = nullptr,
                             Logger* logger = nullptr);
  ReflectionService(const ReflectionService&) = delete;
  ReflectionService& operator=(const ReflectionService&) = delete;

  // What to register with the server: the service as v1alpha, and as v1, which differs in nothing
  // but the names of its package.
  RpcService& rpc() { return rpc_; }
  RpcService& rpc_v1() { return rpc_v1_; }

  // The answer to one question.
  grpc::reflection::v1alpha::ServerReflectionResponse Answer(
      const grpc::reflection::v1alpha::ServerReflectionRequest& request) const;

 private:
  // A call of ServerReflectionInfo.
  class Stream;

  // The file that a question is for.
  absl::StatusOr<const google::protobuf::FileDescriptor*> FindFile(
      const grpc::reflection::v1alpha::ServerReflectionRequest& request) const;

  std::vector<std::string> services_;
  // Files that are linked into the program, and those that are made here.
  google::protobuf::DescriptorPool files_{google::protobuf::DescriptorPool::generated_pool()};
  RpcService rpc_;
  RpcService rpc_v1_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_REFLECTION_SERVICE_H_
