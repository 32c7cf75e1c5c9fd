// File: server/base/file_state.h
//
// What tells one state of a file from another, without reading it.

#ifndef OPSERVE_SERVER_BASE_FILE_STATE_H_
#define OPSERVE_SERVER_BASE_FILE_STATE_H_

#include <cstdint>
#include <string>

namespace opserve {

// Zeros where there is no file.
struct FileState {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t changed_ns = 0;
  int64_t modified_ns = 0;
  bool operator==(const FileState&) const = default;
};

// The state of the file that `path` names now. Safe to use from any thread.
FileState StateOfFile(const std::string& path);

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_FILE_STATE_H_
