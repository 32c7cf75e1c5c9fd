#include "kernels/validate_sequence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/sequence_plan.h"
#include "kernels/validate_tensor.h"
#include "kernels/violations.h"

namespace opserve {
namespace {

// A validated descriptor as a view.
TensorDescView ViewOf(const TensorDesc& desc) {
  TensorDescView view;
  view.data_type = static_cast<int>(desc.data_type);
  view.sizes = desc.size_span();
  if (desc.has_strides) view.strides = desc.stride_span();
  return view;
}

// Elements that a view spans; nullopt where it is not sound by itself, which is reported elsewhere.
std::optional<uint64_t> ExtentOf(const TensorDescView& view) {
  if (view.sizes.empty() || view.sizes.size() > kMaxDimensionCount) return std::nullopt;
  if (std::find(view.sizes.begin(), view.sizes.end(), 0u) != view.sizes.end()) return std::nullopt;
  if (view.strides.empty()) return ElementCount(view.sizes);
  if (view.strides.size() != view.sizes.size()) return std::nullopt;
  return ExtentInElements(view.sizes, view.strides);
}

class SequenceValidation {
 public:
  SequenceValidation(const SequenceRequest& request, const SequenceLimits& limits)
      : request_(request), limits_(limits) {}

  SequenceValidationResult Run() {
    if (CountsAreListable()) {
      CheckInputs();
      CheckPayloads();
      for (size_t s = 0; s < request_.steps.size(); ++s) CheckStep(s);
      CheckOutputs();
      // Where a step names a wrong source, another one looks unused that is not to blame.
      if (are_references_sound_) CheckAllUsed();
    }
    return Finish();
  }

 private:
  // Guards the loops against requests with absurd numbers of items.
  bool CountsAreListable() {
    const size_t steps = request_.steps.size();
    if (steps == 0) violations_.Add("steps", "The sequence has no steps.");
    if (steps > limits_.max_steps) {
      violations_.Add("steps", "The number of steps (", steps, ") exceeds the limit (",
                      limits_.max_steps, ").");
    }
    const size_t most_inputs = limits_.max_steps * kMaxInputs;
    if (request_.inputs.size() > most_inputs) {
      violations_.Add("inputs", "The number of inputs (", request_.inputs.size(), ") exceeds what ",
                      limits_.max_steps, " steps take (", most_inputs, ").");
    }
    if (request_.outputs.size() > limits_.max_steps) {
      violations_.Add("outputs", "The number of outputs (", request_.outputs.size(),
                      ") exceeds the most steps that there can be (", limits_.max_steps, ").");
    }
    return violations_.empty();
  }

  void CheckInputs() {
    const FeatureLevel level =
        FeatureLevelFromName(request_.feature_level).value_or(kHighestFeatureLevel);
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      TensorRules rules = {.field = absl::StrCat("inputs[", i, "]"), .name = "", .level = level};
      rules.max_dimension_count = MaxDimensionCount(level);
      if (!request_.inputs[i].name.empty()) {
        violations_.Add(absl::StrCat(rules.field, ".name"),
                        "Inputs of a sequence have no names; those of its steps may have.");
      }
      inputs_.push_back(CheckTensor(request_.inputs[i], rules, limits_.tensors, violations_).desc);
    }
    is_input_used_.resize(inputs_.size());
  }

  void CheckPayloads() {
    const std::vector<uint64_t>& given = request_.payload_bytes;
    if (given.size() != inputs_.size()) {
      violations_.Add("payloads", "The number of payloads (", given.size(),
                      ") differs from the number of inputs (", inputs_.size(), ").");
    }
    for (size_t i = 0; i < std::min(given.size(), inputs_.size()); ++i) {
      if (!inputs_[i]) continue;
      const uint64_t exact = *ExactSizeInBytes(*inputs_[i]);
      if (IsFittingSize(given[i], exact)) continue;
      violations_.Add(PayloadField(i), "The payload has ", given[i],
                      " bytes, but its descriptor needs ", FittingSizes(exact), ".");
    }
  }

  std::string PayloadField(size_t i) const {
    return i < request_.payload_fields.size() ? request_.payload_fields[i]
                                              : absl::StrCat("payloads[", i, "]");
  }

