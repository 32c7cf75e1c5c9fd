// File: client/rpc/channel.h
//
// How the client's channels are set up. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_RPC_CHANNEL_H_
#define OPSERVE_CLIENT_RPC_CHANNEL_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/rpc/connections.h"
#include "opserve/options.h"

namespace opserve::client_internal {

// Most connections of a client.
inline constexpr int kMaxChannels = 64;

// INVALID_ARGUMENT with reason INVALID_TARGET, TOKEN_NEEDS_TLS or INVALID_OPTIONS where the target
// or an option is malformed.
absl::Status CheckOptions(absl::string_view target, const ClientOptions& options);

// options.channels connections, each made with its first call.
std::vector<ClientConnection> MakeConnections(absl::string_view target,
                                              const ClientOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_CHANNEL_H_
