#include "server/access/access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/packets/unique_fd.h"

namespace opserve {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

absl::Status WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(fd) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "fsync");
}

}  // namespace

absl::StatusOr<std::string> ReadAccessFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxAccessFileBytes + 1, '\0');
  if (file.is_open()) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof())) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxAccessFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", kMaxAccessFileBytes, " bytes, the most allowed"));
  }
  return text;
}

absl::Status WriteAccessFile(const std::string& path, absl::string_view text) {
  // In the same folder, so that the rename is atomic.
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  absl::Status status;
  {
    const UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    status = file ? WriteAll(file.get(), text) : absl::ErrnoToStatus(errno, "open");
  }
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, "rename");
  }
  if (status.ok()) return status;
  std::remove(temporary.c_str());
  return absl::Status(status.code(), absl::StrCat("cannot write ", path, ": ", status.message()));
}

FileWatch::State FileWatch::Look() const {
  struct stat file = {};
  if (path_.empty() || stat(path_.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_ctim),
          Nanoseconds(file.st_mtim)};
}

bool FileWatch::HasChanged() {
  const State before = std::exchange(seen_, Look());
  return before != seen_;
}

}  // namespace opserve
