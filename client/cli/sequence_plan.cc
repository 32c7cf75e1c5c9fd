#include "client/cli/sequence_plan.h"

#include <algorithm>
#include <utility>

#include "client/cli/calls.h"
#include "client/cli/tensor_files.h"

namespace opserve::cli {
namespace {

// The number of the input `from`, which is added to the plan where it has it not yet.
absl::StatusOr<uint32_t> NumberOf(const std::string& from, PlannedSequence& plan) {
  const auto known = std::find(plan.inputs.begin(), plan.inputs.end(), from);
  const auto number = static_cast<uint32_t>(known - plan.inputs.begin());
  if (known != plan.inputs.end()) return number;
  const std::optional<TensorHandle> handle = HandleOf(from);
  if (handle) {
    plan.sequence.inputs.push_back(TensorView::At(*handle));
  } else {
    absl::StatusOr<Tensor> tensor = ReadTensorFile(from);
    if (!tensor.ok()) return tensor.status();
    plan.tensors.push_back(*std::move(tensor));
    plan.sequence.inputs.push_back(plan.tensors.back().view());
  }
  plan.inputs.push_back(from);
  return number;
}

absl::StatusOr<StepInput> MakeInput(const InputText& text, PlannedSequence& plan) {
  StepInput input;
  if (text.step) {
    input = FromStep(*text.step);
  } else {
    const absl::StatusOr<uint32_t> number = NumberOf(text.from, plan);
    if (!number.ok()) return number.status();
    input = FromInput(*number);
  }
  if (!text.sizes.empty()) input.view = TensorSpec{DataType::kUnknown, text.sizes, text.strides};
  input.name = text.name;
  return input;
}

void AddOutput(uint32_t step, const std::string& output, PlannedSequence& plan) {
  const std::optional<TensorHandle> handle = HandleOf(output);
  SequenceOutput wanted{step, {}};
  if (handle) wanted.place = *handle;
  plan.sequence.outputs.push_back(std::move(wanted));
  plan.outputs.push_back(output);
}

absl::Status AddStep(const StepText& text, PlannedSequence& plan) {
  OperatorStep step{.operator_name = text.operator_name, .attributes = text.attributes};
  for (const InputText& input : text.inputs) {
    absl::StatusOr<StepInput> made = MakeInput(input, plan);
    if (!made.ok()) return made.status();
    step.inputs.push_back(*std::move(made));
  }
  step.output = WantedOutput(text.output_type, text.output_strides);
  const auto number = static_cast<uint32_t>(plan.sequence.steps.size());
  if (!text.output.empty()) AddOutput(number, text.output, plan);
  plan.sequence.steps.push_back(std::move(step));
  return absl::OkStatus();
}

// The document itself may be standard input, and what the command prints standard output.
absl::Status CheckStreams(const std::vector<StepText>& steps, const SequenceArguments& arguments) {
  size_t outputs = 0;
  for (const StepText& step : steps) {
    if (step.output == kStandardStream) ++outputs;
    for (const InputText& input : step.inputs) {
      if (arguments.file != kStandardStream || input.from != kStandardStream) continue;
      return absl::InvalidArgumentError(
          "standard input (-) is the document already, so it can be no input of a step");
    }
  }
  if (outputs > 1) {
    return absl::InvalidArgumentError("standard output (-) can be the output of one step only");
  }
  if (outputs > 0 && arguments.json) {
    return absl::InvalidArgumentError(
        "--json and the output - of a step both write to standard output");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedSequence> PlanSequence(const std::vector<StepText>& steps,
                                             const SequenceArguments& arguments) {
  absl::Status possible = CheckStreams(steps, arguments);
  if (!possible.ok()) return possible;
  PlannedSequence plan;
  for (const StepText& step : steps) {
    absl::Status added = AddStep(step, plan);
    if (!added.ok()) return added;
  }
  // Nothing but a result of the call can use the last step's.
  if (steps.back().output.empty()) AddOutput(static_cast<uint32_t>(steps.size() - 1), "", plan);
  plan.sequence.feature_level = arguments.feature_level;
  plan.sequence.device = arguments.device;
  plan.sequence.priority = arguments.priority;
  plan.sequence.verify = arguments.verify;
  plan.sequence.request_id = arguments.request_id;
  return plan;
}

}  // namespace opserve::cli
