// File: server/execute_call.h
//
// One call of Execute, from its bytes to its answer.

#ifndef OPSERVE_SERVER_EXECUTE_CALL_H_
#define OPSERVE_SERVER_EXECUTE_CALL_H_

#include "grpcpp/grpcpp.h"
#include "server/admission.h"
#include "server/clock.h"
#include "server/host_buffers.h"
#include "server/log.h"
#include "server/pool/device_pool.h"
#include "server/rate_limiter.h"
#include "server/request_validator.h"
#include "server/server_options.h"

namespace opserve {

// What all calls share. Everything must outlive them.
struct ExecuteParts {
  const Clock& clock;
  DevicePool& pool;
  RequestValidator& validator;
  Admission& admission;
  Logger& logger;
  const ServerOptions& options;
  // Holds back log lines of refused requests.
  RateLimiter& refusals;
  // Where results and gathered payloads go.
  HostBufferPool& buffers;
};

// Reads, validates, admits and queues the request, or answers it at once; never blocks. `response`
// is written before the call is finished. gRPC owns what is returned.
grpc::ServerUnaryReactor* StartExecute(const ExecuteParts& parts,
                                       const grpc::CallbackServerContext& context,
                                       const grpc::ByteBuffer& request, grpc::ByteBuffer& response);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_CALL_H_
