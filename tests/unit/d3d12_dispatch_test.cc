// Layout of calls on the device. The device checks no bounds, so a model of what kernels touch is
// held against the buffers, byte by byte, for calls of every operator, type and layout.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "server/d3d12/dispatch.h"
#include "tests/conformance/call_cases.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::AllCells;
using opserve::testing::Cell;
using opserve::testing::Layout;
using opserve::testing::LayoutsOf;
using opserve::testing::MakeCall;
using opserve::testing::Packed;

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

// A loop as strided kernels read it.
struct PlanRow {
  uint32_t size;
  uint32_t output;
  uint32_t inputs[3];
  uint32_t padding[3];
};

std::vector<PlanRow> ReadPlan(const Invocation& call, const Dispatch& dispatch) {
  std::vector<PlanRow> rows(kMaxDimensionCount);
  static_assert(sizeof(PlanRow) * kMaxDimensionCount == kPlanBytes);
  WritePlan(call, dispatch, reinterpret_cast<std::byte*>(rows.data()));
  rows.resize(dispatch.loop_count);
  return rows;
}

// End of what the kernel reads of input `i`, as an offset in its tensor.
uint64_t EndOfReads(const Invocation& call, const Dispatch& dispatch, int i) {
  const uint64_t size = SizeOf(call.inputs[i].data_type);
  if (dispatch.kernel.layout == hlsl::LayoutClass::kPacked) {
    const uint64_t block = hlsl::ElementsPerBlock(TraitsOf(call.op), call.lane_type) * size;
    // Blocks of fewer bytes than a word are cut out of whole words.
    return (dispatch.block_count * block + 3) / 4 * 4;
  }
  uint64_t last = 0;
  for (const PlanRow& row : ReadPlan(call, dispatch)) {
    last += uint64_t{row.size - 1} * row.inputs[i];
  }
  return (last * size + std::max<uint64_t>(size, 1) + 3) / 4 * 4;
}

void CheckBounds(const Invocation& call) {
  const auto dispatch = LayOut(call, kNoLimit);
  ASSERT_TRUE(dispatch.ok()) << dispatch.status();
  const int inputs = TraitsOf(call.op).input_count();
  const bool is_strided = dispatch->kernel.layout == hlsl::LayoutClass::kStrided;
  for (int i = 0; i < inputs; ++i) {
    const uint64_t end = i + 1 < inputs ? dispatch->input_offsets[i + 1] : dispatch->plan_offset;
    EXPECT_EQ(dispatch->input_offsets[i] % kTensorAlignment, 0u);
    // What is uploaded, and what is read, stays inside the place of the tensor.
    EXPECT_LE(dispatch->input_offsets[i] + call.input_bytes[i], end);
    EXPECT_LE(dispatch->input_offsets[i] + EndOfReads(call, *dispatch, i), end);
  }
  EXPECT_EQ(dispatch->plan_offset % kTensorAlignment, 0u);
  EXPECT_EQ(dispatch->plan_offset + (is_strided ? kPlanBytes : 0), dispatch->input_buffer_bytes);
  // Every block is written by some thread, and no byte after the last one.
  const OpTraits& op = TraitsOf(call.op);
  const uint64_t per_block = is_strided ? hlsl::SlotsPerWord(op, call.lane_type)
                                        : hlsl::ElementsPerBlock(op, call.lane_type);
  EXPECT_EQ(dispatch->block_count * per_block * SizeOf(call.output.data_type),
            dispatch->output_buffer_bytes);
  EXPECT_LE(dispatch->result_bytes, dispatch->output_buffer_bytes);
  EXPECT_GT(dispatch->group_count, 0u);
  EXPECT_EQ(dispatch->thread_count, dispatch->group_count * hlsl::kThreadsPerGroup);
}

