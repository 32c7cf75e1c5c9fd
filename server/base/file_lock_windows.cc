#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/file_lock.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The system has no wait for a file that ends by itself.
constexpr milliseconds kPause{10};

}  // namespace

absl::StatusOr<FileLock> FileLock::Take(const std::string& path, milliseconds limit) {
  const std::string file = absl::StrCat(path, ".lock");
  const auto end = steady_clock::now() + limit;
  while (true) {
    // Whoever has it open so shares it with nobody.
    const int fd = _sopen(file.c_str(), _O_RDWR | _O_CREAT | _O_NOINHERIT | _O_BINARY, _SH_DENYRW,
                          _S_IREAD | _S_IWRITE);
    if (fd >= 0) return FileLock(fd);
    if (errno != EACCES) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", file));
    const auto left = end - steady_clock::now();
    if (left <= steady_clock::duration::zero()) {
      return absl::DeadlineExceededError(
          absl::StrCat("another program changes ", path, ": it holds ", file, " for more than ",
                       limit.count(), " ms, or nobody may write it"));
    }
    std::this_thread::sleep_for(std::min<steady_clock::duration>(left, kPause));
  }
}

FileLock::~FileLock() {
  if (fd_ >= 0) _close(fd_);
}

}  // namespace opserve
