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

std::vector<Loop> LoopsOf(std::span<const TensorDesc> tensors) {
  std::vector<Loop> loops;
  const TensorDesc& output = tensors.back();
  for (int d = 0; d < output.dimension_count; ++d) {
    if (output.sizes[d] == 1) continue;
    Loop loop = {.size = output.sizes[d]};
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].data_type != DataType::kUnknown) loop.strides[t] = tensors[t].strides[d];
    }
    loops.push_back(loop);
  }
  return loops;
}

// The nest of a call on single elements.
Loop SingleIteration(std::span<const TensorDesc> tensors) {
  Loop loop;
  for (size_t t = 0; t < tensors.size(); ++t) {
    loop.strides[t] = tensors[t].data_type == DataType::kUnknown ? 0 : 1;
  }
  return loop;
}

}  // namespace

bool Plan::is_packed() const {
  if (loop_count != 1) return false;
  for (int t = 0; t < tensor_count; ++t) {
    if (strides[t][0] != 1) return false;
  }
  return true;
}

Plan MakePlan(std::span<const TensorDesc> tensors) {
  const size_t output = tensors.size() - 1;
  std::vector<Loop> loops = LoopsOf(tensors);
  std::stable_sort(loops.begin(), loops.end(), [output](const Loop& a, const Loop& b) {
    return a.strides[output] > b.strides[output];
  });

  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && RunsOn(merged.back(), loop)) {
      merged.back().size *= loop.size;
      merged.back().strides = loop.strides;
    } else {
      merged.push_back(loop);
    }
  }
  if (merged.empty()) merged.push_back(SingleIteration(tensors));

  Plan plan;
  plan.loop_count = static_cast<int>(merged.size());
  plan.tensor_count = static_cast<int>(tensors.size());
  plan.element_count = 1;
  uint64_t last_offset = 0;
  for (size_t l = 0; l < merged.size(); ++l) {
    plan.sizes[l] = merged[l].size;
    plan.element_count *= merged[l].size;
    last_offset += (merged[l].size - 1) * merged[l].strides[output];
    for (size_t t = 0; t < tensors.size(); ++t) plan.strides[t][l] = merged[l].strides[t];
  }
  plan.output_has_gaps = last_offset + 1 != plan.element_count;
  return plan;
}

}  // namespace opserve
