// File: tests/unit/proto/transport/sockets.h
//
// TCP connections within this process, and how they control congestion.

#ifndef OPSERVE_TESTS_UNIT_PROTO_TRANSPORT_SOCKETS_H_
#define OPSERVE_TESTS_UNIT_PROTO_TRANSPORT_SOCKETS_H_

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "proto/packets/unique_fd.h"

namespace opserve::testing {

// What a TCP socket uses; empty where it is no TCP socket.
inline std::string CongestionControlOf(int fd) {
  char name[16] = {};
  socklen_t length = sizeof(name);
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "";
  return name;
}

// Whether the kernel has it.
inline bool UseCongestionControl(int fd, const std::string& name) {
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                    static_cast<socklen_t>(name.size())) == 0;
}

inline UniqueFd TcpSocket(int family) {
  return UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

// Both ends of a connection.
struct Connection {
  UniqueFd client;
  UniqueFd server;
};

// A connection to `to`, whose port does not matter, by way of a listener of the family `family`;
// nullopt where there is none.
template <class Address>
std::optional<Connection> Connect(Address to, int family) {
  const UniqueFd listener = TcpSocket(family);
  // All zeros: any address and any port.
  sockaddr_storage bound = {};
  bound.ss_family = static_cast<sa_family_t>(family);
  socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  auto* const any = reinterpret_cast<sockaddr*>(&bound);
  if (bind(listener.get(), any, length) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), any, &length) != 0) {
    return std::nullopt;
  }
  auto* const target = reinterpret_cast<sockaddr*>(&to);
  // The port lies in the same place in both families.
  reinterpret_cast<sockaddr_in*>(target)->sin_port = reinterpret_cast<sockaddr_in*>(any)->sin_port;
  Connection connection;
  connection.client = TcpSocket(target->sa_family);
  if (connect(connection.client.get(), target, sizeof(to)) != 0) return std::nullopt;
  connection.server = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return connection;
}

inline sockaddr_in Ipv4Loopback() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

inline sockaddr_in6 Ipv6Loopback() {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return address;
}

// An address of this machine that others can reach it by.
inline std::optional<sockaddr_in> OutsideAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  std::optional<sockaddr_in> found;
  for (const ifaddrs* each = all; each != nullptr && !found; each = each->ifa_next) {
    const bool is_outside = each->ifa_addr != nullptr && (each->ifa_flags & IFF_UP) != 0 &&
                            (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (is_outside && each->ifa_addr->sa_family == AF_INET) {
      found = *reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    }
  }
  freeifaddrs(all);
  return found;
}

// What the connected TCP sockets of this process use.
inline std::multiset<std::string> CongestionControls() {
  std::multiset<std::string> controls;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_storage peer = {};
    socklen_t length = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (const std::string control = CongestionControlOf(fd); !control.empty()) {
      controls.insert(control);
    }
  }
  return controls;
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_PROTO_TRANSPORT_SOCKETS_H_
