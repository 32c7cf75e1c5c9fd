// File: server/rpc/rpc_status.h
//
// The one place where errors become gRPC statuses.

#ifndef OPSERVE_SERVER_RPC_RPC_STATUS_H_
#define OPSERVE_SERVER_RPC_RPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace opserve {

// The gRPC status of `status`: same code and message, and its google.rpc payloads
// (server/errors/errors.h) as a serialised google.rpc.Status, which travels in the
// grpc-status-details-bin trailer.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The same for a call that ends with it. Where the error says when to try again, retries of gRPC
// itself hear so, too: by the trailer grpc-retry-pushback-ms.
grpc::Status ToGrpcStatus(const absl::Status& status, grpc::ServerContext& context);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_RPC_STATUS_H_