TEST(DispatchTest, KernelsStayInBounds) {
  for (const Cell& cell : AllCells()) {
    for (uint32_t size : {1u, 2u, 3u, 5u, 17u, 255u, 4097u}) {
      for (const Layout& layout : LayoutsOf(size)) {
        SCOPED_TRACE(cell.name() + ", " + layout.name + ", size " + std::to_string(size));
        const std::shared_ptr<const Invocation> call = MakeCall(cell, 0, layout);
        ASSERT_NE(call, nullptr);
        CheckBounds(*call);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(DispatchTest, RandomLayoutsStayInBounds) {
  std::mt19937_64 random(1);
  const std::vector<Cell> cells = AllCells();
  for (int i = 0; i < 3000; ++i) {
    Layout layout{"random", {}, std::vector<std::vector<uint32_t>>(4)};
    const size_t dimensions = 1 + random() % 8;
    uint32_t stride = 1;
    for (size_t d = 0; d < dimensions; ++d) layout.sizes.push_back(1 + random() % 4);
    for (int input = 0; input < 3; ++input) {
      for (size_t d = 0; d < dimensions; ++d) {
        layout.strides[input].push_back(static_cast<uint32_t>(random() % 7));
      }
    }
    // An output that does not overlap: each stride steps over what lies inside.
    layout.strides[3].resize(dimensions);
    for (size_t d = dimensions; d-- > 0;) {
      layout.strides[3][d] = stride;
      stride = stride * layout.sizes[d] + static_cast<uint32_t>(random() % 3);
    }
    const auto call = MakeCall(cells[random() % cells.size()], 0, layout);
    ASSERT_NE(call, nullptr);
    CheckBounds(*call);
    if (::testing::Test::HasFailure()) return;
  }
}

std::shared_ptr<const Invocation> RoundCall(const Layout& layout) {
  return MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat32}, 0, layout);
}

TEST(DispatchTest, LargeTensorsAreRefused) {
  const auto call = RoundCall(Packed(1000));
  EXPECT_TRUE(LayOut(*call, 4096).ok());
  EXPECT_EQ(LayOut(*call, 3999).status().code(), absl::StatusCode::kUnimplemented);
  // More than kernels can address in 32 bits, whatever the device can.
  const Cell select = {FindOperator("ELEMENT_WISE_IF"), DataType::kFloat32};
  EXPECT_EQ(LayOut(*MakeCall(select, 0, Packed(1u << 28)), kNoLimit).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(DispatchTest, GroupsAreBounded) {
  const auto dispatch = LayOut(*RoundCall(Packed(1u << 28)), kNoLimit);
  ASSERT_TRUE(dispatch.ok());
  EXPECT_LE(dispatch->group_count, 65535u);
  EXPECT_GT(dispatch->block_count, dispatch->thread_count);
}

// Offsets 0, 2, 4, 3, 5, 7: neither loop lies inside the other.
TEST(DispatchTest, InterleavedOutputsArePutInPlaceByTheHost) {
  const auto call = RoundCall({"interleaved", {2, 3}, {{}, {}, {}, {3, 2}}});
  const auto dispatch = LayOut(*call, kNoLimit);
  ASSERT_TRUE(dispatch.ok());
  EXPECT_TRUE(dispatch->is_dense);
  EXPECT_EQ(dispatch->result_bytes, 24u);
  const uint32_t device[6] = {1, 2, 3, 4, 5, 6};
  std::vector<uint32_t> output(call->output_bytes / 4, 99);
  WriteResult(*call, *dispatch, reinterpret_cast<const std::byte*>(device),
              reinterpret_cast<std::byte*>(output.data()));
  EXPECT_EQ(output, (std::vector<uint32_t>{1, 0, 2, 4, 3, 5, 0, 6}));
}

TEST(DispatchTest, NestedOutputsAreWrittenByTheDevice) {
  const auto call = RoundCall({"padded", {2, 3}, {{}, {}, {}, {5, 1}}});
  const auto dispatch = LayOut(*call, kNoLimit);
  ASSERT_TRUE(dispatch.ok());
  EXPECT_FALSE(dispatch->is_dense);
  EXPECT_EQ(dispatch->result_bytes, call->output_bytes);
  const std::vector<PlanRow> plan = ReadPlan(*call, *dispatch);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].size, 2u);
  EXPECT_EQ(plan[0].output, 5u);
  EXPECT_EQ(plan[0].inputs[0], 3u);
  EXPECT_EQ(plan[1].size, 3u);
  EXPECT_EQ(plan[1].output, 1u);
}

}  // namespace
}  // namespace opserve::d3d12
