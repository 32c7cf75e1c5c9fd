#include "server/edge/stale_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/packets/unique_fd.h"

namespace opserve {

sockaddr_un UnixAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::Status RemoveStaleSocket(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return absl::OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " exists and is not a socket"));
  }
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = UnixAddress(path);
  // EAGAIN: its backlog is full. EPROTOTYPE: its socket is of another type.
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EAGAIN || errno == EPROTOTYPE) {
    return absl::AlreadyExistsError(absl::StrCat("another server listens on ", path));
  }
  if (errno != ECONNREFUSED) return absl::ErrnoToStatus(errno, path);
  if (unlink(path.c_str()) != 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

}  // namespace opserve
