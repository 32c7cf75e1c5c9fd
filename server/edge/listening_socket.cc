#include "server/edge/listening_socket.h"

#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "proto/packets/foreign_descriptors.h"
#include "server/edge/named_address.h"
#include "server/edge/stale_socket.h"

namespace opserve {
namespace {

void Set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

absl::StatusOr<UniqueFd> BindAndListen(const sockaddr* address, socklen_t length,
                                       absl::FunctionRef<absl::Status()> between) {
  UniqueFd fd(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return absl::ErrnoToStatus(errno, "socket");
  if (address->sa_family != AF_UNIX) {
    // Connections of an earlier server that still linger are no obstacle.
    Set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    // Accepted sockets have it from here.
    Set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  } else {
    RefuseDescriptors(fd);
  }
  if (address->sa_family == AF_INET6) Set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(fd.get(), address, length) != 0) return absl::ErrnoToStatus(errno, "bind");
  if (absl::Status status = between(); !status.ok()) return status;
  if (listen(fd.get(), SOMAXCONN) != 0) return absl::ErrnoToStatus(errno, "listen");
  return fd;
}

absl::StatusOr<ListeningSockets> ListenAtFile(const ListenAddress& address,
                                              const SocketFileAccess& access) {
  const absl::StatusOr<UniqueFd> turn = TakeSocketTurn(address.unix_path);
  if (!turn.ok()) return turn.status();
  if (absl::Status status = RemoveStaleSocket(address.unix_path); !status.ok()) return status;
  const sockaddr_un file = UnixAddress(address.unix_path);
  BoundFile bound;
  auto fd = BindAndListen(reinterpret_cast<const sockaddr*>(&file), sizeof(file), [&] {
    bound = BoundFile(address.unix_path);
    return SetAccess(address.unix_path, access);
  });
  if (!fd.ok()) {
    return absl::Status(fd.status().code(),
                        absl::StrCat(address.unix_path, ": ", fd.status().message()));
  }
  ListeningSockets listening;
  listening.address = address;
  listening.file = std::move(bound);
  listening.sockets.push_back(*std::move(fd));
  return listening;
}

absl::StatusOr<UniqueFd> ListenByTcp(const addrinfo& address) {
  return BindAndListen(address.ai_addr, address.ai_addrlen, [] { return absl::OkStatus(); });
}

bool HasIpv6() {
  const UniqueFd probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any = {};
  any.sin6_family = AF_INET6;
  return probe && bind(probe.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0;
}

}  // namespace

absl::Status SetAccess(const std::string& path, const SocketFileAccess& access) {
  if (!access.group.empty()) {
    const group* const found = getgrnam(access.group.c_str());
    if (found == nullptr) {
      return absl::NotFoundError(absl::StrCat("there is no group \"", access.group, "\""));
    }
    if (chown(path.c_str(), static_cast<uid_t>(-1), found->gr_gid) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("chown to group ", access.group));
    }
  }
  if (access.mode && chmod(path.c_str(), *access.mode) != 0) {
    return absl::ErrnoToStatus(errno, "chmod");
  }
  return absl::OkStatus();
}

absl::StatusOr<ListeningSockets> ListenAt(const ListenAddress& address,
                                          const SocketFileAccess& access) {
  if (address.is_unix()) return ListenAtFile(address, access);
  const bool is_any = address.host == "0.0.0.0" || address.host == "[::]";
  const absl::string_view host = !is_any ? address.host.c_str() : HasIpv6() ? "::" : "0.0.0.0";
  return ListenAtHost(address, host, {ListenByTcp, [](int error) {
                                        return absl::NotFoundError(gai_strerror(error));
                                      }});
}

}  // namespace opserve
