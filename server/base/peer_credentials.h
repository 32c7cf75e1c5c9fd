// File: server/base/peer_credentials.h
//
// Which process of this machine is at the other end of a socket file.

#ifndef OPSERVE_SERVER_BASE_PEER_CREDENTIALS_H_
#define OPSERVE_SERVER_BASE_PEER_CREDENTIALS_H_

#include <sys/socket.h>

#include <optional>

namespace opserve {

// The process, its user and its group when it connected `socket`, a descriptor of a connection by
// way of a socket file. nullopt where the system does not tell.
inline std::optional<ucred> PeerCredentials(int socket) {
  ucred credentials = {};
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return credentials;
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_PEER_CREDENTIALS_H_
