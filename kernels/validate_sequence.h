// File: kernels/validate_sequence.h
//
// Validation of sequences of operators as a whole, before anything runs. Stateless and safe to use
// from any thread.

#ifndef OPSERVE_KERNELS_VALIDATE_SEQUENCE_H_
#define OPSERVE_KERNELS_VALIDATE_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/sequence.h"
#include "kernels/validate.h"

namespace opserve {

// An input of a step as a client sent it; nothing about it is trusted.
struct StepInputView {
  absl::string_view name = {};              // as in TensorDescView
  TensorSource source = {};                 // kAbsent: the client named none
  std::optional<TensorDescView> view = {};  // absent: the layout of the source
};

// A step as a client sent it.
struct SequenceStepView {
  absl::string_view operator_name = {};
  std::vector<AttributeView> attributes = {};
  std::vector<StepInputView> inputs = {};
  std::optional<TensorDescView> output = {};
};

// A sequence as a client sent it. All views must outlive the call of ValidateSequence.
struct SequenceRequest {
  absl::string_view feature_level = {};  // empty: kHighestFeatureLevel
  std::vector<TensorDescView> inputs = {};
  std::vector<SequenceStepView> steps = {};
  std::vector<uint32_t> outputs = {};        // numbers of steps; empty: the last one
  std::vector<uint64_t> payload_bytes = {};  // length of each input's bytes
  // Proto path of each of these lengths; where it is missing: "payloads[i]".
  std::vector<std::string> payload_fields = {};
};

struct SequenceLimits {
  // They hold for each tensor, results that are no outputs included.
  ValidationLimits tensors = {};
  // Most steps.
  size_t max_steps = 64;
};

// The outcome: a sequence exactly if there are no violations.
struct SequenceValidationResult {
  std::shared_ptr<const SequenceInvocation> sequence;
  std::vector<Violation> violations;
  // The first operator whose name is unknown; empty if all are known.
  absl::string_view unknown_operator;
};

// Checks `request` completely: each step by the rules of its operator, where its inputs come from,
// and that every input and every result that is no output is used, because one that is not is a
// mistake. What follows from a violation is not reported again: a step whose input is at fault is
// judged without it. Never throws but for want of memory; bounded in time and memory by the
// request's own size, and by max_steps times what a single call costs.
SequenceValidationResult ValidateSequence(const SequenceRequest& request,
                                          const SequenceLimits& limits);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VALIDATE_SEQUENCE_H_
