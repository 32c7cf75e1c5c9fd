#include "proto/transport/loopback_tuning.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "absl/strings/string_view.h"
#include "proto/transport/socket_mutator_abi.h"

namespace opserve {
namespace {

constexpr absl::string_view kCongestionControl = "cubic";

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) || (IN6_IS_ADDR_V4MAPPED(&ipv6) && ipv6.s6_addr[12] == 127);
}

bool IsConnectedToLoopback(int fd) {
  sockaddr_storage peer = {};
  socklen_t length = sizeof(peer);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 && IsLoopback(peer);
}

bool IsThisMachine(const std::string& host) {
  in_addr ipv4 = {};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    return ntohl(ipv4.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  return host == "localhost" || host == "[::1]";
}

void UseCubic(int fd) {
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCongestionControl.data(), kCongestionControl.size());
}

// Always true: a connection without it works, too.
bool Mutate(const grpc_mutate_socket_info* info, grpc_socket_mutator*) {
  // Sockets of clients are not connected yet; they are ours only where the target is this machine.
  if (info->usage == GRPC_FD_CLIENT_CONNECTION_USAGE) UseCubic(info->fd);
  if (info->usage == GRPC_FD_SERVER_CONNECTION_USAGE) TuneAcceptedLoopback(info->fd);
  return true;
}

// All are alike, so that channels which differ in nothing else may share connections.
int Compare(grpc_socket_mutator*, grpc_socket_mutator*) { return 0; }

void Destroy(grpc_socket_mutator* mutator) { delete mutator; }

constexpr grpc_socket_mutator_vtable kTable = {nullptr, Compare, Destroy, Mutate};

void Tune(grpc::ChannelArguments& arguments) {
  if (!CanTuneLoopback()) return;
  auto* const mutator = new grpc_socket_mutator;
  grpc_socket_mutator_init(mutator, &kTable);
  arguments.SetSocketMutator(mutator);
}

}  // namespace

bool CanTuneLoopback() { return CanUseSocketMutators(); }

void TuneAcceptedLoopback(int fd) {
  if (IsConnectedToLoopback(fd)) UseCubic(fd);
}

void TuneServerLoopback(grpc::ChannelArguments& arguments) { Tune(arguments); }

void TuneClientLoopback(const std::string& target, grpc::ChannelArguments& arguments) {
  if (IsThisMachine(target.substr(0, target.rfind(':')))) Tune(arguments);
}

}  // namespace opserve
