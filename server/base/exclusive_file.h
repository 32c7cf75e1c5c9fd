// File: server/base/exclusive_file.h
//
// A file that one program at a time has.

#ifndef OPSERVE_SERVER_BASE_EXCLUSIVE_FILE_H_
#define OPSERVE_SERVER_BASE_EXCLUSIVE_FILE_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace opserve {

// An open file that no other ExclusiveFile has. Movable.
class ExclusiveFile {
 public:
  // Opens `file`, which it makes where there is none. UNAVAILABLE where another one has it, with a
  // message such as "it holds FILE", or the error of the operating system. Any thread.
  static absl::StatusOr<ExclusiveFile> Open(const std::string& file);

  ExclusiveFile(ExclusiveFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ExclusiveFile& operator=(ExclusiveFile&&) = delete;
  // Gives it back; the system does so for a program that was killed.
  ~ExclusiveFile();

 private:
  explicit ExclusiveFile(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_EXCLUSIVE_FILE_H_
