// File: server/journal/append_file.h
//
// A file to whose end bytes are added.

#ifndef OPSERVE_SERVER_JOURNAL_APPEND_FILE_H_
#define OPSERVE_SERVER_JOURNAL_APPEND_FILE_H_

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace opserve {

// Movable; not thread-safe.
class AppendFile {
 public:
  // Opens the file, and makes it where it is not there; its owner and his group alone may read a
  // new one. Others may rename it meanwhile. Fails with the error of the operating system.
  static absl::StatusOr<AppendFile> Open(const std::string& path);

  // None.
  AppendFile() = default;
  AppendFile(AppendFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  AppendFile& operator=(AppendFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~AppendFile();

  // Whether there is one.
  explicit operator bool() const { return fd_ >= 0; }

  // Adds bytes; where there is no file, to standard output. Returns how many it took, or -1 with
  // errno.
  ssize_t Write(absl::string_view bytes) const;

 private:
  explicit AppendFile(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_APPEND_FILE_H_
