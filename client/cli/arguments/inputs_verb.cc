// The verb inputs.

#include "client/cli/arguments/common.h"
#include "client/cli/arguments/values.h"
#include "client/cli/arguments/verbs.h"

namespace opserve::cli {
namespace {

constexpr char kInputsFooter[] =
    "Needs no server. The hardest inputs are those whose exact result is next to the\n"
    "middle between two neighbours, so that a computation with too few digits rounds\n"
    "it to the wrong one; with them come special values: zeros, infinities, NaNs,\n"
    "denormals, limits. Each file is a tensor of one dimension, named\n"
    "OPERATOR.TYPE.npy. Operators with attributes have them for those that are\n"
    "printed.\n"
    "\n"
    "Exit code 0: the files are written; 2: there are no inputs for this operator;\n"
    "4: a file cannot be written.\n"
    "\n"
    "Examples:\n"
    "  opserve inputs\n"
    "  opserve inputs ELEMENT_WISE_EXP --hard --output cases\n"
    "  opserve compare ELEMENT_WISE_EXP --input cases/ELEMENT_WISE_EXP.FLOAT32.npy \\\n"
    "      --actual result.npy";

std::string CheckInputs(const InputsArguments& inputs) {
  if (inputs.operator_name.empty() == inputs.hard) {
    return inputs.hard ? "--hard needs an operator; `opserve inputs` lists them"
                       : "needs the kind of inputs to write: --hard";
  }
  if (inputs.folder.empty()) return "--output names no folder";
  return "";
}

}  // namespace

void AddInputs(Verb root, Command& command) {
  const auto inputs = std::make_shared<InputsArguments>();
  Verb verb = root.AddVerb("inputs", "Write hard inputs for tests, or list their operators");
  verb.SetFooter(kInputsFooter);
  verb.AddOption("OPERATOR", "OPERATOR", TakeAny(inputs->operator_name),
                 "Operator to write inputs for");
  verb.AddFlag("--hard", inputs->hard, "Write the hardest inputs known, and special values");
  verb.AddOption("--type", "FLOAT32|FLOAT16",
                 TakeName({DataType::kFloat32, DataType::kFloat16}, inputs->type),
                 "Write only those of this type [both]");
  verb.AddOption("--output", "FILE", TakeAny(inputs->folder),
                 "Folder to write the files to; it must exist", {.default_value = "."});
  AddJson(verb, inputs->json);
  Choose<InputsArguments>(verb, command, inputs, CheckInputs);
}

}  // namespace opserve::cli
