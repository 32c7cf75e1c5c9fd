#include "server/grpc_log.h"

#include "grpc/support/log.h"

namespace opserve {
namespace {

// gRPC's hook takes a plain function, so its target has to be global.
Logger* grpc_logger = nullptr;

void Forward(gpr_log_func_args* args) {
  grpc_logger->Log(LogLevel::kWarn, "grpc", {{"message", args->message}});
}

}  // namespace

void RouteGrpcLog(Logger& logger) {
  grpc_logger = &logger;
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&Forward);
}

}  // namespace opserve
