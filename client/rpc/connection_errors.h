// File: client/rpc/connection_errors.h
//
// Why there is no connection, in words that lead to a cure. gRPC tells it in free text alone, which
// names handshakers and libraries. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_
#define OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve::client_internal {

// The status of an attempt to call `target`, `with_tls` or in plain text. Where gRPC found no way
// to the server, and its text is known, with one of the reasons of opserve/errors.h, a message that
// says it, and gRPC's text as a further fact; else unchanged.
absl::Status ExplainConnection(const absl::Status& status, absl::string_view target, bool with_tls);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CONNECTION_ERRORS_H_
