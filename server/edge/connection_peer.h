// File: server/edge/connection_peer.h
//
// What the edge knows of the connection of a call. Where gRPC accepts connections by itself, as on
// Windows, that is nothing.

#ifndef OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_
#define OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_

#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "server/edge/connection_note.h"
#include "server/edge/peer_identity.h"

namespace opserve {

// The peer of the connection that gRPC calls "fd:NUMBER"; nullopt where there is none. Thread-safe.
std::optional<PeerIdentity> PeerOfDescriptor(int fd);

// The connection of the call that gRPC says is from `peer` takes turns as one of `client`, and
// keeps `note`. Thread-safe.
void TakeTurnsAs(absl::string_view peer, absl::string_view client,
                 std::shared_ptr<const ConnectionNote> note);

// What that connection was given to keep last; nullptr where there is nothing. Thread-safe.
std::shared_ptr<const ConnectionNote> NoteOf(absl::string_view peer);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CONNECTION_PEER_H_
