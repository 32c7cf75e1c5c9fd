#include "server/execute/run_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "kernels/sequence_part.h"
#include "server/execute/answer_queue.h"

namespace opserve {
namespace {

// While one is computed, one comes and one goes; the fourth makes up for what none of them sees.
constexpr uint64_t kRunsOfWindow = 4;
// More open runs gain nothing, and each takes some memory beside its tensors.
constexpr uint64_t kMostOpenRuns = 64;
// What is sent ahead takes the place of runs: at most this part of a window.
constexpr uint64_t kPartOfWindowAhead = 4;
// Runs that are shorter than this part of what they may be cost more than they gain.
constexpr uint64_t kLeastPartOfRun = 16;

constexpr absl::string_view kOutOfOrder =
    "its elements are not computed one by one in the order in which they come";

// An input that is in a payload.
struct DividedInput {
  size_t payload = 0;
  uint64_t tensor_bytes = 0;
  uint64_t element_bytes = 0;
  // Whether its elements go with those of the result, one by one; else it is repeated.
  bool runs_along = false;
};

// What is to be divided: a call, or a sequence.
struct DividedWork {
  uint64_t element_count = 0;
  std::vector<uint64_t> result_element_bytes = {};
  std::vector<DividedInput> inputs = {};
  // As EvenStretch.
  absl::FunctionRef<uint64_t(uint64_t most)> stretch;
  // What a run of so many elements needs.
  absl::FunctionRef<uint64_t(uint64_t elements)> workspace_bytes;
};

// Sets which payloads come in runs and which ahead. Why they cannot be divided so; empty: they can.
absl::string_view DividePayloads(const DividedWork& work, std::span<const uint64_t> payload_bytes,
                                 const RunOffer& offer, uint64_t window_bytes, RunPlan& plan) {
  plan.element_bytes.resize(payload_bytes.size());
  std::vector<uint64_t> ahead(payload_bytes.size());
  for (const DividedInput& input : work.inputs) {
    const uint64_t bytes = payload_bytes[input.payload];
    if (!input.runs_along) {
      ahead[input.payload] = bytes;
    } else if (bytes == input.tensor_bytes) {
      plan.element_bytes[input.payload] = input.element_bytes;
    } else {
      return "a payload is longer than its tensor";
    }
  }
  // Something has to come in runs.
  if (TotalOf(plan.element_bytes) == 0) return kOutOfOrder;
  const uint64_t ahead_bytes = TotalOf(ahead);
  if (ahead_bytes == 0) return {};
  if (!offer.sends_ahead) return kOutOfOrder;
  if (ahead_bytes > window_bytes / kPartOfWindowAhead) {
    return "what it has to hold of its inputs is more than a quarter of the window";
  }
  plan.ahead = std::move(ahead);
  return {};
}

// Sets how long runs are. False where the loops do not divide so.
bool SetRunLength(const DividedWork& work, const RunOffer& offer, uint64_t room, RunPlan& plan) {
  const uint64_t inputs = TotalOf(plan.element_bytes);
  const uint64_t results = TotalOf(plan.result_element_bytes);
  const uint64_t largest_result = *std::ranges::max_element(plan.result_element_bytes);
  uint64_t most = kStreamPieceBytes / std::max(inputs, largest_result);
  if (offer.run_bytes > 0) most = std::min(most, offer.run_bytes / inputs);
  most = std::min(most, room / kRunsOfWindow / (inputs + results));
  most = std::clamp<uint64_t>(most, 1, plan.element_count);
  for (;; most /= 2) {
    plan.run_elements = work.stretch(most);
    if (plan.run_elements < most / kLeastPartOfRun) return false;
    plan.workspace_bytes = work.workspace_bytes(plan.run_elements);
    const uint64_t wanted = kRunsOfWindow * plan.run_bytes() + plan.workspace_bytes;
    if (most == 1 || wanted <= room) return true;
  }
}

RunDivision Divide(const DividedWork& work, std::span<const uint64_t> payload_bytes,
                   const RunOffer& offer, uint64_t window_bytes) {
  RunPlan plan;
  plan.element_count = work.element_count;
  plan.result_element_bytes = work.result_element_bytes;
  const absl::string_view why = DividePayloads(work, payload_bytes, offer, window_bytes, plan);
  if (!why.empty()) return {.why_whole = std::string(why)};
  uint64_t room = window_bytes - plan.ahead_bytes();
  if (!SetRunLength(work, offer, room, plan)) {
    return {.why_whole = "its loops do not divide into parts of the same length"};
  }
  room -= std::min(room, plan.workspace_bytes);
  plan.max_open_runs = std::clamp<uint64_t>(room / plan.run_bytes(), 1, kMostOpenRuns);
  return {.plan = std::move(plan)};
}

}  // namespace

uint64_t TotalOf(std::span<const uint64_t> bytes) {
  uint64_t total = 0;
  for (const uint64_t each : bytes) total += std::min(each, UINT64_MAX - total);
  return total;
}

uint64_t RunPlan::ElementsOf(uint64_t run) const {
  return std::min(run_elements, element_count - run * run_elements);
}

std::vector<uint64_t> RunPlan::LengthsOf(uint64_t run) const {
  std::vector<uint64_t> lengths = element_bytes;
  const uint64_t elements = ElementsOf(run);
  for (uint64_t& length : lengths) length *= elements;
  return lengths;
}

uint64_t RunPlan::ahead_bytes() const { return TotalOf(ahead); }

uint64_t RunPlan::run_bytes() const {
  return run_elements * (TotalOf(element_bytes) + TotalOf(result_element_bytes));
}

uint64_t RunPlan::bytes() const {
  return ahead_bytes() + run_bytes() / run_elements * element_count;
}

RunDivision PlanRuns(const Invocation& call, std::span<const uint64_t> payload_bytes,
                     const RunOffer& offer, uint64_t window_bytes) {
  if (!IsInOrder(call)) return {.why_whole = std::string(kOutOfOrder)};
  const auto stretch = [&](uint64_t most) { return EvenStretch(call, most); };
  const auto no_workspace = [](uint64_t) { return uint64_t{0}; };
  DividedWork work = {.element_count = call.plan.element_count,
                      .result_element_bytes = {SizeOf(call.output.data_type)},
                      .stretch = stretch,
                      .workspace_bytes = no_workspace};
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] < 0) continue;
    work.inputs.push_back({.payload = static_cast<size_t>(call.payload_index[i]),
                           .tensor_bytes = call.input_bytes[i],
                           .element_bytes = SizeOf(call.inputs[i].data_type),
                           .runs_along = RunsAlong(call, i)});
  }
  return Divide(work, payload_bytes, offer, window_bytes);
}

