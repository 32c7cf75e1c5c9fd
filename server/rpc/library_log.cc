#include "server/rpc/library_log.h"

#include <string>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"

namespace opserve {
namespace {

// The hooks of both libraries take plain functions, so their target has to be global.
Logger* library_logger = nullptr;

void ForwardGrpc(gpr_log_func_args* args) {
  library_logger->Log(LogLevel::kWarn, "grpc", {{"message", args->message}});
}

void ForwardProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  library_logger->Log(LogLevel::kDebug, "protobuf", {{"message", message}});
}

}  // namespace

void RouteLibraryLogs(Logger& logger) {
  library_logger = &logger;
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&ForwardGrpc);
  google::protobuf::SetLogHandler(&ForwardProtobuf);
}

}  // namespace opserve
