// The `opserve` command.

#include "client/cli/arguments/arguments.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/terminal.h"
#include "client/rpc/library_log.h"

int main(int argc, char** argv) {
  opserve::client_internal::SilenceLibraryLogs();
  using namespace opserve::cli;  // NOLINT(google-build-using-namespace): only for these lines
  const Terminal terminal = StandardTerminal();
  const auto parsed =
      ParseArguments(std::vector<std::string>(argv + 1, argv + argc), terminal.out, terminal.err);
  if (const int* exit_code = std::get_if<int>(&parsed)) return WithOutput(terminal, *exit_code);
  return WithOutput(
      terminal, std::visit([&](const auto& arguments) { return RunCommand(arguments, terminal); },
                           std::get<Command>(parsed)));
}