RunDivision PlanRuns(const SequenceInvocation& sequence, std::span<const uint64_t> payload_bytes,
                     const RunOffer& offer, uint64_t window_bytes) {
  std::string why = WhyNotInOrder(sequence);
  if (!why.empty()) return {.why_whole = std::move(why)};
  const uint64_t count = sequence.call(sequence.outputs[0]).plan.element_count;
  const auto stretch = [&](uint64_t most) { return EvenStretch(sequence, most); };
  const auto workspace_bytes = [&](uint64_t elements) {
    return PartOf(sequence, elements).plan.workspace_bytes;
  };
  DividedWork work = {
      .element_count = count, .stretch = stretch, .workspace_bytes = workspace_bytes};
  for (const uint32_t step : sequence.outputs) {
    work.result_element_bytes.push_back(SizeOf(sequence.call(step).output.data_type));
  }
  for (size_t i = 0; i < sequence.input_bytes.size(); ++i) {
    work.inputs.push_back({.payload = i,
                           .tensor_bytes = sequence.input_bytes[i],
                           .element_bytes = sequence.input_bytes[i] / count,
                           .runs_along = true});
  }
  for (const RepeatedInput& repeated : RepeatedInputsOf(sequence)) {
    work.inputs[repeated.source].runs_along = false;
  }
  return Divide(work, payload_bytes, offer, window_bytes);
}

}  // namespace opserve
