// File: server/rpc/library_log.h
//
// Brings the messages of gRPC and protobuf themselves into the log of the server.

#ifndef OPSERVE_SERVER_RPC_LIBRARY_LOG_H_
#define OPSERVE_SERVER_RPC_LIBRARY_LOG_H_

#include "server/base/clock.h"
#include "server/base/log.h"

namespace opserve {

// Writes what gRPC calls errors as warnings to `logger`, which must live until the process ends,
// and what protobuf says about messages that cannot be read as debug lines: any client can cause
// it, and gets an error for it. Of either at most one line per second, because any client can cause
// as many as it likes; `not_logged` counts the others. For the whole process, once; call before
// either library is used. `clock` must live as long as `logger`.
void RouteLibraryLogs(Logger& logger, const Clock& clock = SteadyClock());

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_LIBRARY_LOG_H_
