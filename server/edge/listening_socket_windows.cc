#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/base/system_sockets.h"
#include "server/base/system_error.h"
#include "server/edge/listening_socket.h"
#include "server/edge/named_address.h"
#include "server/edge/system_sockets_use.h"

namespace opserve {
namespace {

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

absl::Status DescribeResolverError(int error) {
  return absl::NotFoundError(
      SystemError(static_cast<uint32_t>(error), "there is no such host").message());
}

}  // namespace

absl::Status SetAccess(const std::string& path, const SocketFileAccess& /*access*/) {
  return absl::UnimplementedError(absl::StrCat(path, " is a socket file"));
}

absl::StatusOr<ListeningSockets> ListenAt(const ListenAddress& address,
                                          const SocketFileAccess& /*access*/) {
  UseSystemSockets();
  const TcpListener listener = {BindAndListen, DescribeResolverError};
  const bool is_any = address.host == "0.0.0.0" || address.host == "[::]";
  if (!is_any) return ListenAtHost(address, address.host, listener);
  // All addresses, also where there is no IPv6.
  auto listening = ListenAtHost(address, "::", listener);
  return listening.ok() ? std::move(listening) : ListenAtHost(address, "0.0.0.0", listener);
}

}  // namespace opserve
