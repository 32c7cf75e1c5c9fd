// File: server/edge/connection_peer.h
//
// What the edge knows of the connection of a call. Where gRPC accepts connections by itself, as on
// Windows, that is nothing.

#ifndef OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_
#define OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "server/edge/peer_identity.h"

namespace opserve {

// The peer of the connection that gRPC calls "fd:NUMBER"; nullopt where there is none. Thread-safe.
std::optional<PeerIdentity> PeerOfDescriptor(int fd);

// The connection of the call that gRPC says is from `peer` takes turns as one of `client`.
// Thread-safe.
void TakeTurnsAs(absl::string_view peer, absl::string_view client);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_
