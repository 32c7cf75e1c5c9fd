// File: server/service.h
//
// The gRPC service. Its reactors decode, validate, admit and enqueue, and never block; worker
// threads run what is queued and answer.

#ifndef OPSERVE_SERVER_SERVICE_H_
#define OPSERVE_SERVER_SERVICE_H_

#include <memory>

#include "grpcpp/impl/codegen/service_type.h"
#include "server/admission.h"
#include "server/clock.h"
#include "server/device/compute_device.h"
#include "server/log.h"
#include "server/request_validator.h"
#include "server/server_options.h"
#include "server/work_queue.h"

namespace opserve {

// What the service works with. Everything must outlive the service and its calls.
struct ServiceParts {
  const Clock& clock;
  ComputeDevice& device;
  RequestValidator& validator;
  Admission& admission;
  WorkQueue& queue;
  Logger& logger;
  const ServerOptions& options;
};

// opserve.v1.OperatorService.
std::unique_ptr<grpc::Service> MakeOperatorService(const ServiceParts& parts);

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_H_
