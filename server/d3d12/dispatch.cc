#include "server/d3d12/dispatch.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "server/d3d12/row_stages.h"
#include "server/device/lane_key.h"

namespace opserve::d3d12 {
namespace {

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

// Bytes of the buffer of inputs and of that of outputs.
struct Extent {
  uint64_t inputs = 0;
  uint64_t outputs = 0;

  uint64_t largest() const { return std::max(inputs, outputs); }
};

// Computes what packed kernels touch of each tensor, for `call` and every other call of its lane.
class PackedArithmetic {
 public:
  explicit PackedArithmetic(const Invocation& call)
      : call_(call),
        op_(TraitsOf(call.op)),
        per_block_(hlsl::ElementsPerBlock(call.output.data_type)) {
    for (int i = 0; i < op_.input_count(); ++i) {
      while (InputBytes(i, blocks_per_word_) % kWordBytes != 0) blocks_per_word_ *= 2;
    }
  }

  int input_count() const { return op_.input_count(); }
  // Blocks of whole words of every tensor, so that no call shares a word with another one.
  uint64_t BlocksOf(const Invocation& call) const {
    return RoundUp((call.plan.element_count + per_block_ - 1) / per_block_, blocks_per_word_);
  }
  // Bytes of `blocks` blocks of an input, and of the output.
  uint64_t InputBytes(int i, uint64_t blocks) const {
    return blocks * per_block_ * SizeOf(call_.inputs[i].data_type);
  }
  uint64_t OutputBytes(uint64_t blocks) const {
    return blocks * per_block_ * SizeOf(call_.output.data_type);
  }
  // Bytes of the area of input `i`.
  uint64_t AreaBytes(int i, uint64_t blocks) const {
    return RoundUp(std::max<uint64_t>(InputBytes(i, blocks), 1), kTensorAlignment);
  }
  Extent ExtentOf(uint64_t blocks) const {
    Extent extent{0, OutputBytes(blocks)};
    for (int i = 0; i < input_count(); ++i) extent.inputs += AreaBytes(i, blocks);
    return extent;
  }

