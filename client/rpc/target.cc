#include "client/rpc/target.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/base/status_details.h"
#include "opserve/errors.h"
#include "proto/base/system_sockets.h"

namespace opserve::client_internal {
namespace {

absl::Status Malformed(absl::string_view target, absl::string_view what) {
  return MakeClientError(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("target '", target, "' ", what), kInvalidTarget);
}

// Without the prefixes that leave host and port as they are.
absl::string_view HostAndPort(absl::string_view target) {
  for (absl::string_view prefix : {"dns:///", "dns:", "ipv4:", "ipv6:"}) {
    if (absl::ConsumePrefix(&target, prefix)) break;
  }
  return target;
}

// Whether the target has another scheme, of which gRPC knows what follows it.
bool IsOfOtherScheme(absl::string_view target) {
  return !IsSocketFile(target) && absl::StrContains(target, "://") &&
         !absl::StartsWith(target, "dns://");
}

bool IsPort(absl::string_view text) {
  int port = 0;
  return !text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         absl::SimpleAtoi(text, &port) && port >= 1 && port <= 65535;
}

}  // namespace

absl::Status CheckTarget(absl::string_view target) {
  if (IsSocketFile(target)) {
    absl::string_view path = target.substr(target.find(':') + 1);
    absl::ConsumePrefix(&path, "//");
    return path.empty() ? Malformed(target, "names no socket file") : absl::OkStatus();
  }
  for (absl::string_view scheme : {"http://", "https://", "grpc://", "grpcs://", "tcp://"}) {
    absl::string_view rest = target;
    if (!absl::ConsumePrefix(&rest, scheme)) continue;
    return Malformed(
        target, absl::StrCat("begins with ", scheme, "; write ", rest.substr(0, rest.find('/')),
                             " alone", scheme == "https://" ? ", and use TLS" : ""));
  }
  if (IsOfOtherScheme(target)) return absl::OkStatus();
  const absl::string_view rest = HostAndPort(target);
  const size_t colon = rest.rfind(':');
  const bool is_bracketed = absl::StartsWith(rest, "[");
  if (colon == absl::string_view::npos || absl::EndsWith(rest, "]")) {
    // gRPC would quietly take port 443.
    return Malformed(target, "has no port; it must be host:port or unix:/path");
  }
  if (colon == 0) return Malformed(target, "has no host; it must be host:port or unix:/path");
  if (!is_bracketed && rest.find(':') != colon) {
    return Malformed(target, "has an IPv6 address without brackets; write [ADDRESS]:port");
  }
  if (!IsPort(rest.substr(colon + 1))) {
    return Malformed(target, "has no port between 1 and 65535");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SplitTarget(absl::string_view target) {
  const std::vector<std::string> addresses = absl::StrSplit(target, ',');
  if (addresses.size() > kMaxListedHosts) {
    return Malformed(target, absl::StrCat("lists ", addresses.size(), " hosts; at most ",
                                          kMaxListedHosts, " are allowed"));
  }
  for (auto address = addresses.begin(); address != addresses.end(); ++address) {
    if (addresses.size() > 1 && address->empty()) return Malformed(target, "has an empty address");
    absl::Status status = CheckTarget(*address);
    if (!status.ok()) return status;
    if (addresses.size() > 1 && IsOfOtherScheme(*address)) {
      return Malformed(target, absl::StrCat("has ", *address,
                                            " in a list, where only host:port, unix:/path and "
                                            "dns:///name:port can be"));
    }
    if (std::find(addresses.begin(), address, *address) != address) {
      return Malformed(target, absl::StrCat("names ", *address, " twice"));
    }
  }
  return addresses;
}

bool NamesAllHosts(absl::string_view address) { return absl::StartsWith(address, "dns://"); }

bool IsSocketFile(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:");
}

bool IsLocal(absl::string_view address) {
  if (IsSocketFile(address)) return true;
  address = HostAndPort(address);
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || !IsPort(address.substr(colon + 1))) return false;
  std::string host(address.substr(0, colon));
  if (host == "localhost") return true;
  in_addr ipv4 = {};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return ntohl(ipv4.s_addr) >> 24 == 127;
  return host == "[::1]";
}

}  // namespace opserve::client_internal
