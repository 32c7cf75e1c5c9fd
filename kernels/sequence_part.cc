#include "kernels/sequence_part.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/flat_part.h"
#include "kernels/sequence_plan.h"

namespace opserve {
namespace {

using Kind = TensorSource::Kind;

// Calls visit(input number, source) for every input of a step that is of this kind.
template <class Visit>
void ForEachSource(const SequenceStep& step, Kind kind, const Visit& visit) {
  for (int i = 0; i + 1 < step.call->plan.tensor_count; ++i) {
    if (step.sources[i].kind == kind) visit(i, step.sources[i].index);
  }
}

// Why step `s` cannot be computed with the others, apart from how it uses inputs of the sequence.
std::string WhyStepIsNotInOrder(const SequenceInvocation& sequence, uint32_t s) {
  const Invocation& call = sequence.call(s);
  if (!IsInOrder(call)) {
    return absl::StrCat("the elements of step ", s,
                        " are not computed one by one in the order in which they come");
  }
  const uint64_t elements = sequence.call(sequence.outputs[0]).plan.element_count;
  if (call.plan.element_count != elements) {
    return absl::StrCat("step ", s, " computes ", call.plan.element_count,
                        " elements, and the result has ", elements);
  }
  std::string why;
  ForEachSource(sequence.steps[s], Kind::kStep, [&](int input, uint32_t source) {
    if (RunsAlong(call, input)) return;
    why = absl::StrCat("step ", s, " reads the result of step ", source,
                       " in another order than that in which it comes");
  });
  return why;
}

}  // namespace

std::string WhyNotInOrder(const SequenceInvocation& sequence) {
  // Per input: whether it runs along, once a step has used it.
  std::vector<std::optional<bool>> runs_along(sequence.input_bytes.size());
  for (uint32_t s = 0; s < sequence.steps.size(); ++s) {
    std::string why = WhyStepIsNotInOrder(sequence, s);
    ForEachSource(sequence.steps[s], Kind::kInput, [&](int input, uint32_t source) {
      const Invocation& call = sequence.call(s);
      const bool is_along = RunsAlong(call, input);
      if (is_along && call.input_bytes[input] != sequence.input_bytes[source]) {
        why = absl::StrCat("step ", s, " reads only a part of input ", source);
      }
      if (runs_along[source].value_or(is_along) != is_along) {
        why = absl::StrCat("step ", s, " reads input ", source,
                           " in another order than a step before it");
      }
      runs_along[source] = is_along;
    });
    if (!why.empty()) return why;
  }
  return {};
}

std::vector<RepeatedInput> RepeatedInputsOf(const SequenceInvocation& sequence) {
  std::vector<RepeatedInput> repeated;
  for (uint32_t s = 0; s < sequence.steps.size(); ++s) {
    ForEachSource(sequence.steps[s], Kind::kInput, [&](int input, uint32_t source) {
      if (!RunsAlong(sequence.call(s), input)) repeated.push_back({s, input, source});
    });
  }
  return repeated;
}

uint64_t EvenStretch(const SequenceInvocation& sequence, uint64_t most) {
  const auto has_several_loops = [](const SequenceStep& step) {
    return step.call->plan.loop_count > 1;
  };
  // Any stretch of a step with one loop is one.
  if (std::none_of(sequence.steps.begin(), sequence.steps.end(), has_several_loops)) {
    return EvenStretch(sequence.call(0), most);
  }
  // Each step may shorten it for those before.
  for (uint64_t before = 0; before != most;) {
    before = most;
    for (const SequenceStep& step : sequence.steps) {
      if (has_several_loops(step)) most = EvenStretch(*step.call, most);
    }
  }
  return most;
}

SequenceInvocation PartOf(const SequenceInvocation& sequence, uint64_t elements) {
  SequenceInvocation part;
  part.input_bytes.resize(sequence.input_bytes.size());
  part.outputs = sequence.outputs;
  for (const SequenceStep& whole : sequence.steps) {
    SequenceStep step = {std::make_shared<const Invocation>(PartOf(*whole.call, elements)),
                         whole.sources};
    ForEachSource(whole, Kind::kInput, [&](int input, uint32_t source) {
      const uint64_t bytes = step.call->input_bytes[input];
      if (RunsAlong(*whole.call, input)) {
        part.input_bytes[source] = bytes;
      } else {
        step.sources[input].index = static_cast<uint32_t>(part.input_bytes.size());
        part.input_bytes.push_back(bytes);
      }
    });
    part.steps.push_back(std::move(step));
  }
  CompleteSequence(part);
  return part;
}

}  // namespace opserve
