#include "server/edge/listen_address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/packets/unique_fd.h"
#include "server/edge/peer_identity.h"

namespace opserve {
namespace {

constexpr absl::string_view kUnixPrefix = "unix:";

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" ", why, "; use host:port, [::1]:port (port 0: any free one) or unix:/path"));
}

absl::StatusOr<ListenAddress> ParseUnix(absl::string_view text, absl::string_view path) {
  if (path.empty()) return Malformed(text, "names no socket file");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Malformed(text, absl::StrCat("has a path longer than the system's limit of ",
                                        sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  ListenAddress address;
  address.unix_path = std::string(path);
  return address;
}

}  // namespace

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

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

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
  }
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = UnixAddress(path);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return absl::AlreadyExistsError(absl::StrCat("another server listens on ", path));
  }
  if (errno != ECONNREFUSED) return absl::ErrnoToStatus(errno, path);
  if (unlink(path.c_str()) != 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace opserve
