// File: client/rpc/target.h
//
// Addresses of servers as programs write them. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_TARGET_H_
#define OPSERVE_CLIENT_RPC_TARGET_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve::client_internal {

// INVALID_ARGUMENT with reason INVALID_TARGET unless `target` is host:port, [IPv6]:port or
// unix:/path, also behind gRPC's prefixes dns:, ipv4: and ipv6:, or has another scheme of gRPC.
absl::Status CheckTarget(absl::string_view target);

// Whether what is sent to `target` stays on this machine: a socket file, an address of the loopback
// interface, or localhost. A name that merely begins like one is elsewhere.
bool IsLocal(absl::string_view target);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_TARGET_H_
