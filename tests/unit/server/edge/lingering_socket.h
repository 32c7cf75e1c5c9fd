// File: tests/unit/server/edge/lingering_socket.h
//
// Descriptors that take long to be closed, and how they get to a server.

#ifndef OPSERVE_TESTS_UNIT_SERVER_EDGE_LINGERING_SOCKET_H_
#define OPSERVE_TESTS_UNIT_SERVER_EDGE_LINGERING_SOCKET_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "proto/packets/unique_fd.h"

namespace opserve::testing {

// A TCP connection with bytes that its other end never takes. Closing its last descriptor would
// take an hour.
class LingeringSocket {
 public:
  LingeringSocket() {
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    sender_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.get(), any, length) != 0 || listen(listener.get(), 1) != 0 ||
        getsockname(listener.get(), any, &length) != 0 ||
        connect(sender_.get(), any, length) != 0) {
      throw std::runtime_error("no connection to be had");
    }
    reader_ = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string bytes(1 << 16, 'x');
    while (send(sender_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) continue;
    const linger hour = {1, 3600};
    setsockopt(sender_.get(), SOL_SOCKET, SO_LINGER, &hour, sizeof(hour));
  }
  // The test is not to wait, either.
  ~LingeringSocket() {
    if (!sender_) return;
    const linger off = {};
    setsockopt(sender_.get(), SOL_SOCKET, SO_LINGER, &off, sizeof(off));
  }

  // Sends it with `bytes` and `flags`, and keeps no descriptor of it. Where that fails, returns
  // false and keeps it, with the reason in errno.
  bool Leave(const UniqueFd& to, absl::string_view bytes, int flags = 0) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    iovec vector = {const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message = {};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int fd = sender_.get();
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(to.get(), &message, flags | MSG_NOSIGNAL) < 0) return false;
    sender_ = UniqueFd();
    return true;
  }

 private:
  UniqueFd sender_;
  UniqueFd reader_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_EDGE_LINGERING_SOCKET_H_
