#include "client/cli/child_process.h"

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace opserve::cli {

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command, const std::string& variable) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::vector<char*> environment = {const_cast<char*>(variable.c_str())};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, name)) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments.front(), /*file_actions=*/nullptr,
                                 /*attrp=*/nullptr, arguments.data(), environment.data());
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot run ", command.front(), ": ", std::strerror(error)));
  }
  // glibc 2.36 declares its function without C linkage, so that C++ does not find it.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  const int why = errno;
  std::unique_ptr<ChildProcess> child(new ChildProcess(process, descriptor));
  if (descriptor >= 0) return child;
  // Nobody could tell it to end, or know that it has.
  kill(process, SIGTERM);
  return absl::InternalError(absl::StrCat("pidfd_open: ", std::strerror(why)));
}

ChildProcess::~ChildProcess() {
  if (!has_ended_) Wait().IgnoreError();
  if (descriptor_ >= 0) close(descriptor_);
}

void ChildProcess::Signal(int number) const {
  syscall(SYS_pidfd_send_signal, descriptor_, number, nullptr, 0);
}

absl::StatusOr<int> ChildProcess::Wait() {
  has_ended_ = true;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(absl::StrCat("waitpid: ", std::strerror(errno)));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace opserve::cli
