#include "server/execute/run_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/data_type.h"
#include "kernels/flat_part.h"
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

uint64_t TotalOf(const std::vector<uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

// Sets which payloads come in runs and which ahead. Why the call cannot be divided so; empty: it
// can.
absl::string_view DividePayloads(const Invocation& call, std::span<const uint64_t> payload_bytes,
                                 const RunOffer& offer, uint64_t window_bytes, RunPlan& plan) {
  plan.element_bytes.resize(payload_bytes.size());
  std::vector<uint64_t> ahead(payload_bytes.size());
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] < 0) continue;
    const auto payload = static_cast<size_t>(call.payload_index[i]);
    const uint64_t bytes = payload_bytes[payload];
    if (!RunsAlong(call, i)) {
      ahead[payload] = bytes;
    } else if (bytes == call.input_bytes[i]) {
      plan.element_bytes[payload] = SizeOf(call.inputs[i].data_type);
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

}  // namespace

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
  return run_elements * (TotalOf(element_bytes) + result_element_bytes);
}

uint64_t RunPlan::bytes() const {
  return ahead_bytes() + run_bytes() / run_elements * element_count;
}

RunDivision PlanRuns(const Invocation& call, std::span<const uint64_t> payload_bytes,
                     const RunOffer& offer, uint64_t window_bytes) {
  if (!IsInOrder(call)) return {.why_whole = kOutOfOrder};
  RunPlan plan;
  plan.element_count = call.plan.element_count;
  plan.result_element_bytes = SizeOf(call.output.data_type);
  const absl::string_view why = DividePayloads(call, payload_bytes, offer, window_bytes, plan);
  if (!why.empty()) return {.why_whole = why};

  const uint64_t inputs = TotalOf(plan.element_bytes);
  const uint64_t room = window_bytes - plan.ahead_bytes();
  uint64_t most = kStreamPieceBytes / std::max(inputs, plan.result_element_bytes);
  if (offer.run_bytes > 0) most = std::min(most, offer.run_bytes / inputs);
  most = std::min(most, room / kRunsOfWindow / (inputs + plan.result_element_bytes));
  most = std::clamp<uint64_t>(most, 1, plan.element_count);
  plan.run_elements = EvenStretch(call, most);
  if (plan.run_elements < most / kLeastPartOfRun) {
    return {.why_whole = "its loops do not divide into parts of the same length"};
  }
  plan.max_open_runs = std::clamp<uint64_t>(room / plan.run_bytes(), 1, kMostOpenRuns);
  return {.plan = std::move(plan)};
}

}  // namespace opserve
