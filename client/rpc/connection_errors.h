// File: client/rpc/connection_errors.h
//
// Why there is no connection, in words that lead to a cure. gRPC tells it in free text alone, which
// names handshakers and libraries. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_
#define OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_

#include "absl/status/status.h"
#include "client/rpc/connections.h"
#include "grpcpp/support/status.h"

namespace opserve::client_internal {

// The status of a call on `connection` that failed with `status`. Where gRPC found no way to the
// server, and its text is known, with one of the reasons of opserve/errors.h, a message that says
// it, and gRPC's text as a further fact; else what gRPC says, with its details.
absl::Status ErrorOf(const grpc::Status& status, const ClientConnection& connection);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_
