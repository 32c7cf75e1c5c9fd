#include "client/wire/wire_sequences.h"

#include <string>

#include "client/wire/wire_tensors.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {
namespace {

void EncodeStepInput(const StepInput& input, v1::StepInput* encoded) {
  encoded->set_name(input.name);
  if (input.source == StepInput::Source::kStep) {
    encoded->set_step(input.number);
  } else {
    encoded->set_input(input.number);
  }
  if (!input.view) return;
  EncodeSpec(*input.view, encoded->mutable_view());
  encoded->mutable_view()->clear_data_type();
}

void EncodeStep(const OperatorStep& step, v1::SequenceStep* encoded) {
  encoded->set_operator_(step.operator_name);
  EncodeAttributes(step.attributes, encoded->mutable_attributes());
  for (const StepInput& input : step.inputs) EncodeStepInput(input, encoded->add_inputs());
  if (step.output) EncodeSpec(*step.output, encoded->mutable_output());
}

}  // namespace

OutgoingMessage MakeRequest(const OperatorSequence& sequence) {
  v1::ExecuteSequenceRequest header;
  EncodeSettings(sequence, header);
  EncodeInputs(sequence.inputs, header.mutable_inputs(), header.mutable_input_places());
  for (const OperatorStep& step : sequence.steps) EncodeStep(step, header.add_steps());
  for (const SequenceOutput& output : sequence.outputs) {
    v1::SequenceOutput* const encoded = header.add_outputs();
    encoded->set_step(output.step);
    if (output.place) EncodePlace(*output.place, encoded->mutable_place());
  }
  OutgoingMessage request = {header.SerializeAsString()};
  request.host = std::string(HostOf(header.device_lease()));
  for (const SequenceOutput& output : sequence.outputs) {
    if (output.place) AddPlace(*output.place, request);
  }
  AddPayloads(sequence.inputs, request);
  return request;
}

}  // namespace opserve::client_internal
