// File: client/rpc/grpc_status.h
//
// From gRPC's status to Abseil's. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_GRPC_STATUS_H_
#define OPSERVE_CLIENT_RPC_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "client/base/status_details.h"
#include "grpcpp/support/status.h"

namespace opserve::client_internal {

// The same status with its details.
inline absl::Status ToAbsl(const grpc::Status& status) {
  return MakeStatus(status.error_code(), status.error_message(), status.error_details());
}

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_GRPC_STATUS_H_
