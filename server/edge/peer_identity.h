// File: server/edge/peer_identity.h
//
// Who is at the other end of a connection, as far as the system tells it.

#ifndef OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_
#define OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/base/system_sockets.h"
#include "server/base/user_id.h"

namespace opserve {

enum class PeerTransport {
  kTcp,
  kUnixSocket,
  kUnknown,  // a socket file whose user cannot be told, or nothing that this server listens on
};

struct PeerIdentity {
  PeerTransport transport = PeerTransport::kTcp;
  // The address as text, without port or brackets' escapes ("10.0.0.7", "[::1]"); for unknown ones
  // what gRPC calls the peer.
  std::string address;
  // At the peer's end; 0 where it is no TCP.
  uint16_t port = 0;
  // The user and the process that connected, by SO_PEERCRED; socket files only.
  UserId uid = 0;
  int pid = 0;

  // One word for the client, by which limits and shares go: "uid:1000", an IPv4 address, or the
  // first 64 bits of an IPv6 address ("[2001:db8::]/64"), as whoever has one address of these has
  // all of them. The one exception is "[::1]".
  std::string Host() const;

  // The user who connected to a socket file; nullopt where it is none, or nobody can tell.
  std::optional<UserId> User() const;

  // The address, of IPv4 the one that it is mapped to; nullopt where it is no TCP.
  std::optional<in6_addr> Ip() const;

  // Whether the peer is on this machine: a socket file, or a loopback address.
  bool IsLocal() const;
};

// The address in text such as "10.0.0.7", "[2001:db8::1]", "2001:db8::1" or "[fe80::1%eth0]"; that
// of IPv4 as the one that it is mapped to. nullopt where it is none.
std::optional<in6_addr> ParseIpAddress(absl::string_view text);

// Whether it is one of this machine alone: ::1, or in 127.0.0.0/8.
bool IsLoopback(const in6_addr& address);

// The user of this machine who is at the other end of a socket file.
PeerIdentity PeerOfUser(UserId uid);

// The peer of `socket`, a connection by way of a socket file; nullopt where the system does not
// tell.
std::optional<PeerIdentity> UnixPeerOf(int socket);

// The peer of a TCP connection.
PeerIdentity TcpPeerOf(const sockaddr_storage& from);

// Who sends a call, by `peer`, which is grpc::ServerContext::peer(); to be asked while the call is
// there, as another connection may have the same name later.
// Thread-safe.
PeerIdentity IdentityOf(absl::string_view peer);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_
