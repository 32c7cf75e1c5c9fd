// File: client/rpc/grpc_stream.h
//
// A stream of gRPC, for the gRPC transport.

#ifndef OPSERVE_CLIENT_RPC_GRPC_STREAM_H_
#define OPSERVE_CLIENT_RPC_GRPC_STREAM_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/rpc/hosts.h"
#include "client/rpc/raw_stream.h"
#include "client/rpc/watchdog.h"
#include "grpcpp/client_context.h"

namespace opserve::client_internal {

// A stream that is not started yet, on a connection that `hosts` has begun a call for `host` on.
// The deadline of `context` is `timeout` from now. Hosts and watchdog must outlive the stream's
// end.
std::unique_ptr<RawStream> MakeGrpcStream(const char* method, absl::Duration timeout,
                                          std::unique_ptr<grpc::ClientContext> context,
                                          Hosts& hosts, std::string host,
                                          const ClientConnection& connection, Watchdog& watchdog);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_GRPC_STREAM_H_
