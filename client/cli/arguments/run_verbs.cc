// The verbs that make a call from tensors: run and pack.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

std::string CheckRun(const RunArguments& run) {
  std::string complaint = CheckCall(run.call);
  if (!complaint.empty()) return complaint;
  if (!run.stream) return CheckOutputFile(run.output, run.json);
  if (run.shared_memory) return "--stream and --shared-memory do not go together";
  if (HandleOf(run.output)) return "--stream returns results, so --output must be a file";
  return CheckOutputFile(run.output, run.json);
}

std::string CheckPack(const PackArguments& pack) { return CheckCall(pack.call); }

}  // namespace

void AddRun(Verb root, Command& command) {
  const auto run = std::make_shared<RunArguments>();
  Verb verb = root.AddVerb("run", "Run an operator on .npy files or resident tensors");
  AddCall(verb, run->call);
  verb.AddOption("--output", "FILE", TakeFileOrHandle(run->output),
                 "Where the result goes: a .npy file, - for standard output, where nothing else is "
                 "written then, or tensor:HANDLE for a tensor at the server of the result's type "
                 "and sizes, which is replaced [shown only]");
  verb.AddFlag("--shared-memory", run->shared_memory,
               "Pass tensors through memory shared with the server, which must be on this machine");
  verb.AddFlag("--stream", run->stream,
               "Send the call over a stream, which takes tensors larger than a message");
  ChooseAtServer<RunArguments>(verb, command, run, CheckRun);
}

void AddPack(Verb root, Command& command) {
  const auto pack = std::make_shared<PackArguments>();
  Verb verb = root.AddVerb("pack", "Write the request of `run` to a file, for ghz --binary-file");
  AddCall(verb, pack->call);
  verb.AddOption("--output", "FILE", TakeAny(pack->output_file),
                 "File to write, or - for standard output", {.required = true});
  Choose<PackArguments>(verb, command, pack, CheckPack);
}

}  // namespace opserve::cli
