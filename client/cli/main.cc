// The `opserve` command.

#include <sstream>

#include "client/cli/arguments/arguments.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/terminal.h"
#include "client/rpc/library_log.h"

int main(int argc, char** argv) {
  opserve::client_internal::SilenceLibraryLogs();
  using namespace opserve::cli;  // NOLINT(google-build-using-namespace): only for these lines
  const Terminal terminal = StandardTerminal();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::ostringstream complaint;
  const auto parsed = ParseArguments(arguments, terminal.out, complaint);
  if (const int* exit_code = std::get_if<int>(&parsed)) {
    return WithOutput(terminal, *exit_code == kSuccess
                                    ? kSuccess
                                    : FailArguments(terminal, arguments, complaint.str()));
  }
  return WithOutput(terminal,
                    std::visit([&](const auto& command) { return RunCommand(command, terminal); },
                               std::get<Command>(parsed)));
}
