// On Windows gRPC waits for its sockets by a completion port, which its end wakes by itself.

#include <grpc/grpc.h>

#include "proto/transport/wake_pollers.h"

namespace opserve {

GrpcUse::GrpcUse() { grpc_init(); }

GrpcUse::~GrpcUse() { grpc_shutdown(); }

}  // namespace opserve
