// The verbs that make a call from tensors: run and pack.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

void AddCall(Verb verb, CallArguments& call) {
  verb.AddOption("OPERATOR", "OPERATOR", TakeAny(call.operator_name),
                 "Operator, as listed by `opserve operators`", {.required = true});
  AddAttributes(verb, call.attributes);
  verb.AddOption("--input", "FILE", AppendAny(call.inputs),
                 "Input, in the operator's order: a .npy file, or tensor:HANDLE for a tensor at "
                 "the server, see `opserve tensor`",
                 {.required = true, .repeated = true});
  verb.AddOption("--sizes", "SIZES", AppendDimensions(call.sizes),
                 "Sizes of an input instead of its own, such as 2,3; one per input in order, - "
                 "keeps its own",
                 {.repeated = true});
  verb.AddOption(
      "--strides", "STRIDES", AppendDimensions(call.strides),
      "Strides of an input in elements, such as 3,1 (0 repeats); one per input in order, "
      "- keeps its own",
      {.repeated = true});
  verb.AddOption("--output-strides", "STRIDES", TakeDimensions(call.output_strides),
                 "Strides of the output in elements");
  AddCallLabels(verb, call.feature_level, call.request_id);
  AddPlacement(verb, call.device, call.priority, call.verify);
}

std::string CheckRun(const RunArguments& run) {
  if (!run.stream) return "";
  if (run.shared_memory) return "--stream and --shared-memory do not go together";
  if (HandleOf(run.output)) return "--stream returns results, so --output must be a file";
  return "";
}

}  // namespace

void AddRun(Verb root, Command& command) {
  const auto run = std::make_shared<RunArguments>();
  Verb verb = root.AddVerb("run", "Run an operator on .npy files or resident tensors");
  AddCall(verb, run->call);
  verb.AddOption("--output", "FILE", TakeAny(run->output),
                 "Where the result goes: a .npy file, or tensor:HANDLE for a tensor at the server "
                 "of the result's type and sizes, which is replaced [shown only]");
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
  verb.AddOption("--output", "FILE", TakeAny(pack->output_file), "File to write",
                 {.required = true});
  Choose(verb, command, pack);
}

}  // namespace opserve::cli
