#include "server/edge/peer_identity.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/edge/connection_table.h"

namespace opserve {

std::string PeerIdentity::Host() const {
  return transport == PeerTransport::kTcp ? address : absl::StrCat("uid:", uid);
}

std::optional<PeerIdentity> IdentityOf(absl::string_view peer) {
  if (absl::ConsumePrefix(&peer, "fd:")) {
    int fd = -1;
    if (!absl::SimpleAtoi(peer, &fd)) return std::nullopt;
    const std::shared_ptr<EdgeConnection> connection = ConnectionOf(fd);
    if (connection == nullptr) return std::nullopt;
    return connection->peer;
  }
  if (!absl::ConsumePrefix(&peer, "ipv4:") && !absl::ConsumePrefix(&peer, "ipv6:")) {
    return std::nullopt;
  }
  PeerIdentity identity;
  // gRPC writes it as part of a URI.
  identity.address = absl::StrReplaceAll(peer.substr(0, peer.rfind(':')),
                                         {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  return identity;
}

}  // namespace opserve
