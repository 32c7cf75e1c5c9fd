#include "server/d3d12/dispatch.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {
namespace {

// Groups that one dispatch may have; threads of larger ones take several blocks.
constexpr uint64_t kMaxGroups = 65535;

constexpr uint64_t RoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

size_t OutputIndex(const Plan& plan) { return static_cast<size_t>(plan.tensor_count) - 1; }

// Whether each loop of the output steps over everything that the loops inside it reach.
bool OutputNests(const Plan& plan) {
  const auto& strides = plan.strides[OutputIndex(plan)];
  uint64_t reach = 0;
  for (int l = plan.loop_count - 1; l >= 0; --l) {
    if (strides[l] <= reach) return false;
    reach += (plan.sizes[l] - 1) * strides[l];
  }
  return true;
}

// The strides of the output as the device writes it.
std::array<uint64_t, kMaxDimensionCount> OutputStrides(const Plan& plan, bool is_dense) {
  if (!is_dense) return plan.strides[OutputIndex(plan)];
  std::array<uint64_t, kMaxDimensionCount> strides = {};
  uint64_t stride = 1;
  for (int l = plan.loop_count - 1; l >= 0; --l) {
    strides[l] = stride;
    stride *= plan.sizes[l];
  }
  return strides;
}

// Places the inputs, and the plan after them. `touched_bytes`: what kernels read of input i.
template <class TouchedBytes>
void PlaceInputs(const Invocation& invocation, const TouchedBytes& touched_bytes,
                 Dispatch& dispatch) {
  uint64_t end = 0;
  for (int i = 0; i < TraitsOf(invocation.op).input_count(); ++i) {
    dispatch.input_offsets[i] = end;
    end += RoundUp(std::max<uint64_t>(touched_bytes(i), 1), kTensorAlignment);
  }
  dispatch.plan_offset = end;
  if (dispatch.kernel.layout == hlsl::LayoutClass::kStrided) end += kPlanBytes;
  dispatch.input_buffer_bytes = end;
}

void LayOutPacked(const Invocation& invocation, Dispatch& dispatch, uint64_t& blocks) {
  const OpTraits& op = TraitsOf(invocation.op);
  const uint64_t per_block = hlsl::ElementsPerBlock(op, invocation.lane_type);
  blocks = (invocation.plan.element_count + per_block - 1) / per_block;
  PlaceInputs(
      invocation,
      [&](int i) { return blocks * per_block * SizeOf(invocation.inputs[i].data_type); }, dispatch);
  dispatch.result_bytes = invocation.output_bytes;
  dispatch.output_buffer_bytes = blocks * per_block * SizeOf(invocation.output.data_type);
}

void LayOutStrided(const Invocation& invocation, Dispatch& dispatch, uint64_t& blocks) {
  const OpTraits& op = TraitsOf(invocation.op);
  const uint64_t element = SizeOf(invocation.output.data_type);
  dispatch.is_dense = !OutputNests(invocation.plan);
  dispatch.loop_count = static_cast<uint32_t>(invocation.plan.loop_count);
  // The last word of an input is read as a whole.
  PlaceInputs(
      invocation, [&](int i) { return RoundUp(invocation.input_bytes[i], 4); }, dispatch);
  dispatch.result_bytes =
      dispatch.is_dense ? invocation.plan.element_count * element : invocation.output_bytes;
  const uint64_t per_block = hlsl::SlotsPerWord(op, invocation.lane_type) * element;
  blocks = (dispatch.result_bytes + per_block - 1) / per_block;
  dispatch.output_buffer_bytes = blocks * per_block;
}

}  // namespace

absl::StatusOr<Dispatch> LayOut(const Invocation& invocation, uint64_t max_buffer_bytes) {
  const uint64_t limit = std::min(max_buffer_bytes, kMaxKernelBytes);
  Dispatch dispatch;
  // Payloads have fewer than 2^35 bytes, so nothing below can overflow.
  const bool is_packed = invocation.plan.is_packed();
  dispatch.kernel = {invocation.op, invocation.lane_type, invocation.mode(),
                     is_packed ? hlsl::LayoutClass::kPacked : hlsl::LayoutClass::kStrided};
  uint64_t blocks = 0;
  if (is_packed) {
    LayOutPacked(invocation, dispatch, blocks);
  } else {
    LayOutStrided(invocation, dispatch, blocks);
  }
  const uint64_t largest = std::max(dispatch.input_buffer_bytes, dispatch.output_buffer_bytes);
  if (largest > limit) {
    return absl::UnimplementedError(
        absl::StrCat("A buffer of ", largest, " bytes exceeds the device's limit (", limit, ")."));
  }
  const uint64_t groups = (blocks + hlsl::kThreadsPerGroup - 1) / hlsl::kThreadsPerGroup;
  dispatch.block_count = static_cast<uint32_t>(blocks);
  dispatch.group_count = static_cast<uint32_t>(std::min(groups, kMaxGroups));
  dispatch.thread_count = dispatch.group_count * hlsl::kThreadsPerGroup;
  return dispatch;
}

void WritePlan(const Invocation& invocation, const Dispatch& dispatch, std::byte* to) {
  const Plan& plan = invocation.plan;
  const auto output = OutputStrides(plan, dispatch.is_dense);
  const size_t inputs = OutputIndex(plan);
  for (int l = 0; l < kMaxDimensionCount; ++l) {
    // Size, stride of the output, strides of up to three inputs, padding.
    std::array<uint32_t, 8> row = {};
    if (l < plan.loop_count) {
      row[0] = static_cast<uint32_t>(plan.sizes[l]);
      row[1] = static_cast<uint32_t>(output[l]);
      for (size_t i = 0; i < inputs; ++i) {
        row[2 + i] = static_cast<uint32_t>(plan.strides[i][l]);
      }
    }
    std::memcpy(to + l * sizeof(row), row.data(), sizeof(row));
  }
}

void WriteResult(const Invocation& invocation, const Dispatch& dispatch, const std::byte* from,
                 std::byte* output) {
  if (!dispatch.is_dense) {
    std::memcpy(output, from, invocation.output_bytes);
    return;
  }
  const Plan& plan = invocation.plan;
  const auto& strides = plan.strides[OutputIndex(plan)];
  const size_t element = SizeOf(invocation.output.data_type);
  std::memset(output, 0, invocation.output_bytes);
  std::array<uint64_t, kMaxDimensionCount> index = {};
  for (uint64_t i = 0; i < plan.element_count; ++i) {
    uint64_t offset = 0;
    for (int l = 0; l < plan.loop_count; ++l) offset += index[l] * strides[l];
    std::memcpy(output + offset * element, from + i * element, element);
    for (int l = plan.loop_count - 1; l >= 0 && ++index[l] == plan.sizes[l]; --l) index[l] = 0;
  }
}

}  // namespace opserve::d3d12
