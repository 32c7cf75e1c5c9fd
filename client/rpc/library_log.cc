#include "client/rpc/library_log.h"

#include <grpc/support/log.h>

#include <cstdlib>

namespace opserve::client_internal {

void SilenceLibraryLogs() {
  const char* const asked = std::getenv("GRPC_VERBOSITY");
  if (asked != nullptr && *asked != '\0') return;
  gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace opserve::client_internal
