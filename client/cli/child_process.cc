#include "client/cli/child_process.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace opserve::cli {

absl::StatusOr<int> RunChild(const std::vector<std::string>& command, const std::string& variable) {
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
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments.front(), /*file_actions=*/nullptr,
                                 /*attrp=*/nullptr, arguments.data(), environment.data());
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("cannot run ", command.front(), ": ", std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(absl::StrCat("waitpid: ", std::strerror(errno)));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace opserve::cli
