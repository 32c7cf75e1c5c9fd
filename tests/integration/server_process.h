// File: tests/integration/server_process.h
//
// The real program in a process of its own.

#ifndef OPSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_
#define OPSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace opserve::testing {

// A run of opserve-server with output to a file. Not thread-safe. Killed by the destructor if it
// still runs.
class ServerProcess {
 public:
  // Starts the program without GPUs and with these arguments. `standard_error`: a descriptor that
  // is to be its standard error, in place of the file.
  explicit ServerProcess(const std::vector<std::string>& arguments,
                         std::optional<int> standard_error = std::nullopt);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Arguments that make the program listen on a free port and write the ready file.
  static std::vector<std::string> Serving(const std::filesystem::path& folder);

  // Waits until the ready file in `folder` exists, and returns its lines. Empty after a minute, or
  // if the program ends before.
  std::vector<std::string> WaitReady(const std::filesystem::path& folder);

  void Signal(int signal) const;

  // A number of bytes in the program's /proc/PID/status: "VmRSS", "VmHWM". 0 where there is none.
  uint64_t MemoryOf(const std::string& field) const;

  // Waits for the end of the program. The exit code, minus the number of the signal that killed it,
  // or nullopt after a minute.
  std::optional<int> WaitExit();

  // Waits until the program has written `text`. False after a minute.
  bool WaitOutput(const std::string& text) const;

  // What the program wrote to standard output and standard error so far, as far as those are the
  // file.
  std::string Output() const;

 private:
  std::filesystem::path output_;
  pid_t pid_ = -1;
  std::optional<int> exit_;
};

// A folder of its own, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_SERVER_PROCESS_H_
