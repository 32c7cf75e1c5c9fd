#include "server/edge/socket_calls.h"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>

#include "proto/packets/foreign_descriptors.h"

namespace opserve {

absl::StatusOr<PollAlarm> PollAlarm::Make() {
  UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return absl::ErrnoToStatus(errno, "cannot make an event descriptor");
  return PollAlarm(std::move(fd));
}

void PollAlarm::Ring() const {
  // An event descriptor that was never written to has room for one.
  eventfd_write(fd_.get(), 1);
}

ConnectionSocket::~ConnectionSocket() {
  if (fd_ && IsUnix(fd_)) DropUnread(fd_.get());
}

pollfd Polled(int fd, bool to_write) {
  const short events = to_write ? POLLOUT : POLLIN;
  return {fd, events, 0};
}

int WaitForSockets(std::vector<pollfd>& polled, int timeout_ms) {
  return poll(polled.data(), polled.size(), timeout_ms);
}

UniqueFd AcceptNext(int listener, sockaddr_storage& from) {
  socklen_t bytes = sizeof(from);
  UniqueFd fd(
      accept4(listener, reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd && from.ss_family == AF_UNIX) ReceiveAllInline(fd.get());
  return fd;
}

ssize_t ReceiveBytes(int fd, char* to, size_t bytes) {
  ForeignDescriptorRoom room;
  iovec vector = {to, bytes};
  mmsghdr received = {};
  received.msg_hdr.msg_iov = &vector;
  received.msg_hdr.msg_iovlen = 1;
  received.msg_hdr.msg_control = room.bytes;
  received.msg_hdr.msg_controllen = sizeof(room.bytes);
  // Not recvmsg, of which the server has one of its own, for connections that gRPC has.
  if (recvmmsg(fd, &received, 1, MSG_CMSG_CLOEXEC, nullptr) < 0) return -1;
  if (!CloseForeign(received.msg_hdr)) return static_cast<ssize_t>(received.msg_len);
  // Who sends descriptors has nothing good in mind.
  DropUnread(fd);
  errno = ECONNRESET;
  return -1;
}

ssize_t SendBytes(int fd, absl::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void EndSending(int fd) { shutdown(fd, SHUT_WR); }

}  // namespace opserve
