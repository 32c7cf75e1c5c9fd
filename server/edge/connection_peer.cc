#include "server/edge/connection_peer.h"

#include <memory>
#include <utility>

#include "server/base/peer_credentials.h"
#include "server/edge/connection_table.h"

namespace opserve {

std::optional<PeerIdentity> UnixPeerOf(int socket) {
  const std::optional<ucred> credentials = PeerCredentials(socket);
  if (!credentials) return std::nullopt;
  PeerIdentity peer = PeerOfUser(credentials->uid);
  peer.pid = credentials->pid;
  return peer;
}

std::optional<PeerIdentity> PeerOfDescriptor(int fd) {
  const std::shared_ptr<EdgeConnection> connection = ConnectionOf(fd);
  if (connection == nullptr) return std::nullopt;
  return connection->peer;
}

void TakeTurnsAs(absl::string_view peer, absl::string_view client,
                 std::shared_ptr<const ConnectionNote> note) {
  const std::shared_ptr<EdgeConnection> connection = ConnectionOfPeer(peer);
  if (connection == nullptr || connection->turns == nullptr) return;
  WakeAll(connection->turns->SetClient(*connection, client));
  connection->note.Put(std::move(note));
}

std::shared_ptr<const ConnectionNote> NoteOf(absl::string_view peer) {
  const std::shared_ptr<EdgeConnection> connection = ConnectionOfPeer(peer);
  return connection == nullptr ? nullptr : connection->note.Get();
}

}  // namespace opserve