  void CheckStep(size_t s) {
    const SequenceStepView& step = request_.steps[s];
    is_step_used_.push_back(false);
    OperatorRequest call;
    call.operator_name = step.operator_name;
    call.feature_level = request_.feature_level;
    call.attributes = step.attributes;
    call.output = step.output;
    // Beyond that, Validate says that there are too many and looks at none.
    const size_t listed = std::min(step.inputs.size(), kMaxListedItems + 1);
    for (size_t i = 0; i < listed; ++i) {
      call.inputs.push_back(InputOf(s, i));
      call.payload_bytes.push_back(BytesOf(call.inputs.back()));
    }
    ValidationResult result = Validate(call, limits_.tensors);
    for (const Violation& violation : result.violations) AddOfStep(s, violation);
    if (result.unknown_operator && unknown_operator_.empty()) {
      unknown_operator_ = step.operator_name;
    }
    steps_.push_back({.call = std::move(result.invocation)});
    if (steps_.back().call != nullptr) FillSources(step, steps_.back());
  }

  static void FillSources(const SequenceStepView& view, SequenceStep& step) {
    for (int i = 0; i < kMaxInputs; ++i) {
      const int position = step.call->payload_index[i];
      if (i >= TraitsOf(step.call->op).input_count() || position < 0) continue;
      step.sources[i] = view.inputs[position].source;
    }
  }

  // What step `s` sees as its input number `i`.
  TensorDescView InputOf(size_t s, size_t i) {
    const StepInputView& input = request_.steps[s].inputs[i];
    const std::string field = absl::StrCat("steps[", s, "].inputs[", i, "]");
    const TensorDesc* const source = SourceOf(s, input.source, field);
    TensorDescView seen;
    if (source != nullptr) seen = ViewOf(*source);
    if (input.view) {
      const bool is_sound = CheckView(*input.view, source, field + ".view");
      if (source != nullptr && is_sound) {
        if (!input.view->sizes.empty()) {
          seen.sizes = input.view->sizes;
          seen.strides = {};
        }
        if (!input.view->strides.empty()) seen.strides = input.view->strides;
      }
      seen.is_known = is_sound;
    }
    seen.is_known = seen.is_known && source != nullptr;
    seen.name = input.name;
    return seen;
  }

  // The descriptor of a source, and notes that it is used. nullptr if it is at fault or unknown.
  const TensorDesc* SourceOf(size_t s, const TensorSource& source, const std::string& field) {
    switch (source.kind) {
      case TensorSource::Kind::kInput:
        if (source.index < inputs_.size()) {
          is_input_used_[source.index] = true;
          return inputs_[source.index] ? &*inputs_[source.index] : nullptr;
        }
        violations_.Add(field + ".input", "There is no input ", source.index, "; the sequence has ",
                        inputs_.size(), ".");
        break;
      case TensorSource::Kind::kStep:
        if (source.index < s) {
          is_step_used_[source.index] = true;
          const Invocation* const call = steps_[source.index].call.get();
          return call == nullptr ? nullptr : &call->output;
        }
        violations_.Add(field + ".step", "Step ", s, " cannot use the result of step ",
                        source.index, "; only those of earlier steps.");
        break;
      case TensorSource::Kind::kAbsent:
        violations_.Add(field, "Neither an input of the sequence nor a step is named.");
        break;
    }
    are_references_sound_ = false;
    return nullptr;
  }

  // Checks what Validate does not: that the view is one, and stays within its source.
  bool CheckView(const TensorDescView& view, const TensorDesc* source, const std::string& field) {
    const size_t before = violations_.size();
    if (!view.name.empty()) {
      violations_.Add(field + ".name", "A view has no name; its input may have one.");
    }
    if (view.data_type != 0) {
      violations_.Add(field + ".data_type",
                      "A view has no data type; its source's is not changed.");
    }
    if (source != nullptr) {
      const TensorDescView of_source = ViewOf(*source);
      const TensorDescView sized = {
          .sizes = view.sizes.empty() ? of_source.sizes : view.sizes,
          .strides = view.sizes.empty() && view.strides.empty() ? of_source.strides : view.strides};
      const std::optional<uint64_t> extent = ExtentOf(sized);
      const uint64_t most = *ExtentInElements(source->size_span(), source->stride_span());
      if (extent && *extent > most) {
        violations_.Add(field, "The view spans ", *extent, " elements, but its source only ", most,
                        ".");
      }
    }
    return violations_.size() == before;
  }

