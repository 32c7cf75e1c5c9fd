#include "server/edge/listen_address.h"

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/edge/peer_identity.h"
#include "server/edge/socket_file.h"

namespace opserve {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" ", why, "; use host:port, [::1]:port (port 0: any free one) or unix:/path"));
}

absl::StatusOr<ListenAddress> ParseUnix(absl::string_view text, absl::string_view path) {
  const absl::Status status = CheckSocketPath(path);
  if (!status.ok()) return Malformed(text, status.message());
  ListenAddress address;
  address.unix_path = std::string(path);
  return address;
}

}  // namespace

bool ListenAddress::IsLocal() const {
  if (is_unix() || host == "localhost") return true;
  const std::optional<in6_addr> ip = ParseIpAddress(host);
  return ip && IsLoopback(*ip);
}

std::string ListenAddress::ToString() const {
  return is_unix() ? absl::StrCat(kUnixPrefix, unix_path) : absl::StrCat(host, ":", port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, kUnixPrefix)) return ParseUnix(text, rest);
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "has no port");
  ListenAddress address;
  address.host = std::string(text.substr(0, colon));
  const absl::string_view port = text.substr(colon + 1);
  if (address.host.empty()) return Malformed(text, "has no host");
  const bool bracketed = absl::StartsWith(address.host, "[") && absl::EndsWith(address.host, "]");
  if (!bracketed && absl::StrContains(address.host, ":")) {
    return Malformed(text, "has an IPv6 address without brackets");
  }
  if (!absl::SimpleAtoi(port, &address.port) || address.port < 0 || address.port > 65535) {
    return Malformed(text, "has no port between 0 and 65535");
  }
  return address;
}

}  // namespace opserve
