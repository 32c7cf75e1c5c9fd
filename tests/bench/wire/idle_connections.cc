#include "tests/bench/wire/idle_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace opserve::wire_bench {
namespace {

constexpr size_t kFrameHeaderBytes = 9;
constexpr uint8_t kSettingsFrame = 4;
// The preface and an empty SETTINGS frame; then the acknowledgement of the server's.
constexpr std::string_view kHello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
                                  24 + kFrameHeaderBytes);
constexpr std::string_view kAcknowledge("\0\0\0\x04\x01\0\0\0\0", kFrameHeaderBytes);

absl::Status Failed(const char* what) { return absl::ErrnoToStatus(errno, what); }

// Connects to an address of the operating system; the socket.
template <class Address>
int ConnectTo(const Address& address) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, address.get(), address.size()) == 0) return fd;
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

struct UnixAddress {
  explicit UnixAddress(const std::string& path) {
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  }
  static int family() { return AF_UNIX; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  static socklen_t size() { return sizeof(sockaddr_un); }
  sockaddr_un address = {};
};

struct TcpAddress {
  TcpAddress(const std::string& host, uint16_t port) {
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  }
  static int family() { return AF_INET; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  static socklen_t size() { return sizeof(sockaddr_in); }
  sockaddr_in address = {};
};

int Connect(const std::string& target) {
  constexpr std::string_view kUnix = "unix:";
  if (target.starts_with(kUnix)) return ConnectTo(UnixAddress(target.substr(kUnix.size())));
  const size_t colon = target.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(target.substr(colon + 1), &port)) {
    errno = EINVAL;
    return -1;
  }
  return ConnectTo(TcpAddress(target.substr(0, colon), static_cast<uint16_t>(port)));
}

bool SendAll(int fd, std::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

absl::Status Greet(int fd) {
  const timeval limit = {10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (!SendAll(fd, kHello)) return Failed("cannot send the preface");
  std::array<uint8_t, kFrameHeaderBytes> frame;
  if (recv(fd, frame.data(), frame.size(), MSG_WAITALL) != static_cast<ssize_t>(frame.size())) {
    return Failed("the server sent no settings");
  }
  if (frame[3] != kSettingsFrame) return absl::InternalError("the server began without settings");
  // The rest of what it sent stays in the socket.
  return SendAll(fd, kAcknowledge) ? absl::OkStatus() : Failed("cannot acknowledge the settings");
}

}  // namespace

IdleConnections::~IdleConnections() {
  for (const int fd : sockets_) close(fd);
}

absl::Status IdleConnections::Open() {
  const int fd = Connect(target_);
  if (fd < 0) return Failed("cannot connect");
  sockets_.push_back(fd);
  return Greet(fd);
}

size_t IdleConnections::CountClosed() const {
  size_t closed = 0;
  for (const int fd : sockets_) {
    std::array<char, 4096> bytes;
    ssize_t count = 0;
    do {
      count = recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    } while (count > 0);
    if (count == 0 || errno != EAGAIN) ++closed;
  }
  return closed;
}

size_t RaiseFileLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace opserve::wire_bench
