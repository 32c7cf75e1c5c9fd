#include "server/rpc/client_identity.h"

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// "10.0.0.7" of "ipv4:10.0.0.7:41234". Anything but an internet address stays as it is.
absl::string_view HostOf(absl::string_view peer) {
  const size_t scheme = peer.find(':');
  const absl::string_view kind = peer.substr(0, scheme);
  if (kind != "ipv4" && kind != "ipv6") return peer;
  const size_t port = peer.rfind(':');
  return peer.substr(scheme + 1, port > scheme ? port - scheme - 1 : absl::string_view::npos);
}

}  // namespace

std::string ClientIdentity(absl::string_view peer, absl::string_view name) {
  const absl::string_view host = HostOf(peer);
  if (name.empty()) return std::string(host);
  return absl::StrCat(host, "/", name.substr(0, kMaxClientNameBytes));
}

}  // namespace opserve
