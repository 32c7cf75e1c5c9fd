// File: tests/integration/sequence_requests.h
//
// Requests for ExecuteSequence as clients send them.

#ifndef OPSERVE_TESTS_INTEGRATION_SEQUENCE_REQUESTS_H_
#define OPSERVE_TESTS_INTEGRATION_SEQUENCE_REQUESTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "opserve/v1/operator_service.pb.h"
#include "tests/integration/requests.h"

namespace opserve::testing {

inline v1::StepInput StepInputFrom(uint32_t step) {
  v1::StepInput input;
  input.set_step(step);
  return input;
}

inline v1::StepInput SequenceInput(uint32_t number) {
  v1::StepInput input;
  input.set_input(number);
  return input;
}

inline void AddSequenceInput(v1::ExecuteSequenceRequest& request, v1::DataType type,
                             const std::vector<uint32_t>& sizes, std::string payload) {
  v1::TensorDesc& input = *request.add_inputs();
  input.set_data_type(type);
  input.mutable_sizes()->Assign(sizes.begin(), sizes.end());
  request.add_payloads(std::move(payload));
}

// `mode`: of the operator's first attribute, where it has a name.
inline v1::SequenceStep& AddStep(v1::ExecuteSequenceRequest& request, const std::string& op,
                                 const std::vector<v1::StepInput>& inputs,
                                 const std::string& attribute = "", int64_t mode = 0) {
  v1::SequenceStep& step = *request.add_steps();
  step.set_operator_(op);
  for (const v1::StepInput& input : inputs) *step.add_inputs() = input;
  if (!attribute.empty()) {
    v1::Attribute& added = *step.add_attributes();
    added.set_name(attribute);
    added.set_int_value(mode);
  }
  return step;
}

inline v1::SequenceStep& AddRound(v1::ExecuteSequenceRequest& request, const v1::StepInput& input,
                                  int64_t mode = 0) {
  return AddStep(request, "ELEMENT_WISE_ROUND", {input}, "RoundingMode", mode);
}

// IF(IS_INFINITY(x), ROUND(x), x): how a LeakyRelu is built from a condition, a changed value and a
// choice.
inline v1::ExecuteSequenceRequest ChoiceRequest(const std::vector<float>& x) {
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {static_cast<uint32_t>(x.size())}, BytesOf(x));
  AddStep(request, "ELEMENT_WISE_IS_INFINITY", {SequenceInput(0)}, "InfinityMode", 0);
  AddRound(request, SequenceInput(0));
  AddStep(request, "ELEMENT_WISE_IF", {StepInputFrom(0), SequenceInput(0), StepInputFrom(1)});
  return request;
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_SEQUENCE_REQUESTS_H_
