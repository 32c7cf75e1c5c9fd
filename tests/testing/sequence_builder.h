// File: tests/testing/sequence_builder.h
//
// Builds requests for sequences in tests. Owns everything that the views of a SequenceRequest refer
// to.

#ifndef OPSERVE_TESTS_TESTING_SEQUENCE_BUILDER_H_
#define OPSERVE_TESTS_TESTING_SEQUENCE_BUILDER_H_

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/validate_sequence.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {

inline TensorSource FromInput(uint32_t index) { return {TensorSource::Kind::kInput, index}; }
inline TensorSource FromStep(uint32_t index) { return {TensorSource::Kind::kStep, index}; }

// Sizes and strides of a view.
struct TestView {
  std::vector<uint32_t> sizes = {};
  std::vector<uint32_t> strides = {};
};

// A sequence whose payload lengths fit its inputs unless they are set apart. Not copyable: the
// request refers to its parts.
class SequenceBuilder {
 public:
  SequenceBuilder() = default;
  SequenceBuilder(const SequenceBuilder&) = delete;
  SequenceBuilder& operator=(const SequenceBuilder&) = delete;

  // Adds an input and returns where it is.
  TensorSource Input(TestTensor tensor) {
    const TensorDescView view = Keep(std::move(tensor));
    request_.inputs.push_back(view);
    request_.payload_bytes.push_back(FittingBytes(view));
    return FromInput(static_cast<uint32_t>(request_.inputs.size() - 1));
  }

  // Adds a step without inputs and returns where its result is.
  TensorSource Step(std::string op) {
    request_.steps.push_back({.operator_name = Keep(std::move(op))});
    return FromStep(static_cast<uint32_t>(request_.steps.size() - 1));
  }

  // Parts of the last step.
  SequenceBuilder& From(TensorSource source, std::string name = "") {
    last().inputs.push_back({.name = Keep(std::move(name)), .source = source});
    return *this;
  }
  SequenceBuilder& From(TensorSource source, TestView view) {
    TensorDescView kept =
        Keep({.sizes = std::move(view.sizes), .strides = std::move(view.strides)});
    kept.data_type = 0;
    last().inputs.push_back({.source = source, .view = kept});
    return *this;
  }
  SequenceBuilder& Int(std::string name, int64_t value) {
    last().attributes.push_back({Keep(std::move(name)), value});
    return *this;
  }
  // All attributes of the step; what they refer to must outlive the builder.
  SequenceBuilder& Attributes(std::vector<AttributeView> attributes) {
    last().attributes = std::move(attributes);
    return *this;
  }
  SequenceBuilder& Output(TestTensor tensor) {
    last().output = Keep(std::move(tensor));
    return *this;
  }

  // A whole step of an operator with one input, or more, and at most one attribute.
  TensorSource Round(TensorSource source, int mode = 0) {
    const TensorSource result = Step("ELEMENT_WISE_ROUND");
    From(source).Int("RoundingMode", mode);
    return result;
  }
  TensorSource IsInfinity(TensorSource source) {
    const TensorSource result = Step("ELEMENT_WISE_IS_INFINITY");
    From(source).Int("InfinityMode", 0);
    return result;
  }
  TensorSource Modulus(TensorSource a, TensorSource b) {
    const TensorSource result = Step("ELEMENT_WISE_MODULUS_TRUNCATE");
    From(a).From(b);
    return result;
  }
  TensorSource If(TensorSource condition, TensorSource a, TensorSource b) {
    const TensorSource result = Step("ELEMENT_WISE_IF");
    From(condition).From(a).From(b);
    return result;
  }

  // Asks for the result of a step.
  SequenceBuilder& Return(TensorSource step) {
    request_.outputs.push_back(step.index);
    return *this;
  }

  SequenceRequest& request() { return request_; }
  SequenceStepView& last() { return request_.steps.back(); }

  SequenceValidationResult Validate(const SequenceLimits& limits = {}) const {
    return ValidateSequence(request_, limits);
  }

 private:
  TensorDescView Keep(TestTensor tensor) {
    tensors_.push_back(std::move(tensor));
    const TestTensor& kept = tensors_.back();
    return {kept.name, static_cast<int>(kept.type), kept.sizes, kept.strides};
  }
  absl::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  // 0 where the descriptor is too broken to tell.
  static uint64_t FittingBytes(const TensorDescView& view) {
    if (!view.strides.empty() && view.strides.size() != view.sizes.size()) return 0;
    const DataType type = DataTypeFromNumber(view.data_type).value_or(DataType::kUint8);
    const std::optional<uint64_t> elements = view.strides.empty()
                                                 ? ElementCount(view.sizes)
                                                 : ExtentInElements(view.sizes, view.strides);
    return elements.value_or(0) * SizeOf(type);
  }

  std::deque<TestTensor> tensors_;
  std::deque<std::string> texts_;
  SequenceRequest request_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_SEQUENCE_BUILDER_H_
