#include "client/python/core/sequence_builder.h"

#include <utility>

#include "client/python/core/call_settings.h"
#include "client/python/core/errors.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

// The one setting of a step.
DataType ReadStepType(const nb::dict& keywords) {
  const DataType type = ReadSettings(keywords).data_type;
  if (keywords.size() > (keywords.contains("dtype") ? 1 : 0)) {
    throw BadArguments("settings", "a step takes dtype alone; others are those of the sequence");
  }
  return type;
}

// Where the result of a step can go.
ResultTarget MakePlacedTarget(nb::handle out, const Regions& regions) {
  ResultTarget target = MakeTarget(out, regions);
  if (!target.place) {
    throw BadArguments("out",
                       "in a sequence, a result goes to a tensor at the server or to an "
                       "array in shared memory");
  }
  return target;
}

}  // namespace

uint64_t StepSequence::NextNumber() {
  // The GIL guards it.
  static uint64_t last = 0;
  return ++last;
}

uint32_t StepSequence::NumberOf(const Operand& operand) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].object != nullptr && inputs_[i].object == operand.object.ptr()) {
      return static_cast<uint32_t>(i);
    }
  }
  Operand own = operand;
  own.view_sizes = own.sizes;
  own.view_strides = own.OwnStrides();
  own.view_name.clear();
  sequence_.inputs.push_back(own.View());
  holds_.push_back(operand.hold);
  Hold kept;
  if (operand.object.is_valid()) kept = HoldObject(nb::borrow(operand.object));
  inputs_.push_back({operand.object.ptr(), std::move(kept)});
  return static_cast<uint32_t>(inputs_.size() - 1);
}

StepInput StepSequence::InputOf(const Operand& operand) {
  StepInput input = operand.value ? FromStep(operand.value->step) : FromInput(NumberOf(operand));
  input.name = operand.view_name;
  if (operand.view_sizes != operand.sizes || operand.view_strides != operand.OwnStrides()) {
    input.view = TensorSpec{DataType::kUnknown, operand.view_sizes, operand.view_strides};
  }
  return input;
}

void StepSequence::CheckNotSent() const {
  if (is_sent_) {
    throw BadArguments("sequence",
                       "it was sent, and runs once; write it down anew to run it again");
  }
}

void StepSequence::CheckOwn(const StepValue& value, const char* name) const {
  if (value.sequence != number_) throw BadArguments(name, "a value of another sequence");
}

StepValue StepSequence::Add(const MethodArguments& arguments, const Regions& regions) {
  CheckNotSent();
  const DataType wanted_type = ReadStepType(arguments.settings);
  const OperandList operands = MakeOperands(arguments.operation, arguments.inputs, regions);
  OperatorStep step;
  step.operator_name = arguments.operation.name;
  step.attributes = AttributesOf(arguments.operation, arguments.attributes, operands.first_type);
  std::optional<ResultTarget> target;
  if (!arguments.out.is_none()) target = MakePlacedTarget(arguments.out, regions);
  step.output = OutputFor(target, wanted_type);
  for (const Operand& operand : operands.operands) {
    if (operand.value) CheckOwn(*operand.value, "inputs");
  }
  // Nothing is refused any more: a step that was leaves nothing behind.
  for (const Operand& operand : operands.operands) step.inputs.push_back(InputOf(operand));
  StepValue result = {number_, static_cast<uint32_t>(sequence_.steps.size()), operands.result_type,
                      operands.sizes, operands.is_single};
  if (step.output) result.data_type = step.output->data_type;
  sequence_.steps.push_back(std::move(step));
  values_.push_back(result);
  if (target) {
    sequence_.outputs.push_back({result.step, std::move(target->place)});
    forms_.push_back({arguments.out, false});
    holds_.push_back(std::move(target->hold));
  }
  return result;
}

void StepSequence::AddOutput(const StepValue& value) {
  CheckNotSent();
  CheckOwn(value, "value");
  for (const SequenceOutput& output : sequence_.outputs) {
    if (output.step == value.step) return;
  }
  sequence_.outputs.push_back({value.step});
  forms_.push_back({nb::object(), value.is_single});
}

CallSettings StepSequence::Complete(const nb::dict& keywords) {
  GiveUpNow();
  CheckNotSent();
  CallSettings settings = ReadSettings(keywords);
  if (settings.data_type != DataType::kUnknown) {
    throw BadArguments("dtype", "a sequence takes none; its steps do");
  }
  if (values_.empty()) throw BadArguments("sequence", "it has no steps");
  if (sequence_.outputs.empty()) AddOutput(values_.back());
  settings.Apply(sequence_);
  return settings;
}

std::unique_ptr<PendingCall> StepSequence::Start(Client& client, const nb::dict& keywords,
                                                 CompletionTarget completion) {
  const CallSettings settings = Complete(keywords);
  return Follow(client.StartExecuteSequence(sequence_, settings.options()), std::move(completion));
}

std::unique_ptr<PendingCall> StepSequence::Start(ExecuteStream& stream, const nb::dict& keywords,
                                                 CompletionTarget completion) {
  const CallSettings settings = Complete(keywords);
  return Follow(stream.Start(sequence_, settings.timeout), std::move(completion));
}

std::unique_ptr<PendingCall> StepSequence::Follow(const Handle& call, CompletionTarget completion) {
  // From here on the call alone keeps the memory that the inputs are in.
  is_sent_ = true;
  for (SequenceInput& input : inputs_) {
    if (input.kept != nullptr) holds_.push_back(std::move(input.kept));
  }
  auto pending = std::make_unique<PendingCall>(call, forms_);
  FollowCall(call, std::move(holds_), std::move(completion));
  return pending;
}

uint32_t StepSequence::StepOf(const StepValue& value) const {
  CheckOwn(value, "value");
  return value.step;
}

std::vector<uint32_t> StepSequence::outputs() const {
  std::vector<uint32_t> steps;
  for (const SequenceOutput& output : sequence_.outputs) steps.push_back(output.step);
  return steps;
}

}  // namespace opserve::python
