#include "client/rpc/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/status_details.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

absl::Status Malformed(absl::string_view target, absl::string_view what) {
  return MakeClientError(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("target '", target, "' ", what), kInvalidTarget);
}

bool IsSocketFile(absl::string_view target) {
  return absl::StartsWith(target, "unix:") || absl::StartsWith(target, "unix-abstract:");
}

// Without the prefixes that leave host and port as they are.
absl::string_view HostAndPort(absl::string_view target) {
  for (absl::string_view prefix : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&target, prefix)) break;
  }
  return target;
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         absl::SimpleAtoi(text, &port) && port >= 1 && port <= 65535;
}

}  // namespace

absl::Status CheckTarget(absl::string_view target) {
  if (IsSocketFile(target)) return absl::OkStatus();
  for (absl::string_view scheme : {"http://", "https://", "grpc://", "grpcs://", "tcp://"}) {
    absl::string_view rest = target;
    if (!absl::ConsumePrefix(&rest, scheme)) continue;
    return Malformed(
        target, absl::StrCat("begins with ", scheme, "; write ", rest.substr(0, rest.find('/')),
                             " alone", scheme == "https://" ? ", and use TLS" : ""));
  }
  // Another scheme of gRPC, which knows what follows it.
  if (absl::StrContains(target, "://") && !absl::StartsWith(target, "dns://")) {
    return absl::OkStatus();
  }
  const absl::string_view rest = HostAndPort(target);
  const size_t colon = rest.rfind(':');
  const bool is_bracketed = absl::StartsWith(rest, "[");
  if (colon == absl::string_view::npos || absl::EndsWith(rest, "]")) {
    // gRPC would quietly take port 443.
    return Malformed(target, "has no port; it must be host:port or unix:/path");
  }
  if (colon == 0) return Malformed(target, "has no host; it must be host:port or unix:/path");
  if (!is_bracketed && rest.find(':') != colon && !absl::StrContains(rest, ',')) {
    return Malformed(target, "has an IPv6 address without brackets; write [ADDRESS]:port");
  }
  if (!IsPort(rest.substr(colon + 1))) {
    return Malformed(target, "has no port between 1 and 65535");
  }
  return absl::OkStatus();
}

bool IsLocal(absl::string_view target) {
  if (IsSocketFile(target)) return true;
  target = HostAndPort(target);
  const size_t colon = target.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(target.substr(colon + 1))) return false;
  std::string host(target.substr(0, colon));
  if (host == "localhost") return true;
  in_addr ipv4 = {};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return ntohl(ipv4.s_addr) >> 24 == 127;
  return host == "[::1]";
}

}  // namespace opserve::client_internal
