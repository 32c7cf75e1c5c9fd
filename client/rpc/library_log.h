// File: client/rpc/library_log.h
//
// What gRPC writes by itself to standard error.

#ifndef OPSERVE_CLIENT_RPC_LIBRARY_LOG_H_
#define OPSERVE_CLIENT_RPC_LIBRARY_LOG_H_

namespace opserve::client_internal {

// Has gRPC write no log lines in this process, unless the user asked for them with GRPC_VERBOSITY.
// For programs whose errors say all; a library leaves its program's log alone. Call it before the
// first use of gRPC.
void SilenceLibraryLogs();

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_LIBRARY_LOG_H_
