// File: server/edge/stale_socket.h
//
// Makes way for socket files.

#ifndef OPSERVE_SERVER_EDGE_STALE_SOCKET_H_
#define OPSERVE_SERVER_EDGE_STALE_SOCKET_H_

#include <sys/un.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/packets/unique_fd.h"

namespace opserve {

// Makes way for a socket file: removes one that a dead server left behind. Fails with
// kAlreadyExists if a server answers there, or if the file is something else. Never blocks.
absl::Status RemoveStaleSocket(const std::string& path);

// Waits for the turn of whoever makes the socket file `path`, which lasts until what is returned is
// destroyed: a server that takes its turn from before RemoveStaleSocket until it listens is not
// taken for a dead one by another that starts at the same time. The turn is a lock of the file's
// folder, and leaves nothing there. An empty one where the folder cannot be locked, as where it may
// not be read; DEADLINE_EXCEEDED where another program has the lock for seconds. Any thread.
absl::StatusOr<UniqueFd> TakeSocketTurn(const std::string& path);

// The system's form of a path, which must be shorter than sun_path.
sockaddr_un UnixAddress(const std::string& path);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_STALE_SOCKET_H_
