// File: server/grpc_log.h
//
// Brings the messages of gRPC itself into the log of the server.

#ifndef OPSERVE_SERVER_GRPC_LOG_H_
#define OPSERVE_SERVER_GRPC_LOG_H_

#include "server/log.h"

namespace opserve {

// Writes the errors that gRPC reports as warnings to `logger`, which must live until the process
// ends. For the whole process; call before gRPC is used. What gRPC calls errors are events such as
// a refused bind, which the server reports by itself where they matter.
void RouteGrpcLog(Logger& logger);

}  // namespace opserve

#endif  // OPSERVE_SERVER_GRPC_LOG_H_
