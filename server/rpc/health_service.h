// File: server/rpc/health_service.h
//
// grpc.health.v1: whether the server and its parts take requests. gRPC's own service would bring a
// completion queue of its own with it, and so threads that take connections away from ours.

#ifndef OPSERVE_SERVER_RPC_HEALTH_SERVICE_H_
#define OPSERVE_SERVER_RPC_HEALTH_SERVICE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpcpp/health_check_service_interface.h"
#include "proto/base/mutex.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Thread-safe. Knows the whole server, "", from the start, which serves. Must outlive the server.
class HealthService final : public grpc::HealthCheckServiceInterface {
 public:
  // `watches` counts the calls of Watch, and `logger` gets a line for calls that fail by an
  // exception; both may be nullptr, and must outlive the service.
  explicit HealthService(Admission* watches = nullptr, Logger* logger = nullptr);
  ~HealthService() override;
  HealthService(const HealthService&) = delete;
  HealthService& operator=(const HealthService&) = delete;

  // What to register with the server.
  RpcService& rpc() { return rpc_; }

  // Tells those who watch. All services are NOT_SERVING after Shutdown, whatever is set.
  void SetServingStatus(const std::string& service, bool serving) override;
  void SetServingStatus(bool serving) override;
  void Shutdown() override;

 private:
  // A call of Watch.
  class Watcher;

  void Check(UnaryCall& call);
  // The number of the service's HealthCheckResponse.ServingStatus.
  int StatusOf(const std::string& service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All watchers, each held.
  std::vector<Watcher*> HoldWatchers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Tell(const std::vector<Watcher*>& held);

  RpcService rpc_;
  Mutex mutex_;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mutex_) = {{"", true}};
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_HEALTH_SERVICE_H_
