#include "server/edge/connection_peer.h"

namespace opserve {

std::optional<PeerIdentity> UnixPeerOf(int /*socket*/) { return std::nullopt; }

std::optional<PeerIdentity> PeerOfDescriptor(int /*fd*/) { return std::nullopt; }

void TakeTurnsAs(absl::string_view /*peer*/, absl::string_view /*client*/,
                 std::shared_ptr<const ConnectionNote> /*note*/) {}

std::shared_ptr<const ConnectionNote> NoteOf(absl::string_view /*peer*/) { return nullptr; }

}  // namespace opserve
