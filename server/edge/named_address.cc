#include "server/edge/named_address.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace opserve {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<AddressList> Resolve(absl::string_view host, int port, const TcpListener& listener) {
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(std::string(host).c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (error != 0) return listener.describe(error);
  return AddressList(found, [](addrinfo* list) { freeaddrinfo(list); });
}

auto& PortIn(sockaddr* address) {
  return address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

int PortOf(const UniqueFd& fd) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  auto* const address = reinterpret_cast<sockaddr*>(&bound);
  return getsockname(static_cast<SystemSocket>(fd.get()), address, &length) == 0
             ? ntohs(PortIn(address))
             : 0;
}

}  // namespace

absl::StatusOr<ListeningSockets> ListenAtHost(const ListenAddress& address, absl::string_view host,
                                              const TcpListener& listener) {
  const absl::StatusOr<AddressList> list = Resolve(host, address.port, listener);
  if (!list.ok()) return list.status();
  ListeningSockets listening;
  listening.address = address;
  absl::Status why;
  for (addrinfo* next = list->get(); next != nullptr; next = next->ai_next) {
    PortIn(next->ai_addr) = htons(static_cast<uint16_t>(listening.address.port));
    absl::StatusOr<UniqueFd> fd = listener.listen(*next);
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

}  // namespace opserve
