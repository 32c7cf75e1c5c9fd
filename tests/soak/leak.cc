// A leak to be found: OPSERVE_SOAK_LEAK bytes for each call of gRPC. To be preloaded.

#include <dlfcn.h>

#include <cstdlib>

#include "grpc/grpc.h"

namespace opserve::testing {

// So that the compiler cannot leave the allocation out.
void* volatile last_leak;

}  // namespace opserve::testing

// A server calls it once for each call that it is ready to take.
grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* registered_method,
                                                    grpc_call** call, gpr_timespec* deadline,
                                                    grpc_metadata_array* request_metadata,
                                                    grpc_byte_buffer** optional_payload,
                                                    grpc_completion_queue* cq_bound_to_call,
                                                    grpc_completion_queue* cq_for_notification,
                                                    void* tag_new) {
  static const auto next = reinterpret_cast<decltype(&grpc_server_request_registered_call)>(
      dlsym(RTLD_NEXT, "grpc_server_request_registered_call"));
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  static const size_t bytes = std::strtoul(std::getenv("OPSERVE_SOAK_LEAK"), nullptr, 10);
  opserve::testing::last_leak = std::malloc(bytes);
  return next(server, registered_method, call, deadline, request_metadata, optional_payload,
              cq_bound_to_call, cq_for_notification, tag_new);
}