  // What Validate expects as the length of a payload; anything where the view is not sound.
  static uint64_t BytesOf(const TensorDescView& view) {
    uint64_t bytes = 0;
    const auto type = static_cast<DataType>(view.data_type);
    if (__builtin_mul_overflow(ExtentOf(view).value_or(0), SizeOf(type), &bytes)) return 0;
    return bytes;
  }

  // Adds a violation of a step under the path that it has in the request.
  void AddOfStep(size_t s, const Violation& violation) {
    if (violation.field == "feature_level") {
      // The same for all steps.
      if (s == 0) violations_.Add(violation.field, violation.description);
      return;
    }
    // Too many inputs, which is reported as that.
    if (absl::StartsWith(violation.field, "payloads")) return;
    violations_.Add(absl::StrCat("steps[", s, "].", FieldOfStep(s, violation.field)),
                    violation.description);
  }

  // Descriptors of inputs are those of views, or of sources elsewhere.
  std::string FieldOfStep(size_t s, absl::string_view field) const {
    constexpr absl::string_view kInputs = "inputs[";
    const size_t end = field.find(']');
    if (!absl::StartsWith(field, kInputs) || end == absl::string_view::npos) {
      return std::string(field);
    }
    const absl::string_view member = field.substr(end + 1);
    const absl::string_view input = field.substr(0, end + 1);
    if (member.empty() || member == ".name") return std::string(field);
    size_t number = 0;
    const bool has_view =
        absl::SimpleAtoi(field.substr(kInputs.size(), end - kInputs.size()), &number) &&
        request_.steps[s].inputs[number].view.has_value() && member != ".data_type";
    return has_view ? absl::StrCat(input, ".view", member) : std::string(input);
  }

  void CheckOutputs() {
    const auto count = static_cast<uint32_t>(request_.steps.size());
    if (request_.outputs.empty()) {
      outputs_ = {count - 1};
    }
    std::vector<bool> is_output(count);
    for (size_t i = 0; i < request_.outputs.size(); ++i) {
      const uint32_t step = request_.outputs[i];
      const std::string field = absl::StrCat("outputs[", i, "].step");
      if (step >= count) {
        violations_.Add(field, "There is no step ", step, "; the sequence has ", count, ".");
        are_references_sound_ = false;
        continue;
      }
      if (is_output[step]) violations_.Add(field, "Step ", step, " is an output more than once.");
      is_output[step] = true;
      outputs_.push_back(step);
    }
    for (const uint32_t step : outputs_) is_step_used_[step] = true;
  }

  void CheckAllUsed() {
    for (size_t i = 0; i < is_input_used_.size(); ++i) {
      if (is_input_used_[i]) continue;
      violations_.Add(absl::StrCat("inputs[", i, "]"), "No step uses the input.");
    }
    for (size_t s = 0; s < is_step_used_.size(); ++s) {
      if (is_step_used_[s]) continue;
      violations_.Add(absl::StrCat("steps[", s, "]"),
                      "The result of the step is no output, and no later step uses it.");
    }
  }

  SequenceValidationResult Finish() {
    SequenceValidationResult result;
    result.violations = violations_.Take();
    result.unknown_operator = unknown_operator_;
    if (result.violations.empty()) result.sequence = MakeSequence();
    return result;
  }

  std::shared_ptr<const SequenceInvocation> MakeSequence() {
    auto sequence = std::make_shared<SequenceInvocation>();
    for (const std::optional<TensorDesc>& input : inputs_) {
      sequence->input_bytes.push_back(*ExactSizeInBytes(*input));
    }
    sequence->steps = std::move(steps_);
    sequence->outputs = std::move(outputs_);
    CompleteSequence(*sequence);
    return sequence;
  }

  const SequenceRequest& request_;
  const SequenceLimits& limits_;
  ViolationList violations_;
  absl::string_view unknown_operator_;
  // Per input: its descriptor if nothing is wrong with it.
  std::vector<std::optional<TensorDesc>> inputs_;
  std::vector<bool> is_input_used_;
  // Per step; without a call where something is wrong with it.
  std::vector<SequenceStep> steps_;
  std::vector<bool> is_step_used_;
  std::vector<uint32_t> outputs_;
  bool are_references_sound_ = true;
};

}  // namespace

SequenceValidationResult ValidateSequence(const SequenceRequest& request,
                                          const SequenceLimits& limits) {
  return SequenceValidation(request, limits).Run();
}

}  // namespace opserve
