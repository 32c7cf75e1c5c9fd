// File: server/access/access_file.h
//
// Small files that are read again when they change. Stateless functions are safe to use from any
// thread.

#ifndef OPSERVE_SERVER_ACCESS_ACCESS_FILE_H_
#define OPSERVE_SERVER_ACCESS_ACCESS_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace opserve {

// Most bytes of a policy, and of a list of tokens.
inline constexpr uint64_t kMaxAccessFileBytes = 1 << 20;

// All of the file. NOT_FOUND where it cannot be read, INVALID_ARGUMENT where it is longer than
// kMaxAccessFileBytes.
absl::StatusOr<std::string> ReadAccessFile(const std::string& path);

// Puts `text` in the place of the file, which its owner alone may read; whoever reads it meanwhile
// finds the old text or the new one.
absl::Status WriteAccessFile(const std::string& path, absl::string_view text);

// Notices when a file is replaced or written. Not thread-safe.
class FileWatch {
 public:
  // An empty path never changes.
  explicit FileWatch(std::string path) : path_(std::move(path)), seen_(Look()) {}

  // Whether the file is another than at the last call, or, at the first, at the construction.
  bool HasChanged();

 private:
  // What tells one state of a file from another; zeros where there is none.
  struct State {
    dev_t device = 0;
    ino_t inode = 0;
    int64_t bytes = 0;
    int64_t changed_ns = 0;
    int64_t modified_ns = 0;
    bool operator==(const State&) const = default;
  };

  State Look() const;

  std::string path_;
  State seen_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_ACCESS_ACCESS_FILE_H_
