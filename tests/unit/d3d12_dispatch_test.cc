// Layout of calls on the device. The device checks no bounds, so a model of what kernels touch is
// held against the buffers, byte by byte, for calls of every operator, type and layout.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "server/d3d12/dispatch.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/dispatch_model.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::AllCells;
using opserve::testing::Cell;
using opserve::testing::FirstOutOfBounds;
using opserve::testing::Layout;
using opserve::testing::LayoutsOf;
using opserve::testing::MakeCall;
using opserve::testing::Packed;
using ::testing::ElementsAre;

constexpr uint64_t kNoLimit = uint64_t{1} << 40;

void CheckBounds(const Invocation& call) {
  const auto dispatch = LayOut(call, kNoLimit);
  ASSERT_TRUE(dispatch.ok()) << dispatch.status();
  EXPECT_EQ(FirstOutOfBounds(call, *dispatch), "");
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
  std::array<uint32_t, kPlanBytes / 4> plan;
  WritePlan(*call, *dispatch, reinterpret_cast<std::byte*>(plan.data()));
  // Size, stride of the output, stride of the input.
  EXPECT_THAT(std::span(plan).subspan(0, 3), ElementsAre(2, 5, 3));
  EXPECT_THAT(std::span(plan).subspan(8, 3), ElementsAre(3, 1, 1));
  EXPECT_EQ(dispatch->loop_count, 2u);
}

// The model itself must see what is wrong.
TEST(DispatchModelTest, SeesWhatIsOutOfBounds) {
  for (const Layout& layout : {Packed(1000), LayoutsOf(1000)[5]}) {
    const auto call = RoundCall(layout);
    const auto good = LayOut(*call, kNoLimit);
    ASSERT_TRUE(good.ok());
    EXPECT_EQ(FirstOutOfBounds(*call, *good), "");
    Dispatch more_blocks = *good;
    more_blocks.block_count += 1024;
    EXPECT_NE(FirstOutOfBounds(*call, more_blocks), "");
    Dispatch short_output = *good;
    short_output.output_buffer_bytes -= 4;
    EXPECT_NE(FirstOutOfBounds(*call, short_output), "");
    Dispatch short_input = *good;
    short_input.plan_offset -= kTensorAlignment;
    EXPECT_NE(FirstOutOfBounds(*call, short_input), "");
    Dispatch misplaced = *good;
    misplaced.input_offsets[0] += 4;
    EXPECT_NE(FirstOutOfBounds(*call, misplaced), "");
  }
}

}  // namespace
}  // namespace opserve::d3d12