 private:
  const Invocation& call_;
  const OpTraits& op_;
  const uint64_t per_block_;
  uint64_t blocks_per_word_ = 1;
};

// Bytes of the area of input `i` of a strided call, which ends no earlier than the input's last
// word: kernels read whole words.
uint64_t StridedAreaBytes(const Invocation& call, int i) {
  return RoundUp(std::max<uint64_t>(call.input_bytes[i], 1), kTensorAlignment);
}

// Bytes of the result as the device writes it: the output's own layout, or its elements densely.
uint64_t StridedResultBytes(const Invocation& call, bool is_dense) {
  return is_dense ? call.plan.element_count * SizeOf(call.output.data_type) : call.output_bytes;
}

// Bytes that a thread of a strided kernel writes at a time.
uint64_t StridedBlockBytes(const Invocation& call) {
  return hlsl::ElementsPerBlock(call.output.data_type) * SizeOf(call.output.data_type);
}

// Bytes of its whole blocks.
uint64_t StridedOutputBytes(const Invocation& call) {
  return RoundUp(StridedResultBytes(call, !OutputNests(ResultPlan(call))), StridedBlockBytes(call));
}

// Bytes of the records of a call that computes rows.
uint64_t RecordBytes(const Invocation& call) {
  return RoundUp(RecordWords(call) * kWordBytes, kTensorAlignment);
}

Extent StridedExtent(const Invocation& call) {
  Extent extent{kPlanBytes, StridedOutputBytes(call)};
  for (int i = 0; i < TraitsOf(call.op).input_count(); ++i) {
    extent.inputs += StridedAreaBytes(call, i);
  }
  return extent;
}

// The same with the records of a call that computes rows.
Extent StridedExtentAlone(const Invocation& call) {
  Extent extent = StridedExtent(call);
  if (call.plan.row_begin) {
    extent.outputs = RoundUp(extent.outputs, kTensorAlignment) + RecordBytes(call);
  }
  return extent;
}

// What of a call its kernel is told by root constants.
void TellKernel(const Invocation& call, Dispatch& dispatch) {
  dispatch.attributes = call.attributes;
  for (size_t i = 0; i < dispatch.input_types.size(); ++i) {
    dispatch.input_types[i] = call.inputs[i].data_type;
  }
}

void LayOutPacked(std::span<const DeviceCall> calls, BatchLayout& layout) {
  const PackedArithmetic packed(*calls[0].invocation);
  uint64_t blocks = 0;
  for (const DeviceCall& call : calls) blocks += packed.BlocksOf(*call.invocation);
  const Extent extent = packed.ExtentOf(blocks);
  layout.input_buffer_bytes = extent.inputs;
  layout.output_buffer_bytes = extent.outputs;

  Dispatch& dispatch = layout.dispatches.emplace_back();
  for (int i = 0; i < packed.input_count(); ++i) {
    dispatch.bound.inputs[i] = dispatch.bound.plan;
    dispatch.bound.plan += packed.AreaBytes(i, blocks);
  }
  uint64_t first_block = 0;
  for (const DeviceCall& call : calls) {
    CallPlace& place = layout.places.emplace_back();
    place.at = dispatch.bound;
    for (int i = 0; i < packed.input_count(); ++i) {
      place.at.inputs[i] += packed.InputBytes(i, first_block);
    }
    place.at.output += packed.OutputBytes(first_block);
    place.result_bytes = call.invocation->output_bytes;
    first_block += packed.BlocksOf(*call.invocation);
  }
  TellKernel(*calls[0].invocation, dispatch);
  dispatch.block_count = static_cast<uint32_t>(blocks);
}

// Adds a call and its dispatch behind those that are there.
void AddStrided(const Invocation& call, BatchLayout& layout) {
  Dispatch& dispatch = layout.dispatches.emplace_back();
  Offsets& bound = dispatch.bound;
  bound.plan = layout.input_buffer_bytes;
  for (int i = 0; i < TraitsOf(call.op).input_count(); ++i) {
    bound.inputs[i] = bound.plan;
    bound.plan += StridedAreaBytes(call, i);
  }
  bound.output = RoundUp(layout.output_buffer_bytes, kTensorAlignment);
  const bool is_dense = !OutputNests(ResultPlan(call));
  layout.places.push_back({bound, StridedResultBytes(call, is_dense), is_dense});
  const Extent extent = StridedExtent(call);
  layout.input_buffer_bytes += extent.inputs;
  layout.output_buffer_bytes = bound.output + extent.outputs;
  dispatch.loop_count = static_cast<uint32_t>(call.plan.loop_count);
  TellKernel(call, dispatch);
  dispatch.block_count = static_cast<uint32_t>(extent.outputs / StridedBlockBytes(call));
}

// What calls that compute rows, each of which has the dispatch of its result, have before that, and
// their records behind the results.
void AddRowStages(std::span<const DeviceCall> calls, BatchLayout& layout) {
  // By how many there are before them.
  std::vector<std::vector<Dispatch>> stages;
  for (size_t c = 0; c < calls.size(); ++c) {
    const Invocation& call = *calls[c].invocation;
    const Dispatch& result = layout.dispatches[c];
    const uint64_t records = RoundUp(layout.output_buffer_bytes, kTensorAlignment);
    layout.output_buffer_bytes = records + RecordBytes(call);
    const std::vector<RowDispatch> dispatches =
        RowDispatchesOf(call, result.block_count, (records - result.bound.output) / kWordBytes);
    stages.resize(std::max(stages.size(), dispatches.size()));
    for (size_t i = 0; i < dispatches.size(); ++i) {
      Dispatch dispatch = result;
      dispatch.stage = dispatches[i].constants.stage;
      dispatch.attributes = dispatches[i].constants.values();
      dispatch.block_count = static_cast<uint32_t>(dispatches[i].block_count);
      dispatch.cost_per_block = dispatches[i].cost_per_block();
      dispatch.reads_earlier = i > 0 && stages[i].empty();
      stages[i].push_back(dispatch);
    }
  }
  layout.dispatches.clear();
  for (const std::vector<Dispatch>& each : stages) {
    layout.dispatches.insert(layout.dispatches.end(), each.begin(), each.end());
  }
}

// OK if every call is of the lane of the first one, and fits into buffers of `limit` bytes.
absl::Status CheckCalls(std::span<const DeviceCall> calls, uint64_t limit) {
  const Invocation& first = *calls[0].invocation;
  const LaneKey lane = LaneKeyOf(first);
  if (first.scale_bias) return absl::UnimplementedError("GPU kernels take no ScaleBias.");
  if (first.fused_activation) {
    return absl::UnimplementedError("GPU kernels take no FusedActivation.");
  }
  if (TraitsOf(first.op).input_count() > hlsl::kMaxKernelInputs) {
    return absl::UnimplementedError(
        absl::StrCat("GPU kernels take at most ", hlsl::kMaxKernelInputs, " inputs."));
  }
  const PackedArithmetic packed(first);
  for (const DeviceCall& call : calls) {
    if (LaneKeyOf(*call.invocation) != lane) {
      return absl::InternalError("The calls of a batch are of several lanes.");
    }
    const Extent alone = lane.is_packed ? packed.ExtentOf(packed.BlocksOf(*call.invocation))
                                        : StridedExtentAlone(*call.invocation);
    if (alone.largest() > limit) {
      return absl::UnimplementedError(absl::StrCat(
          "A buffer of ", alone.largest(), " bytes exceeds the device's limit (", limit, ")."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BatchLayout> LayOut(std::span<const DeviceCall> calls, uint64_t max_buffer_bytes) {
  const uint64_t limit = std::min(max_buffer_bytes, kMaxKernelBytes);
  // Payloads have fewer than 2^35 bytes, and what follows the check fewer than 2^31 per call, so no
  // sum can overflow.
  if (absl::Status status = CheckCalls(calls, limit); !status.ok()) return status;
  const Invocation& first = *calls[0].invocation;
  BatchLayout layout;
  layout.kernel = {
      first.op, first.lane_type, first.output.data_type, first.mode(),
      first.plan.is_packed() ? hlsl::LayoutClass::kPacked : hlsl::LayoutClass::kStrided};
  layout.places.reserve(calls.size());
  if (first.plan.is_packed()) {
    LayOutPacked(calls, layout);
  } else {
    layout.dispatches.reserve(calls.size());
    for (const DeviceCall& call : calls) AddStrided(*call.invocation, layout);
    if (first.plan.row_begin) AddRowStages(calls, layout);
  }
  const uint64_t largest = std::max(layout.input_buffer_bytes, layout.output_buffer_bytes);
  if (largest > limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("A batch of ", calls.size(), " calls needs a buffer of ", largest,
                     " bytes, which exceeds the device's limit (", limit, ")."));
  }
  const CallPlace& last = layout.places.back();
  layout.result_bytes = last.at.output + last.result_bytes;
  return layout;
}

void WritePlan(const Invocation& invocation, const CallPlace& place, std::byte* to) {
  const Plan plan = ResultPlan(invocation);
  const auto output = OutputStrides(plan, place.is_dense);
  const OpTraits& op = TraitsOf(invocation.op);
  for (int l = 0; l < kMaxDimensionCount; ++l) {
    // Size, stride of the output, strides of up to three inputs; of rows as well the size and the
    // stride of the input of the loop that is there in their order; padding.
    std::array<uint32_t, 8> row = {};
    if (l < plan.loop_count) {
      row[0] = static_cast<uint32_t>(plan.sizes[l]);
      row[1] = static_cast<uint32_t>(output[l]);
      for (int i = 0; i < op.input_count(); ++i) {
        const std::optional<int> position = hlsl::StridePosition(op, i);
        if (position) row[2 + *position] = static_cast<uint32_t>(plan.strides[i][l]);
      }
      if (invocation.plan.row_begin) {
        for (int t = 0; t < hlsl::kMaxStridedInputs; ++t) {
          row[2 + t] = static_cast<uint32_t>(plan.strides[t][l]);
        }
        row[5] = static_cast<uint32_t>(invocation.plan.sizes[l]);
        row[6] = static_cast<uint32_t>(invocation.plan.strides[0][l]);
      }
    }
    std::memcpy(to + l * sizeof(row), row.data(), sizeof(row));
  }
}

void AddInput(const TensorBytes& tensor, uint64_t bytes, std::byte* to, HostCopies& copies) {
  // Kernels compute whole words, and tell of elements that they leave open: of zeros they do not.
  std::memset(to + bytes, 0, RoundUp(bytes, kWordBytes) - bytes);
  tensor.EachPiece(bytes, [&to, &copies](const std::byte* from, uint64_t length) {
    copies.push_back({to, from, length});
    to += length;
  });
}

void WriteInputs(const BatchLayout& layout, size_t index, const DeviceCall& call, std::byte* to,
                 HostCopies& copies) {
  const Invocation& invocation = *call.invocation;
  const CallPlace& place = layout.places[index];
  for (int i = 0; i < TraitsOf(invocation.op).input_count(); ++i) {
    if (call.inputs[i].is_absent()) continue;
    AddInput(call.inputs[i], invocation.input_bytes[i], to + place.at.inputs[i], copies);
  }
  if (layout.kernel.layout == hlsl::LayoutClass::kStrided) {
    WritePlan(invocation, place, to + place.at.plan);
  }
}

void WriteResult(const CallPlace& place, const DeviceCall& call, const std::byte* from,
                 HostCopies& copies) {
  const Invocation& invocation = *call.invocation;
  from += place.at.output;
  if (!place.is_dense) {
    copies.push_back({call.output, from, invocation.output_bytes});
    return;
  }
  const Plan plan = ResultPlan(invocation);
  const auto& strides = plan.strides[OutputIndex(plan)];
  const size_t element = SizeOf(invocation.output.data_type);
  std::memset(call.output, 0, invocation.output_bytes);
  std::array<uint64_t, kMaxDimensionCount> index = {};
  for (uint64_t i = 0; i < plan.element_count; ++i) {
    uint64_t offset = 0;
    for (int l = 0; l < plan.loop_count; ++l) offset += index[l] * strides[l];
    std::memcpy(call.output + offset * element, from + i * element, element);
    for (int l = plan.loop_count - 1; l >= 0 && ++index[l] == plan.sizes[l]; --l) index[l] = 0;
  }
}

}  // namespace opserve::d3d12
