// File: client/rpc/host_refusal.h
//
// Which errors are about the host that said them, so that another one may take the same call.
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_HOST_REFUSAL_H_
#define OPSERVE_CLIENT_RPC_HOST_REFUSAL_H_

#include "absl/status/status.h"

namespace opserve::client_internal {

// What is known of a call that a host did not do because of what it lacks.
enum class HostRefusal {
  kNone,     // the error is about something else
  kPerhaps,  // gRPC knows no such method, or has no room for the message; it says the same where
             // that is about the answer, so the call may have run
  kCertain,  // the server lacks an operator, a level, a GPU, or room for the tensors: it did not
             // run
};

// That of an error without a delay: those with one are no lack.
HostRefusal HostRefusalOf(const absl::Status& status);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_HOST_REFUSAL_H_
