// File: server/service.h
//
// The gRPC service. Its reactors never block: devices answer what they queue.

#ifndef OPSERVE_SERVER_SERVICE_H_
#define OPSERVE_SERVER_SERVICE_H_

#include <memory>

#include "grpcpp/impl/codegen/service_type.h"
#include "server/admission.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/pool/device_pool.h"
#include "server/request_validator.h"
#include "server/server_options.h"

namespace opserve {

// What the service works with. Everything must outlive the service and its calls.
struct ServiceParts {
  const Clock& clock;
  DevicePool& pool;
  RequestValidator& validator;
  Admission& admission;
  Logger& logger;
  const ServerOptions& options;
};

// opserve.v1.OperatorService.
std::unique_ptr<grpc::Service> MakeOperatorService(const ServiceParts& parts);

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_H_
