#include "server/base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The system has no wait for a lock that ends by itself.
constexpr milliseconds kPause{10};

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, milliseconds limit) {
  const std::string file = absl::StrCat(path, ".lock");
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", file));
  FileLock lock(fd);
  const auto end = steady_clock::now() + limit;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", file));
    }
    const auto left = end - steady_clock::now();
    if (left <= steady_clock::duration::zero()) {
      return absl::DeadlineExceededError(absl::StrCat("another program changes ", path,
                                                      ": it holds the lock of ", file,
                                                      " for more than ", limit.count(), " ms"));
    }
    std::this_thread::sleep_for(std::min<steady_clock::duration>(left, kPause));
  }
  return lock;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace opserve
