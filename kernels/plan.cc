#include "kernels/plan.h"

#include <algorithm>
#include <vector>

namespace opserve {
namespace {

// One loop of the nest, with the stride of every tensor.
struct Loop {
  uint64_t size = 1;
  std::array<uint64_t, kMaxTensors> strides = {};
};

// Whether `inner` continues where one iteration of `outer` ends, for every tensor alike.
bool RunsOn(const Loop& outer, const Loop& inner) {
  for (size_t t = 0; t < outer.strides.size(); ++t) {
    // Cannot overflow: a stride has 32 bits, and a merged size is at most the element count, which
    // is below 2^32 for every validated tensor.
    if (outer.strides[t] != inner.strides[t] * inner.size) return false;
  }
  return true;
}

// The loops over those of the dimensions that have more than one element.
std::vector<Loop> LoopsOf(std::span<const TensorDesc> tensors, uint32_t dimensions) {
  std::vector<Loop> loops;
  const TensorDesc& output = tensors.back();
  for (int d = 0; d < output.dimension_count; ++d) {
    if (output.sizes[d] == 1 || ((dimensions >> d) & 1) == 0) continue;
    Loop loop = {.size = output.sizes[d]};
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].data_type != DataType::kUnknown) loop.strides[t] = tensors[t].strides[d];
    }
    loops.push_back(loop);
  }
  return loops;
}

std::vector<Loop> InOrderOfOutput(std::vector<Loop> loops, size_t output) {
  std::stable_sort(loops.begin(), loops.end(), [output](const Loop& a, const Loop& b) {
    return a.strides[output] > b.strides[output];
  });
  return loops;
}

std::vector<Loop> Merged(const std::vector<Loop>& loops) {
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && RunsOn(merged.back(), loop)) {
      merged.back().size *= loop.size;
      merged.back().strides = loop.strides;
    } else {
      merged.push_back(loop);
    }
  }
  return merged;
}

// The nest of a call on single elements.
Loop SingleIteration(std::span<const TensorDesc> tensors) {
  Loop loop;
  for (size_t t = 0; t < tensors.size(); ++t) {
    loop.strides[t] = tensors[t].data_type == DataType::kUnknown ? 0 : 1;
  }
  return loop;
}

Plan PlanOf(const std::vector<Loop>& loops, std::span<const TensorDesc> tensors) {
  const size_t output = tensors.size() - 1;
  Plan plan;
  plan.loop_count = static_cast<int>(loops.size());
  plan.tensor_count = static_cast<int>(tensors.size());
  plan.element_count = 1;
  uint64_t last_offset = 0;
  for (size_t l = 0; l < loops.size(); ++l) {
    plan.sizes[l] = loops[l].size;
    plan.element_count *= loops[l].size;
    last_offset += (loops[l].size - 1) * loops[l].strides[output];
    for (size_t t = 0; t < tensors.size(); ++t) plan.strides[t][l] = loops[l].strides[t];
  }
  plan.output_has_gaps = last_offset + 1 != plan.element_count;
  return plan;
}

}  // namespace

bool Plan::is_packed() const {
  if (loop_count != 1 || row_begin) return false;
  for (int t = 0; t < tensor_count; ++t) {
    if (strides[t][0] != 1) return false;
  }
  return true;
}

uint64_t Plan::row_count() const { return element_count / row_length(); }

uint64_t Plan::row_length() const {
  uint64_t length = 1;
  for (int l = row_begin.value_or(loop_count); l < loop_count; ++l) length *= sizes[l];
  return length;
}

bool Plan::is_packed_from(int first_loop, int tensor) const {
  uint64_t packed_stride = 1;
  for (int l = loop_count - 1; l >= first_loop; --l) {
    if (strides[tensor][l] != packed_stride) return false;
    packed_stride *= sizes[l];
  }
  return true;
}

Plan MakePlan(std::span<const TensorDesc> tensors) {
  const size_t output = tensors.size() - 1;
  std::vector<Loop> loops = Merged(InOrderOfOutput(LoopsOf(tensors, ~uint32_t{0}), output));
  if (loops.empty()) loops.push_back(SingleIteration(tensors));
  return PlanOf(loops, tensors);
}

Plan MakeRowPlan(std::span<const TensorDesc> tensors, uint32_t row_dimensions) {
  const size_t output = tensors.size() - 1;
  std::vector<Loop> loops = Merged(InOrderOfOutput(LoopsOf(tensors, ~row_dimensions), output));
  const std::vector<Loop> row = Merged(LoopsOf(tensors, row_dimensions));
  if (loops.empty() && row.empty()) loops.push_back(SingleIteration(tensors));
  const auto row_begin = static_cast<int>(loops.size());
  loops.insert(loops.end(), row.begin(), row.end());
  Plan plan = PlanOf(loops, tensors);
  plan.row_begin = row_begin;
  return plan;
}

}  // namespace opserve
