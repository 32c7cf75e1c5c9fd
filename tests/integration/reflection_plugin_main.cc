// A server with gRPC's own reflection and the services of opserve, none of which answers. Prints
// its port, and ends with its input.

#include <chrono>
#include <iostream>
#include <string>

#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/method_handler.h"
#include "grpcpp/impl/rpc_service_method.h"
#include "grpcpp/impl/service_type.h"
#include "opserve/v1/admin_service.grpc.pb.h"
#include "opserve/v1/operator_service.grpc.pb.h"

namespace {

// Offers grpc.health.v1 by its name, for which there are no stubs.
class NamedHealth final : public grpc::Service {
 public:
  NamedHealth() {
    const auto* const check =
        grpc::health::v1::HealthCheckRequest::descriptor()->file()->service(0)->method(0);
    path_ = "/" + check->service()->full_name() + "/" + check->name();
    AddMethod(new grpc::internal::RpcServiceMethod(path_.c_str(),
                                                   grpc::internal::RpcMethod::NORMAL_RPC,
                                                   new grpc::internal::UnknownMethodHandler("")));
  }

 private:
  std::string path_;
};

}  // namespace

int main() {
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  opserve::v1::OperatorService::Service operators;
  opserve::v1::AdminService::Service admin;
  NamedHealth health;
  grpc::ServerBuilder builder;
  builder.RegisterService(&operators);
  builder.RegisterService(&admin);
  builder.RegisterService(&health);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << port << std::endl;
  std::string line;
  std::getline(std::cin, line);
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}
