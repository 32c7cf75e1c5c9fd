#include "server/rpc/library_log.h"

#include <chrono>
#include <string>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/base/rate_limiter.h"

namespace opserve {
namespace {

// Where the messages of one library go.
struct Route {
  Route(Logger& to, const Clock& clock) : logger(to), limiter(clock, std::chrono::seconds(1)) {}

  void Log(LogLevel level, absl::string_view library, absl::string_view message) {
    if (!logger.enabled(level)) return;
    if (const auto held_back = limiter.Pass()) {
      logger.Log(level, library, {{"message", message}, {"not_logged", *held_back}});
    }
  }

  Logger& logger;
  RateLimiter limiter;
};

// The hooks of both libraries take plain functions, so their targets have to be global. They live
// until the process ends, and longer than any thread of a library.
Route* grpc_route = nullptr;
Route* protobuf_route = nullptr;

void ForwardGrpc(gpr_log_func_args* args) {
  grpc_route->Log(LogLevel::kWarn, "grpc", args->message);
}

void ForwardProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  protobuf_route->Log(LogLevel::kDebug, "protobuf", message);
}

}  // namespace

void RouteLibraryLogs(Logger& logger, const Clock& clock) {
  grpc_route = new Route(logger, clock);
  protobuf_route = new Route(logger, clock);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&ForwardGrpc);
  google::protobuf::SetLogHandler(&ForwardProtobuf);
}

}  // namespace opserve
