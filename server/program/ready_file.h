// File: server/program/ready_file.h
//
// A file that tells other programs that the server serves, and where.

#ifndef OPSERVE_SERVER_PROGRAM_READY_FILE_H_
#define OPSERVE_SERVER_PROGRAM_READY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace opserve {

// Exists as long as the object. Movable.
class ReadyFile {
 public:
  // Writes `lines` to `path`: readers see the whole file or none. Fails with the error of the
  // operating system.
  static absl::StatusOr<ReadyFile> Create(const std::string& path,
                                          const std::vector<std::string>& lines);

  ReadyFile(ReadyFile&& other) noexcept;
  ReadyFile& operator=(ReadyFile&&) = delete;
  ~ReadyFile() { Remove(); }

  // Removes the file now. Does nothing the second time.
  void Remove();

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_READY_FILE_H_
