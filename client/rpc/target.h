// File: client/rpc/target.h
//
// Addresses of servers as programs write them. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_TARGET_H_
#define OPSERVE_CLIENT_RPC_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace opserve::client_internal {

// INVALID_ARGUMENT with reason INVALID_TARGET unless `target` is host:port, [IPv6]:port or
// unix:/path, also behind gRPC's prefixes dns:, ipv4: and ipv6:, or has another scheme of gRPC.
absl::Status CheckTarget(absl::string_view target);

// Most addresses of a list.
inline constexpr size_t kMaxListedHosts = 256;

// The addresses of `target`, which are separated by commas; a socket file's path has none. Each is
// as CheckTarget wants it; with more than one, each is host:port, [IPv6]:port, unix:/path or
// dns:///name:port. INVALID_ARGUMENT with reason INVALID_TARGET otherwise, where one is empty or
// there twice, or where they are more than kMaxListedHosts.
absl::StatusOr<std::vector<std::string>> SplitTarget(absl::string_view target);

// Whether an address, dns:///name:port, stands for all hosts of a name.
bool NamesAllHosts(absl::string_view address);

// Whether an address is a socket file's. What is sent there is never encrypted, also where a client
// has TLS: servers speak plain text there, and the system tells each side who the other one is.
bool IsSocketFile(absl::string_view address);

// Whether what is sent to an address stays on this machine: a socket file, an address of the
// loopback interface, or localhost. A name that merely begins like one is elsewhere.
bool IsLocal(absl::string_view address);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_TARGET_H_
