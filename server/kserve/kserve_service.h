// File: server/kserve/kserve_service.h
//
// inference.GRPCInferenceService: the operators for clients that speak KServe's v2 protocol.

#ifndef OPSERVE_SERVER_KSERVE_KSERVE_SERVICE_H_
#define OPSERVE_SERVER_KSERVE_KSERVE_SERVICE_H_

#include <cstdint>
#include <functional>

#include "server/admission/admission.h"
#include "server/base/log.h"
#include "server/execute/request_job.h"
#include "server/kserve/infer_statistics.h"
#include "server/kserve/system_memory.h"
#include "server/rpc/rpc_service.h"
#include "server/rpc/unary_call.h"

namespace opserve {

// What the service works with. Everything must outlive the service and its calls.
struct KserveParts {
  // What its requests share with those of Execute.
  const ExecuteParts& execute;
  // Of requests with tensors, of calls about the server itself, and of streams.
  Admission& admission;
  Admission& control;
  Admission& streams;
  Logger& logger;
  // Where shared memory is registered, and whether POSIX shared memory may be, by its name.
  RegionTable& regions;
  bool takes_memory_names = false;
  uint64_t max_message_bytes = 0;
  // Whether the server takes requests.
  std::function<bool()> is_ready;
  // Gets every request when it has ended; nullptr: nobody wants to know.
  RequestObserver* observer = nullptr;
};

inline constexpr char kKserveServiceName[] = "inference.GRPCInferenceService";

// Must outlive the server that it is registered with. Its requests go the way of those of Execute:
// the same validation, limits, queues and devices.
class KserveService {
 public:
  explicit KserveService(const KserveParts& parts);
  KserveService(const KserveService&) = delete;
  KserveService& operator=(const KserveService&) = delete;

  // What to register with the server.
  RpcService& rpc() { return rpc_; }

 private:
  void AddModelMethods(const MethodLimits& observe);
  void AddMemoryMethods(const MethodLimits& regions);
  void AddCudaMethods(const MethodLimits& observe);

  SystemMemory memory_;
  InferStatistics statistics_;
  // The statistics, and whoever else wants to know.
  ObserverList observers_;
  const ExecuteParts execute_;
  const std::function<bool()> is_ready_;
  RpcService rpc_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_KSERVE_SERVICE_H_
