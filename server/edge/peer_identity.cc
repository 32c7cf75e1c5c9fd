#include "server/edge/peer_identity.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/edge/connection_peer.h"

namespace opserve {
namespace {

constexpr absl::string_view kUnixPeerPrefix = "unix:";

std::string BracketedText(const in6_addr& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &address, text, sizeof(text));
  return absl::StrCat("[", text, "]");
}

std::string IpText(const in6_addr& address) {
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return BracketedText(address);
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.s6_addr[12], text, sizeof(text));
  return text;
}

// What is in front of the last colon of `text`; `port` is set to what is behind it.
absl::string_view HostBefore(absl::string_view text, uint16_t& port) {
  const size_t colon = text.rfind(':');
  uint32_t number = 0;
  if (colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &number)) {
    port = static_cast<uint16_t>(number);
  }
  return text.substr(0, colon);
}

}  // namespace

std::optional<in6_addr> ParseIpAddress(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "[") && !absl::ConsumeSuffix(&text, "]")) return std::nullopt;
  char copy[INET6_ADDRSTRLEN] = {};
  const absl::string_view unscoped = text.substr(0, text.find('%'));
  if (unscoped.size() >= sizeof(copy)) return std::nullopt;
  unscoped.copy(copy, unscoped.size());
  in6_addr address = {};
  if (inet_pton(AF_INET6, copy, &address) == 1) return address;
  // Some systems have written a part of it.
  address = {};
  address.s6_addr[10] = address.s6_addr[11] = 0xff;
  if (inet_pton(AF_INET, copy, &address.s6_addr[12]) == 1) return address;
  return std::nullopt;
}

bool IsLoopback(const in6_addr& address) {
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
}

std::string PeerIdentity::Host() const {
  if (transport == PeerTransport::kUnixSocket) return absl::StrCat("uid:", uid);
  if (transport == PeerTransport::kUnknown || address.empty() || address.front() != '[') {
    return address;
  }
  std::optional<in6_addr> ip = ParseIpAddress(address);
  if (!ip) return address;
  if (IN6_IS_ADDR_LOOPBACK(&*ip) || IN6_IS_ADDR_V4MAPPED(&*ip)) return IpText(*ip);
  std::fill(ip->s6_addr + 8, ip->s6_addr + 16, uint8_t{0});
  return absl::StrCat(BracketedText(*ip), "/64");
}

std::optional<UserId> PeerIdentity::User() const {
  if (transport != PeerTransport::kUnixSocket) return std::nullopt;
  return uid;
}

std::optional<in6_addr> PeerIdentity::Ip() const {
  if (transport != PeerTransport::kTcp) return std::nullopt;
  return ParseIpAddress(address);
}

bool PeerIdentity::IsLocal() const {
  if (transport == PeerTransport::kUnixSocket) return true;
  if (transport == PeerTransport::kUnknown) return absl::StartsWith(address, kUnixPeerPrefix);
  // It is the system that has written it, and these are asked about with each call.
  if (absl::StartsWith(address, "127.")) return true;
  const std::optional<in6_addr> ip = Ip();
  return ip && IsLoopback(*ip);
}

PeerIdentity PeerOfUser(UserId uid) {
  PeerIdentity peer;
  peer.transport = PeerTransport::kUnixSocket;
  peer.uid = uid;
  return peer;
}

PeerIdentity TcpPeerOf(const sockaddr_storage& from) {
  PeerIdentity peer;
  in6_addr ip = {};
  if (from.ss_family == AF_INET) {
    ip.s6_addr[10] = ip.s6_addr[11] = 0xff;
    peer.port = ntohs(reinterpret_cast<const sockaddr_in&>(from).sin_port);
    const in_addr& ipv4 = reinterpret_cast<const sockaddr_in&>(from).sin_addr;
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&ipv4);
    std::copy(bytes, bytes + sizeof(ipv4), &ip.s6_addr[12]);
  } else {
    peer.port = ntohs(reinterpret_cast<const sockaddr_in6&>(from).sin6_port);
    ip = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
  }
  peer.address = IpText(ip);
  return peer;
}

PeerIdentity IdentityOf(absl::string_view peer) {
  PeerIdentity identity;
  absl::string_view rest = peer;
  if (absl::ConsumePrefix(&rest, "ipv4:")) {
    identity.address = std::string(HostBefore(rest, identity.port));
    return identity;
  }
  if (absl::ConsumePrefix(&rest, "ipv6:")) {
    // gRPC writes it as part of a URI.
    identity.address = absl::StrReplaceAll(HostBefore(rest, identity.port),
                                           {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
    return identity;
  }
  int fd = -1;
  if (absl::ConsumePrefix(&rest, "fd:") && absl::SimpleAtoi(rest, &fd)) {
    if (auto peer_there = PeerOfDescriptor(fd)) return *std::move(peer_there);
  }
  identity.transport = PeerTransport::kUnknown;
  identity.address = std::string(peer);
  return identity;
}

}  // namespace opserve
