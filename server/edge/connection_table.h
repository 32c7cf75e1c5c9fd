// File: server/edge/connection_table.h
//
// The connections of this process by the descriptor that gRPC has.

#ifndef OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
#define OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/base/duration_histogram.h"
#include "server/base/published.h"
#include "server/edge/client_traffic.h"
#include "server/edge/connection_note.h"
#include "server/edge/frame_meter.h"
#include "server/edge/peer_identity.h"
#include "server/edge/polling.h"
#include "server/edge/read_turns.h"

namespace opserve {

// A connection that was handed to gRPC.
struct EdgeConnection : std::enable_shared_from_this<EdgeConnection> {
  // `read_turns` and `receive_times`: of all connections of the edge; nullptr for none.
  EdgeConnection(PeerIdentity who, uint64_t socket_id, bool with_tls, const FrameLimits& limits,
                 std::shared_ptr<ClientTraffic> client,
                 std::shared_ptr<ReadTurns> read_turns = nullptr,
                 std::shared_ptr<DurationHistogram> receive_times = nullptr)
      : peer(std::move(who)),
        cookie(socket_id),
        is_tls(with_tls),
        meter(limits, std::move(client), std::move(receive_times)),
        turns(std::move(read_turns)) {}

  const PeerIdentity peer;
  // What gRPC has; set by PutConnection.
  int fd = -1;
  // SO_COOKIE of the socket: no other has the same.
  const uint64_t cookie;
  // Whether the bytes on the socket are those of TLS.
  const bool is_tls;
  FrameMeter meter;

  const std::shared_ptr<ReadTurns> turns;
  ReadTurns::Place place;
  PollEntry poll_entry;

  // Of those who know the calls on it; see server/edge/connection_peer.h.
  Published<ConnectionNote> note;
};

// Descriptors from here on are not for connections.
inline constexpr int kMaxDescriptor = 1 << 20;

// A process has one set of descriptors, so this is one table for all its servers. A connection
// stays here until the next one gets its number: only then is it certain that gRPC has closed the
// descriptor. Thread-safe.
void PutConnection(int fd, std::shared_ptr<EdgeConnection> connection);
std::shared_ptr<EdgeConnection> ConnectionOf(int fd);

// The connection that gRPC calls `peer`, which is grpc::ServerContext::peer(); nullptr where it has
// no name of its own. To be asked while a call of it is there.
std::shared_ptr<EdgeConnection> ConnectionOfPeer(absl::string_view peer);

// The same for whoever holds `fd` open, which keeps the connection alive; nullptr where it is none.
// Takes no lock.
EdgeConnection* FindConnection(int fd);

// gRPC reads from it next where it can, after all others that are ready. Without effect once
// another has its descriptor.
void Wake(const EdgeConnection& connection);
void WakeAll(const ReadTurns::Connections& connections);

// What the system calls the socket `fd` for as long as the machine runs; 0 where it is no socket.
uint64_t CookieOf(int fd);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
