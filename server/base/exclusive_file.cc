#include "server/base/exclusive_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace opserve {

absl::StatusOr<ExclusiveFile> ExclusiveFile::Open(const std::string& file) {
  ExclusiveFile opened(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (opened.fd_ < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", file));
  while (flock(opened.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      return absl::UnavailableError(absl::StrCat("it holds the lock of ", file));
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot lock ", file));
  }
  return opened;
}

ExclusiveFile::~ExclusiveFile() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace opserve
