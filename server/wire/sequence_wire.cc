#include "server/wire/sequence_wire.h"

#include <utility>

namespace opserve {
namespace {

TensorSource SourceOf(const v1::StepInput& input) {
  switch (input.source_case()) {
    case v1::StepInput::kInput:
      return {TensorSource::Kind::kInput, input.input()};
    case v1::StepInput::kStep:
      return {TensorSource::Kind::kStep, input.step()};
    case v1::StepInput::SOURCE_NOT_SET:
      break;
  }
  return {};
}

SequenceStepView ViewOf(const v1::SequenceStep& step) {
  SequenceStepView view;
  view.operator_name = step.operator_();
  view.attributes.reserve(step.attributes_size());
  for (const v1::Attribute& attribute : step.attributes()) {
    view.attributes.push_back(opserve::ViewOf(attribute));
  }
  view.inputs.reserve(step.inputs_size());
  for (const v1::StepInput& input : step.inputs()) {
    StepInputView& seen = view.inputs.emplace_back();
    seen.name = input.name();
    seen.source = SourceOf(input);
    if (input.has_view()) seen.view = opserve::ViewOf(input.view());
  }
  if (step.has_output()) view.output = opserve::ViewOf(step.output());
  return view;
}

}  // namespace

RequestEnvelope EnvelopeOf(const v1::ExecuteSequenceRequest& request) {
  return {.request_id = request.request_id(),
          .device = request.device(),
          .priority = request.priority(),
          .verify = request.verify(),
          .device_lease = request.device_lease()};
}

SequenceHeader HeaderOf(const v1::ExecuteSequenceRequest& request,
                        std::span<const uint64_t> payload_bytes) {
  SequenceHeader header = {EnvelopeOf(request), {}};
  SequenceRequest& call = header.call;
  call.feature_level = request.feature_level();
  call.inputs.reserve(request.inputs_size());
  for (const v1::TensorDesc& input : request.inputs()) {
    call.inputs.push_back(opserve::ViewOf(input));
  }
  call.steps.reserve(request.steps_size());
  for (const v1::SequenceStep& step : request.steps()) call.steps.push_back(ViewOf(step));
  call.outputs.reserve(request.outputs_size());
  for (const v1::SequenceOutput& output : request.outputs()) call.outputs.push_back(output.step());
  call.payload_bytes.assign(payload_bytes.begin(), payload_bytes.end());
  return header;
}

void WriteResponseHeader(const v1::ExecuteSequenceRequest& request,
                         const SequenceInvocation& sequence, const RunRecord& record,
                         v1::ExecuteSequenceResponse& response) {
  response.set_request_id(request.request_id());
  for (const uint32_t step : sequence.outputs) {
    WriteDesc(sequence.call(step).output, *response.add_outputs());
  }
  WriteExecution(record, *response.mutable_execution());
}

}  // namespace opserve
