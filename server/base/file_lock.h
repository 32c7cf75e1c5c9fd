// File: server/base/file_lock.h
//
// Keeps programs that change the same file from undoing each other's changes.

#ifndef OPSERVE_SERVER_BASE_FILE_LOCK_H_
#define OPSERVE_SERVER_BASE_FILE_LOCK_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/exclusive_file.h"

namespace opserve {

// The right to change a file, which one object at a time has, of all programs. Movable.
class FileLock {
 public:
  // Waits for the lock of `path`, at most for `limit`. The lock is held on the file PATH.lock
  // beside it, because `path` itself is replaced; it stays there, as another program may wait for
  // it. DEADLINE_EXCEEDED where another holds the lock for so long, or the error of the operating
  // system; both name the file. Any thread.
  static absl::StatusOr<FileLock> Take(const std::string& path, std::chrono::milliseconds limit);

 private:
  explicit FileLock(ExclusiveFile file) : file_(std::move(file)) {}

  // Given back with it.
  ExclusiveFile file_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_FILE_LOCK_H_
