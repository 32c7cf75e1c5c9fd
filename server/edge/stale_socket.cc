#include "server/edge/stale_socket.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

using std::chrono::steady_clock;

// Whoever makes a socket file is done in much less.
constexpr std::chrono::seconds kFolderTurnLimit{10};
// No system has a wait for a lock that ends by itself.
constexpr std::chrono::milliseconds kPause{10};

}  // namespace

absl::StatusOr<UniqueFd> TakeSocketTurn(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  UniqueFd turn(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!turn) return UniqueFd();
  const auto end = steady_clock::now() + kFolderTurnLimit;
  while (flock(turn.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return UniqueFd();
    if (steady_clock::now() >= end) {
      return absl::DeadlineExceededError(
          absl::StrCat("for ", kFolderTurnLimit.count(), " s another program has locked ", folder));
    }
    std::this_thread::sleep_for(kPause);
  }
  return turn;
}

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
