// The verb sequence.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

constexpr char kSequenceFooter[] =
    "FILE is a JSON object with a list of steps, numbered from 0:\n"
    "\n"
    "  {\"steps\": [\n"
    "    {\"operator\": \"ELEMENT_WISE_IS_INFINITY\",\n"
    "     \"attributes\": {\"InfinityMode\": \"EITHER\"}, \"inputs\": [\"x.npy\"]},\n"
    "    {\"operator\": \"ELEMENT_WISE_ROUND\",\n"
    "     \"attributes\": {\"RoundingMode\": \"TOWARD_ZERO\"}, \"inputs\": [\"x.npy\"]},\n"
    "    {\"operator\": \"ELEMENT_WISE_IF\",\n"
    "     \"inputs\": [\"step:0\", \"x.npy\", \"step:1\"], \"output\": \"y.npy\"}]}\n"
    "\n"
    "Of a step:\n"
    "  operator        name, as listed by `opserve operators`\n"
    "  attributes      object of names, numbers, or lists of dimensions\n"
    "  inputs          list, in the operator's order, of\n"
    "                  \"FILE.npy\", a file;\n"
    "                  \"tensor:HANDLE\", a tensor at the server, see `opserve tensor`;\n"
    "                  \"step:N\", the result of the earlier step N;\n"
    "                  {\"from\": ANY OF THESE, \"sizes\": [2, 3], \"strides\": [0, 1]},\n"
    "                  the same with other sizes, and strides if wanted;\n"
    "                  {\"from\": ANY OF THESE, \"name\": \"ScaleTensor\"}, named, where\n"
    "                  optional ones are left out\n"
    "  output          \"FILE.npy\" or \"tensor:HANDLE\": where the result goes\n"
    "  output_strides  list: strides of the result in elements\n"
    "  output_type     its element type, where the inputs leave it open\n"
    "\n"
    "Results without an output are not sent back; that of the last step is shown.";

std::string CheckSequence(const SequenceArguments& sequence) {
  if (sequence.file.empty() == sequence.steps.empty()) return "needs either FILE or --step";
  return "";
}

}  // namespace

void AddSequence(Verb root, Command& command) {
  const auto sequence = std::make_shared<SequenceArguments>();
  Verb verb = root.AddVerb("sequence",
                           "Run operators one after the other in one call; results in between "
                           "stay at the server");
  verb.SetFooter(kSequenceFooter);
  verb.AddOption("FILE", "FILE", TakeAny(sequence->file),
                 "JSON file of the steps, see below, or - for standard input");
  verb.AddOption("--step", "JSON", AppendAny(sequence->steps),
                 "A step, in order, instead of FILE: the JSON object of a step",
                 {.repeated = true});
  verb.AddFlag("--stream", sequence->stream,
               "Send the call over a stream, which takes tensors larger than a message");
  AddCallLabels(verb, sequence->feature_level, sequence->request_id);
  AddPlacement(verb, sequence->device, sequence->priority, sequence->verify);
  ChooseAtServer<SequenceArguments>(verb, command, sequence, CheckSequence);
}

}  // namespace opserve::cli
