#include "tests/integration/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "proto/base/first_connection.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

std::filesystem::path TemporaryFile() {
  std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
  close(mkstemp(name.data()));
  return name;
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& arguments,
                             std::optional<int> standard_error)
    : output_(TemporaryFile()) {
  PrepareFirstConnection();
  // Drivers of GPUs leak, and would be the leak checker's findings.
  std::vector<std::string> words = {OPSERVE_SERVER_PROGRAM, "--devices", "none"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_.c_str(), O_WRONLY | O_APPEND,
                                   0);
  posix_spawn_file_actions_adddup2(&actions, standard_error.value_or(STDOUT_FILENO), STDERR_FILENO);
  if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
}

ServerProcess::~ServerProcess() {
  if (!exit_ && pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove(output_);
}

std::vector<std::string> ServerProcess::Serving(const std::filesystem::path& folder) {
  return {"--listen", "127.0.0.1:0", "--ready-file", (folder / "ready").string()};
}

std::vector<std::string> ServerProcess::WaitReady(const std::filesystem::path& folder) {
  const std::filesystem::path ready = folder / "ready";
  WaitUntil([&] {
    int status = 0;
    if (!exit_ && waitpid(pid_, &status, WNOHANG) == pid_) exit_ = WEXITSTATUS(status);
    return exit_ || std::filesystem::exists(ready);
  });
  std::vector<std::string> lines;
  std::ifstream file(ready);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

uint64_t ServerProcess::MemoryOf(const std::string& field) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoull(line.substr(field.size() + 1)) << 10;
  }
  return 0;
}

void ServerProcess::Signal(int signal) const { kill(pid_, signal); }

std::optional<int> ServerProcess::WaitExit() {
  WaitUntil([this] {
    int status = 0;
    if (!exit_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    return exit_.has_value();
  });
  return exit_;
}

bool ServerProcess::WaitOutput(const std::string& text) const {
  return WaitUntil([&] { return Output().find(text) != std::string::npos; });
}

std::string ServerProcess::Output() const {
  std::ifstream file(output_);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
  path_ = mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

}  // namespace opserve::testing
