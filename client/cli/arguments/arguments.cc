#include "client/cli/arguments/arguments.h"

#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/arguments/exit_code.h"
#include "client/cli/arguments/verb.h"
#include "client/cli/arguments/verbs.h"
#include "client/cli/help/bash_completion.h"
#include "client/cli/help/man_page.h"
#include "client/cli/help/zsh_completion.h"

namespace opserve::cli {
namespace {

constexpr char kExitCodes[] =
    "Exit codes:\n"
    "  0  success\n"
    "  1  the server refused or failed the call, or is not serving\n"
    "  2  the command line is wrong\n"
    "  3  no connection to the server\n"
    "  4  a file cannot be read, understood or written\n"
    "  5  a GPU failed its self-test, or there was no GPU to test\n"
    "  6  the server does not know the caller, or does not let it\n"
    "  7  a lease ended before the command that ran under it\n"
    "  8  results differ by more than the tolerance";

using Renderer = std::string (*)(const VerbHelp& root);

// The verbs that print what is made from the command line itself; they serve the installation.
void AddRenderers(Verb root, Renderer& chosen) {
  const auto render = [&chosen](Renderer renderer) {
    return [&chosen, renderer]() -> std::string {
      chosen = renderer;
      return "";
    };
  };
  Verb completion = root.AddVerb("completion", "Print a completion script", /*hidden=*/true);
  completion.RequireVerb();
  completion.AddVerb("bash", "For bash").OnChosen(render(RenderBashCompletion));
  completion.AddVerb("zsh", "For zsh").OnChosen(render(RenderZshCompletion));
  root.AddVerb("man", "Print the manual page", /*hidden=*/true).OnChosen(render(RenderManPage));
}

}  // namespace

std::optional<TensorHandle> HandleOf(const std::string& text) {
  absl::string_view id = text;
  if (!absl::ConsumePrefix(&id, "tensor:")) return std::nullopt;
  return TensorHandle{std::string(id)};
}

std::variant<Command, int> ParseArguments(const std::vector<std::string>& arguments,
                                          std::ostream& out, std::ostream& err) {
  CommandLine command_line("opserve", "Run DirectML operators on an opserve server.",
                           "opserve " OPSERVE_VERSION);
  Verb root = command_line.root();
  root.SetFooter(kExitCodes);
  root.RequireVerb();
  Command command;
  AddRun(root, command);
  AddCompare(root, command);
  AddInputs(root, command);
  AddSequence(root, command);
  AddTensor(root, command);
  AddOperators(root, command);
  AddInfo(root, command);
  AddDevices(root, command);
  AddLease(root, command);
  AddLeases(root, command);
  AddAdmin(root, command);
  AddHealth(root, command);
  AddBench(root, command);
  AddPack(root, command);
  Renderer renderer = nullptr;
  AddRenderers(root, renderer);
  const std::optional<int> ended = command_line.Parse(arguments, out, err);
  if (ended) return *ended;
  if (renderer == nullptr) return command;
  out << renderer(root.Describe());
  return kSuccess;
}

}  // namespace opserve::cli
