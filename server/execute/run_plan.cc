#include "server/execute/run_plan.h"

#include <algorithm>
#include <numeric>

#include "kernels/data_type.h"
#include "server/execute/answer_queue.h"

namespace opserve {
namespace {

// While one is computed, one comes and one goes; the fourth makes up for what none of them sees.
constexpr uint64_t kRunsOfWindow = 4;
// More open runs gain nothing, and each takes some memory beside its tensors.
constexpr uint64_t kMostOpenRuns = 64;
// Runs of whole cache lines, whatever the types.
constexpr uint64_t kElementsPerUnit = 64;

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

uint64_t RunPlan::run_bytes() const {
  return run_elements *
         std::accumulate(element_bytes.begin(), element_bytes.end(), result_element_bytes);
}

uint64_t RunPlan::bytes() const { return run_bytes() / run_elements * element_count; }

RunPlan PlanRuns(const Invocation& call, uint64_t wished_bytes, uint64_t window_bytes) {
  RunPlan plan;
  plan.element_count = call.plan.element_count;
  plan.result_element_bytes = SizeOf(call.output.data_type);
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] < 0) continue;
    const auto payload = static_cast<size_t>(call.payload_index[i]);
    plan.element_bytes.resize(std::max(plan.element_bytes.size(), payload + 1));
    plan.element_bytes[payload] = SizeOf(call.inputs[i].data_type);
  }
  // Of one element, since a run has one until here.
  const uint64_t all = plan.run_bytes();
  const uint64_t inputs = all - plan.result_element_bytes;
  uint64_t elements = kStreamPieceBytes / std::max(inputs, plan.result_element_bytes);
  if (wished_bytes > 0) elements = std::min(elements, wished_bytes / inputs);
  elements = std::min(elements, window_bytes / kRunsOfWindow / all);
  if (elements > kElementsPerUnit) elements -= elements % kElementsPerUnit;
  plan.run_elements = std::clamp<uint64_t>(elements, 1, plan.element_count);
  plan.max_open_runs = std::clamp<uint64_t>(window_bytes / plan.run_bytes(), 1, kMostOpenRuns);
  return plan;
}

}  // namespace opserve
