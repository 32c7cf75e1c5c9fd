// File: server/edge/socket_calls.h
//
// What differs between the systems in how one thread serves sockets that never block. Errors are in
// errno everywhere: EAGAIN where there is nothing to do now.

#ifndef OPSERVE_SERVER_EDGE_SOCKET_CALLS_H_
#define OPSERVE_SERVER_EDGE_SOCKET_CALLS_H_

#include <sys/types.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/system_sockets.h"
#include "proto/packets/unique_fd.h"

namespace opserve {

// Wakes a thread that polls. Movable.
class PollAlarm {
 public:
  // Fails with the error of the operating system.
  static absl::StatusOr<PollAlarm> Make();

  // Readable once it was rung.
  int fd() const { return fd_.get(); }
  // By any thread.
  void Ring() const;

 private:
  explicit PollAlarm(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

// The socket of a connection. Where it is one of a socket file, what came over it and was not
// received does not keep its end (proto/packets/foreign_descriptors.h). Movable.
class ConnectionSocket {
 public:
  explicit ConnectionSocket(UniqueFd fd) : fd_(std::move(fd)) {}
  ConnectionSocket(ConnectionSocket&&) = default;
  ~ConnectionSocket();

  int get() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

// What is asked of a socket.
pollfd Polled(int fd, bool to_write);

// Waits until one of them is ready, for `timeout_ms` at most; negative: for ever. Negative on an
// error.
int WaitForSockets(std::vector<pollfd>& polled, int timeout_ms);

// The next connection, which does not block, and where it is from; none, with errno, where there is
// none.
UniqueFd AcceptNext(int listener, sockaddr_storage& from);

// As recv and send are on Linux; the other end being gone is an error, and so are descriptors that
// come with the bytes.
ssize_t ReceiveBytes(int fd, char* to, size_t bytes);
ssize_t SendBytes(int fd, absl::string_view bytes);

// Nothing more will be sent.
void EndSending(int fd);

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_SOCKET_CALLS_H_
