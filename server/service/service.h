// File: server/service/service.h
//
// opserve.v1.OperatorService. Its handlers never block: devices answer what they queue.

#ifndef OPSERVE_SERVER_SERVICE_SERVICE_H_
#define OPSERVE_SERVER_SERVICE_SERVICE_H_

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/base/single_task.h"
#include "server/execute/request_job.h"
#include "server/journal/audit_log.h"
#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"
#include "server/regions/region_table.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/unary_call.h"
#include "server/service/server_options.h"
#include "server/tensors/tensor_service.h"
#include "server/validate/request_validator.h"
#include "server/validate/sequence_validator.h"

namespace opserve {

// What the service works with. Everything must outlive the service and its calls.
struct ServiceParts {
  const Clock& clock;
  DevicePool& pool;
  DeviceLeases& leases;
  RequestValidator& validator;
  // Admits requests with tensors.
  Admission& admission;
  // These admit calls that are about the server itself, and streams.
  Admission& control;
  Admission& streams;
  Logger& logger;
  const ServerOptions& options;
  // Gets a line for each call that only administrators may make, before it is answered; empty, and
  // so when calls begin: none does.
  std::optional<AuditLog>& audit;
  // Gets every other request when it has ended; nullptr: nobody wants to know.
  RequestObserver* observer = nullptr;
  // The same of calls that only administrators may make.
  RequestObserver* admin_observer = nullptr;
};

inline constexpr char kServiceName[] = "opserve.v1.OperatorService";

// Must outlive the server that it is registered with.
class OperatorService {
 public:
  explicit OperatorService(const ServiceParts& parts);
  OperatorService(const OperatorService&) = delete;
  OperatorService& operator=(const OperatorService&) = delete;

  // What to register with the server.
  RpcService& rpc() { return rpc_; }

  // What requests share that compute something.
  const ExecuteParts& execute_parts() const { return parts_; }

  // Where regions are kept that requests refer to.
  RegionTable& regions() { return regions_; }

  // Where resident tensors are kept.
  const TensorStore& resident_tensors() { return tensors_.store(); }

  // Tells clients where to register regions. Before calls are accepted.
  void set_region_socket(std::string path) { region_socket_ = std::move(path); }

 private:
  void ListOperators(UnaryCall& call) const;
  void GetServerInfo(UnaryCall& call) const;
  void SelfTestDevices(UnaryCall& call);

  void WriteServerInfo(v1::GetServerInfoResponse& info) const;
  // Takes a second or so, and much longer on software GPUs. CANCELLED soon after `stop`.
  absl::Status SelfTest(const std::string& device, const std::atomic<bool>& stop,
                        v1::SelfTestDevicesResponse& answer);

  const ServerOptions& options_;
  const Clock::TimePoint started_;
  DeviceLeases& leases_;
  std::optional<AuditLog>& audit_;
  RateLimiter refusals_;
  HostBufferPool buffers_;
  RegionTable regions_;
  std::string region_socket_;
  TensorService tensors_;
  const SequenceValidator sequences_;
  const ExecuteParts parts_;
  RpcService rpc_;
  SingleTask self_test_{"self-test"};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_SERVICE_H_
