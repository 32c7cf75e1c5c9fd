// File: client/cli/child_process.h
//
// A command that runs under this one.

#ifndef OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_
#define OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace opserve::cli {

// Not thread-safe.
class ChildProcess {
 public:
  // Starts `command`, found like a shell finds it, with this process's environment, standard
  // streams and `variable` (NAME=VALUE). NOT_FOUND where it cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command, const std::string& variable);
  // Waits for its end, where nobody has.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // A descriptor of this object that is readable once the command has ended.
  int descriptor() const { return descriptor_; }
  // Sends it a signal. No effect where it has ended.
  void Signal(int number) const;
  // Waits for its end. Its exit code; 128 and the number of the signal that ended it. To be called
  // once.
  absl::StatusOr<int> Wait();

 private:
  ChildProcess(int process, int descriptor) : process_(process), descriptor_(descriptor) {}

  const int process_;
  const int descriptor_;
  bool has_ended_ = false;
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CHILD_PROCESS_H_
