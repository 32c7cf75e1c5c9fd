#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/system_sockets.h"
#include "server/base/system_error.h"
#include "server/edge/listening_socket.h"
#include "server/edge/system_sockets_use.h"

namespace opserve {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::Status SocketError(absl::string_view what) {
  return SystemError(static_cast<uint32_t>(WSAGetLastError()), what);
}

void Set(const UniqueFd& fd, int level, int option, int value) {
  setsockopt(static_cast<SOCKET>(fd.get()), level, option, reinterpret_cast<const char*>(&value),
             sizeof(value));
}

absl::StatusOr<UniqueFd> BindAndListen(const addrinfo& address) {
  UniqueFd fd(static_cast<int>(socket(address.ai_family, SOCK_STREAM, 0)));
  if (!fd) return SocketError("socket");
  const auto handle = static_cast<SOCKET>(fd.get());
  // Otherwise another program could listen at the same port, and take some of the connections.
  Set(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (address.ai_family == AF_INET6) Set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  u_long is_nonblocking = 1;
  ioctlsocket(handle, FIONBIO, &is_nonblocking);
  if (bind(handle, address.ai_addr, static_cast<int>(address.ai_addrlen)) != 0) {
    return SocketError("bind");
  }
  if (listen(handle, SOMAXCONN) != 0) return SocketError("listen");
  return fd;
}

absl::StatusOr<AddressList> Resolve(absl::string_view host, int port) {
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(std::string(host).c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::NotFoundError(
        SystemError(static_cast<uint32_t>(error), "there is no such host").message());
  }
  return AddressList(found, freeaddrinfo);
}

u_short& PortIn(sockaddr* address) {
  return address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

int PortOf(const UniqueFd& fd) {
  sockaddr_storage bound = {};
  int length = sizeof(bound);
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  return getsockname(static_cast<SOCKET>(fd.get()), address, &length) == 0 ? ntohs(PortIn(address))
                                                                           : 0;
}

// Listens at all addresses of a list where that works; the port that the first one got is that of
// the others.
absl::StatusOr<ListeningSockets> ListenAtEach(const ListenAddress& address, addrinfo* list) {
  ListeningSockets listening;
  listening.address = address;
  absl::Status why;
  for (addrinfo* next = list; next != nullptr; next = next->ai_next) {
    PortIn(next->ai_addr) = htons(static_cast<uint16_t>(listening.address.port));
    auto fd = BindAndListen(*next);
    if (!fd.ok()) {
      if (why.ok()) why = fd.status();
      continue;
    }
    listening.address.port = PortOf(*fd);
    listening.sockets.push_back(*std::move(fd));
  }
  if (listening.sockets.empty()) return why;
  return listening;
}

}  // namespace

absl::Status SetAccess(const std::string& path, const SocketFileAccess& /*access*/) {
  return absl::UnimplementedError(absl::StrCat(path, " is a socket file"));
}

absl::StatusOr<ListeningSockets> ListenAt(const ListenAddress& address,
                                          const SocketFileAccess& /*access*/) {
  UseSystemSockets();
  const bool is_any = address.host == "0.0.0.0" || address.host == "[::]";
  if (is_any) {
    // All addresses, also where there is no IPv6.
    auto list = Resolve("::", address.port);
    if (!list.ok()) return list.status();
    auto listening = ListenAtEach(address, list->get());
    if (listening.ok()) return listening;
  }
  auto list = Resolve(is_any ? "0.0.0.0" : address.host.c_str(), address.port);
  if (!list.ok()) return list.status();
  return ListenAtEach(address, list->get());
}

}  // namespace opserve
