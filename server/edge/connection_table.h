// File: server/edge/connection_table.h
//
// The connections of this process by the descriptor that gRPC has.

#ifndef OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
#define OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "server/edge/frame_meter.h"
#include "server/edge/peer_identity.h"

namespace opserve {

// A connection that was handed to gRPC.
struct EdgeConnection {
  EdgeConnection(PeerIdentity who, uint64_t socket_id, bool with_tls, const FrameLimits& limits,
                 std::shared_ptr<WaitingCalls> waiting_calls)
      : peer(std::move(who)),
        cookie(socket_id),
        is_tls(with_tls),
        meter(limits, std::move(waiting_calls)) {}

  const PeerIdentity peer;
  // SO_COOKIE of the socket: no other has the same.
  const uint64_t cookie;
  // Whether the bytes on the socket are those of TLS.
  const bool is_tls;
  FrameMeter meter;
};

// Descriptors from here on are not for connections.
inline constexpr int kMaxDescriptor = 1 << 20;

// A process has one set of descriptors, so this is one table for all its servers. A connection
// stays here until the next one gets its number: only then is it certain that gRPC has closed the
// descriptor. Thread-safe.
void PutConnection(int fd, std::shared_ptr<EdgeConnection> connection);
std::shared_ptr<EdgeConnection> ConnectionOf(int fd);

// The same for whoever holds `fd` open, which keeps the connection alive; nullptr where it is none.
// Takes no lock.
EdgeConnection* FindConnection(int fd);

// What the system calls the socket `fd` for as long as the machine runs; 0 where it is no socket.
uint64_t CookieOf(int fd);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CONNECTION_TABLE_H_
