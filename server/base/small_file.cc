#include "server/base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// Whether reading it may wait for somebody. A folder is not read either, which the system tells.
bool MayWait(int fd) {
  struct stat file = {};
  return fstat(fd, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode);
}

// Adds what the file holds to `text`, up to `most` bytes; the errno of a failure, or 0.
int ReadUpTo(int fd, size_t most, std::string& text) {
  text.resize(most);
  size_t held = 0;
  while (held < most) {
    const ssize_t count = read(fd, text.data() + held, most - held);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    held += static_cast<size_t>(count);
  }
  text.resize(held);
  return 0;
}

// Writes the text to the disk; the errno of a failure, or 0.
int WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

// Gives a new file owner, group and permissions of another one, if there is one; the errno of a
// failure, or 0.
int BecomeLike(int fd, const std::string& other) {
  struct stat old = {};
  struct stat made = {};
  if (stat(other.c_str(), &old) != 0) return errno == ENOENT ? 0 : errno;
  if (fstat(fd, &made) != 0) return errno;
  // Only some may change an owner, even to what it is.
  const bool is_same = made.st_uid == old.st_uid && made.st_gid == old.st_gid;
  if (!is_same && fchown(fd, old.st_uid, old.st_gid) != 0) return errno;
  return fchmod(fd, old.st_mode & 0777) == 0 ? 0 : errno;
}

}  // namespace

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  // Or to open a pipe would wait for somebody who writes to it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  if (MayWait(fd)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file"));
  }
  std::string text;
  const int error = ReadUpTo(fd, kMaxSmallFileBytes + 1, text);
  close(fd);
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
  if (text.size() > kMaxSmallFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", kMaxSmallFileBytes, " bytes, the most allowed"));
  }
  return text;
}

absl::Status ReplaceFile(const std::string& path, absl::string_view text,
                         std::optional<mode_t> mode) {
  // In the same folder, so that the rename is atomic.
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  // What a program left that had the same id, and was killed, may have other permissions.
  std::remove(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode.value_or(0600));
  int error = fd < 0 ? errno : 0;
  if (error == 0 && !mode) error = BecomeLike(fd, path);
  if (error == 0) error = WriteAll(fd, text);
  if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  std::remove(temporary.c_str());
  return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
}

}  // namespace opserve
