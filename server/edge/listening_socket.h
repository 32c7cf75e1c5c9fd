// File: server/edge/listening_socket.h
//
// Sockets that listen: TCP, IPv4 and IPv6, and socket files.

#ifndef OPSERVE_SERVER_EDGE_LISTENING_SOCKET_H_
#define OPSERVE_SERVER_EDGE_LISTENING_SOCKET_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/packets/bound_file.h"
#include "proto/packets/unique_fd.h"
#include "server/edge/listen_address.h"

namespace opserve {

// Who may open the socket files.
struct SocketFileAccess {
  // Permissions; unset: what the umask leaves.
  std::optional<mode_t> mode = {};
  // Name of their group; empty: that of the process.
  std::string group = {};
};

// Sets mode and group of the socket file at `path`. NOT_FOUND where there is no such group, else
// the words of the operating system.
absl::Status SetAccess(const std::string& path, const SocketFileAccess& access);

// What listens at one address.
struct ListeningSockets {
  // With the port that was picked.
  ListenAddress address;
  // More than one where a name stands for several addresses. Accepting never blocks.
  std::vector<UniqueFd> sockets;
  // The socket file, where it is one.
  BoundFile file;
};

// Listens. A socket file that a dead server left behind is replaced. 0.0.0.0 and [::] both stand
// for all addresses of the machine, as they do in gRPC. Nobody can connect to a socket file before
// it has its `access`. Fails in the words of the operating system.
absl::StatusOr<ListeningSockets> ListenAt(const ListenAddress& address,
                                          const SocketFileAccess& access = {});

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_LISTENING_SOCKET_H_
