#include "server/journal/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace opserve {

absl::StatusOr<AppendFile> AppendFile::Open(const std::string& path) {
  // Lines tell who did what, which is not everybody's business.
  // A pipe without a reader is an error, and nothing to wait for.
  AppendFile file(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640));
  if (!file || fcntl(file.fd_, F_SETFL, O_APPEND) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  return file;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) close(fd_);
}

ssize_t AppendFile::Write(absl::string_view bytes) const {
  return write(fd_ >= 0 ? fd_ : STDOUT_FILENO, bytes.data(), bytes.size());
}

}  // namespace opserve
