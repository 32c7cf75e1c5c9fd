#include "kernels/sequence_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "kernels/nan_bits.h"

namespace opserve {
namespace {

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Memory of the workspace that is in use, by its first byte.
class Workspace {
 public:
  // The first gap that is large enough. Sums saturate: no sequence of that size is ever admitted.
  uint64_t Take(uint64_t bytes) {
    uint64_t at = 0;
    for (const auto& [begin, end] : used_) {
      if (begin - at >= bytes) break;
      at = end;
    }
    uint64_t end = 0;
    if (__builtin_add_overflow(at, bytes, &end) || end > UINT64_MAX - kWorkspaceAlignment) {
      most_ = UINT64_MAX;
      return at;
    }
    end = (end + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    used_.emplace(at, end);
    most_ = std::max(most_, end);
    return at;
  }
  void Release(uint64_t at) { used_.erase(at); }
  // The most bytes that were in use at a time.
  uint64_t most() const { return most_; }

 private:
  std::map<uint64_t, uint64_t> used_;
  uint64_t most_ = 0;
};

class Planner {
 public:
  Planner(std::span<const SequenceStep> steps, std::span<const uint32_t> outputs)
      : steps_(steps), last_use_(steps.size(), 0), is_output_(steps.size(), false) {
    plan_.results.resize(steps.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      is_output_[outputs[i]] = true;
      plan_.results[outputs[i]] = {ResultPlace::Kind::kOutput, i};
    }
    for (uint32_t s = 0; s < steps.size(); ++s) {
      for (const TensorSource& source : steps[s].sources) {
        if (source.kind == TensorSource::Kind::kStep) last_use_[source.index] = s;
      }
    }
  }

  SequencePlan Make() {
    MakeGroups();
    for (const StepGroup& group : plan_.groups) {
      ReleaseBefore(group.begin);
      for (uint32_t s = group.begin; s < group.end; ++s) {
        if (IsKept(s, group)) Keep(s);
      }
    }
    for (StepGroup& group : plan_.groups) {
      if (group.size() > 1) AssignSlots(group);
    }
    plan_.workspace_bytes = workspace_.most();
    return std::move(plan_);
  }

 private:
  void MakeGroups() {
    for (uint32_t s = 0; s < steps_.size(); ++s) {
      if (!plan_.groups.empty() && Joins(s, plan_.groups.back())) {
        plan_.groups.back().end = s + 1;
      } else {
        plan_.groups.push_back(
            {.begin = s, .end = s + 1, .element_count = steps_[s].call->plan.element_count});
      }
    }
  }

  bool Joins(uint32_t s, const StepGroup& group) const {
    const Plan& plan = steps_[s].call->plan;
    if (group.size() == kMaxGroupSteps) return false;
    if (!IsFlat(plan) || !IsFlat(steps_[group.begin].call->plan)) return false;
    if (plan.element_count != group.element_count) return false;
    for (int i = 0; i + 1 < plan.tensor_count; ++i) {
      const TensorSource& source = steps_[s].sources[i];
      const bool is_of_group =
          source.kind == TensorSource::Kind::kStep && source.index >= group.begin;
      if (is_of_group && plan.strides[i][0] == 0) return false;
    }
    return true;
  }

  // Whether the result must be in the workspace as a whole.
  bool IsKept(uint32_t s, const StepGroup& group) const {
    return !is_output_[s] && (last_use_[s] >= group.end || group.size() == 1);
  }

  void Keep(uint32_t s) {
    const uint64_t at = workspace_.Take(steps_[s].call->output_bytes);
    plan_.results[s] = {ResultPlace::Kind::kWorkspace, at};
    kept_.emplace(last_use_[s], at);
  }

  // Gives up what no step from `begin` on uses.
  void ReleaseBefore(uint32_t begin) {
    const auto end = kept_.lower_bound(begin);
    for (auto it = kept_.begin(); it != end; ++it) workspace_.Release(it->second);
    kept_.erase(kept_.begin(), end);
  }

  // Slots are used again by steps after the last one that reads them: no kernel may overwrite its
  // own input.
  void AssignSlots(StepGroup& group) {
    std::vector<uint32_t> last_readers;
    for (uint32_t s = group.begin; s < group.end; ++s) {
      if (is_output_[s] || last_use_[s] >= group.end) continue;
      auto slot = std::find_if(last_readers.begin(), last_readers.end(),
                               [s](uint32_t reader) { return reader < s; });
      if (slot == last_readers.end()) slot = last_readers.insert(slot, 0);
      *slot = last_use_[s];
      plan_.results[s] = {ResultPlace::Kind::kSlot,
                          static_cast<uint64_t>(std::distance(last_readers.begin(), slot))};
    }
    group.slot_count = static_cast<uint32_t>(last_readers.size());
  }

  const std::span<const SequenceStep> steps_;
  // Per step: the last one that uses its result; 0 if none does.
  std::vector<uint32_t> last_use_;
  std::vector<bool> is_output_;
  Workspace workspace_;
  // First bytes of what is kept, by the last step that uses it.
  std::multimap<uint32_t, uint64_t> kept_;
  SequencePlan plan_;
};

SequenceSize CostSizeOf(const SequenceInvocation& sequence) {
  SequenceSize size = {.steps = sequence.steps.size()};
  for (const uint64_t bytes : sequence.input_bytes) size.edge_bytes += bytes;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) size.edge_bytes += sequence.output_bytes(i);
  for (const SequenceStep& step : sequence.steps) {
    size.step_bytes += step.call->output_bytes;
    for (const uint64_t bytes : step.call->input_bytes) size.step_bytes += bytes;
  }
  return size;
}

}  // namespace

bool IsFlat(const Plan& plan) {
  if (plan.loop_count != 1 || plan.row_begin || plan.tensor_count > kMaxGroupTensors) return false;
  const int output = plan.tensor_count - 1;
  for (int t = 0; t < output; ++t) {
    if (plan.strides[t][0] > 1) return false;
  }
  return plan.strides[output][0] == 1;
}

SequencePlan MakeSequencePlan(std::span<const SequenceStep> steps,
                              std::span<const uint32_t> outputs) {
  return Planner(steps, outputs).Make();
}

void CompleteSequence(SequenceInvocation& sequence) {
  sequence.plan = MakeSequencePlan(sequence.steps, sequence.outputs);
  sequence.shows_nan_bits = ShowsNanBits(sequence.steps);
  uint64_t inputs = 0;
  for (const uint64_t bytes : sequence.input_bytes) inputs = SaturatingAdd(inputs, bytes);
  sequence.total_bytes = inputs;
  for (const SequenceStep& step : sequence.steps) {
    sequence.total_bytes = SaturatingAdd(sequence.total_bytes, step.call->output_bytes);
  }
  sequence.size = CostSizeOf(sequence);
  sequence.held_bytes = SaturatingAdd(inputs, sequence.plan.workspace_bytes);
  for (size_t i = 0; i < sequence.outputs.size(); ++i) {
    sequence.held_bytes = SaturatingAdd(sequence.held_bytes, sequence.output_bytes(i));
  }
}

}  // namespace opserve
