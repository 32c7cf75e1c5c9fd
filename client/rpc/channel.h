// File: client/rpc/channel.h
//
// How the client's channels are set up. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_CHANNEL_H_
#define OPSERVE_CLIENT_RPC_CHANNEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/rpc/connections.h"
#include "opserve/options.h"

namespace opserve::client_internal {

// Most connections of a client.
inline constexpr int kMaxChannels = 64;

// The addresses of the target. INVALID_ARGUMENT with reason INVALID_TARGET, TOKEN_NEEDS_TLS or
// INVALID_OPTIONS where the target or an option is malformed.
absl::StatusOr<std::vector<std::string>> CheckOptions(absl::string_view target,
                                                      const ClientOptions& options);

// options.channels connections to an address, each made with its first call. `is_among_several`:
// whether all hosts of its name take calls in turn, as long as they are healthy.
std::vector<ClientConnection> MakeConnections(absl::string_view address,
                                              const ClientOptions& options, bool is_among_several);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CHANNEL_H_
