// File: server/edge/stale_socket.h
//
// Makes way for socket files.

#ifndef OPSERVE_SERVER_EDGE_STALE_SOCKET_H_
#define OPSERVE_SERVER_EDGE_STALE_SOCKET_H_

#include <sys/un.h>

#include <string>

#include "absl/status/status.h"

namespace opserve {

// Makes way for a socket file: removes one that a dead server left behind. Fails with
// kAlreadyExists if a server answers there, or if the file is something else. Never blocks.
absl::Status RemoveStaleSocket(const std::string& path);

// The system's form of a path, which must be shorter than sun_path.
sockaddr_un UnixAddress(const std::string& path);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_STALE_SOCKET_H_
