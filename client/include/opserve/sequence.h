// File: opserve/sequence.h
//
// Operators that run one after the other in one call: results in between never travel. Plain
// structs; Client::ExecuteSequence runs them.
//
//   // IF(IS_INFINITY(x), x, ROUND(x))
//   auto y = client->ExecuteSequence(
//       {.inputs = {TensorView::Of<float>(x, {3})},
//        .steps = {{.operator_name = "ELEMENT_WISE_IS_INFINITY",
//                   .attributes = {{"InfinityMode", "EITHER"}},
//                   .inputs = {FromInput(0)}},
//                  {.operator_name = "ELEMENT_WISE_ROUND",
//                   .attributes = {{"RoundingMode", "TOWARD_ZERO"}},
//                   .inputs = {FromInput(0)}},
//                  {.operator_name = "ELEMENT_WISE_IF",
//                   .inputs = {FromStep(0), FromInput(0), FromStep(1)}}}});
//   if (!y.ok()) return y.status();
//   const auto values = y->front().tensor->Elements<float>();
//   if (!values.ok()) return values.status();
//   for (float value : *values) std::cout << value << '\n';

#ifndef OPSERVE_SEQUENCE_H_
#define OPSERVE_SEQUENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "opserve/call.h"
#include "opserve/place.h"
#include "opserve/tensor.h"

namespace opserve {

// An input of a step; FromInput and FromStep make them.
struct StepInput {
  enum class Source : uint8_t {
    kInput,  // an input of the sequence
    kStep,   // the result of an earlier step
  };

  Source source = Source::kInput;
  uint32_t number = 0;  // of the input or the step, from 0 on
  // Other sizes and strides over the same elements, such as a broadcast; its type is not looked at.
  // Absent: the source's own.
  std::optional<TensorSpec> view = {};
  // DirectML's name, as TensorView::name.
  std::string name = {};
};

// Input `number` of the sequence, perhaps with other sizes and strides.
inline StepInput FromInput(uint32_t number, std::optional<TensorSpec> view = {}) {
  return {StepInput::Source::kInput, number, std::move(view), {}};
}

// The result of step `number`, perhaps with other sizes and strides.
inline StepInput FromStep(uint32_t number, std::optional<TensorSpec> view = {}) {
  return {StepInput::Source::kStep, number, std::move(view), {}};
}

// One operator of a sequence. Members are as in OperatorCall.
struct OperatorStep {
  std::string operator_name;
  std::vector<Attribute> attributes = {};
  std::vector<StepInput> inputs = {};
  std::optional<TensorSpec> output = {};
};

// A result that is wanted.
struct SequenceOutput {
  uint32_t step = 0;
  // Where it goes; see Client::ExecuteTo. Absent: into the response.
  std::optional<TensorPlace> place = {};
};

// A list of operators, all run on the same device. Members that OperatorCall has too are as there.
struct OperatorSequence {
  std::vector<TensorView> inputs = {};
  // In an order in which each uses only earlier ones. The server has a limit on their number:
  // ServerLimits::max_sequence_steps.
  std::vector<OperatorStep> steps = {};
  // Each step at most once. Empty: the result of the last step.
  std::vector<SequenceOutput> outputs = {};
  std::string feature_level = {};
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  bool verify = false;
  std::string request_id = {};
  std::string device_lease = {};
};

// What became of an output.
struct SequenceResult {
  TensorSpec spec;               // its layout
  std::optional<Tensor> tensor;  // itself, unless it went to a place
};

}  // namespace opserve

#endif  // OPSERVE_SEQUENCE_H_
