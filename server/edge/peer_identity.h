// File: server/edge/peer_identity.h
//
// Who is at the other end of a connection, as far as the system tells it.

#ifndef OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_
#define OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

enum class PeerTransport { kTcp, kUnixSocket };

struct PeerIdentity {
  PeerTransport transport = PeerTransport::kTcp;
  // The address as text, without port or brackets' escapes ("10.0.0.7", "[::1]"); TCP only.
  std::string address;
  // The user and the process that connected, by SO_PEERCRED; socket files only.
  uid_t uid = 0;
  pid_t pid = 0;

  // One word for the client: its address, or "uid:1000".
  std::string Host() const;
};

// Who sends a call, by `peer`, which is grpc::ServerContext::peer(); to be asked while the call is
// there, as another connection may have the same name later. nullopt where it cannot be told, which
// is so for socket files with TLS. Thread-safe.
std::optional<PeerIdentity> IdentityOf(absl::string_view peer);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_PEER_IDENTITY_H_
