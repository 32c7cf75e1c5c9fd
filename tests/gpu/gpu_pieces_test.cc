// Dispatches that are made in pieces: the results are the same, and commands are as many as what
// the device is expected to take asks for.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "tests/gpu/cells.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using d3d12::DeviceOptions;

// Whatever takes any time at all is made in as many pieces as there can be.
const DeviceOptions kSmallestPieces = {.longest_dispatch = std::chrono::nanoseconds(0)};

class GpuPiecesConformanceTest : public GpuTest, public ::testing::WithParamInterface<Cell> {};

// 4 elements of 8 bits make a block, and 512 blocks a piece.
TEST_P(GpuPiecesConformanceTest, AllLayouts) {
  const std::unique_ptr<D3D12Device> device = MakeDevice(kSmallestPieces);
  ASSERT_NE(device, nullptr);
  std::mt19937_64 random(1);
  for (const Layout& layout : LayoutsOf(8001)) {
    SCOPED_TRACE(layout.name);
    const std::shared_ptr<const Invocation> call = MakeCall(GetParam(), 0, layout);
    ASSERT_NE(call, nullptr);
    std::vector<Example> examples;
    for (int i = 0; i < 2; ++i) examples.push_back(MakeExample(call, random));
    const absl::Status status = RunBatch(*device, examples);
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(AllWidths, GpuPiecesConformanceTest,
                         ::testing::ValuesIn(CellsOfEachWidth()),
                         [](const auto& instance) { return instance.param.name(); });

class GpuPiecesTest : public GpuTest {
 protected:
  // Commands of which `device` makes the dispatch of `example`.
  static int CommandsOf(D3D12Device& device, const Example& example) {
    return PassesOf("list.Dispatch", [&] { return RunExample(device, example); });
  }
};

// 2 elements make a block. Strided pieces but the first one compute half of
// their blocks for the second time.
TEST_F(GpuPiecesTest, PiecesAreAsLongAsTheyMayBe) {
  const std::unique_ptr<D3D12Device> device = MakeDevice(kSmallestPieces);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(CommandsOf(*device, MakeExample(2 * 512, 1)), 1);
  EXPECT_EQ(CommandsOf(*device, MakeExample(2 * 512 + 1, 1)), 2);
  EXPECT_EQ(CommandsOf(*device, MakeExample(2 * 5000, 1)), 10);
  const Example strided = MakeStridedExample(3000, 1);
  const uint64_t blocks = (strided.call->output_bytes + 3) / 4;
  ASSERT_GT(blocks, 1024u);
  const auto pieces = static_cast<int>(1 + (blocks - 512 + 255) / 256);
  EXPECT_EQ(CommandsOf(*device, strided), pieces);
}

// A device whose submissions take a microsecond each, however busy the machine is.
TEST_F(GpuPiecesTest, WhatIsShortIsOneCommand) {
  std::atomic<int> asked = 0;
  const auto microseconds = [&asked] {
    return std::chrono::steady_clock::time_point(std::chrono::microseconds(asked++));
  };
  const std::unique_ptr<D3D12Device> device = MakeDevice({.now = microseconds});
  ASSERT_NE(device, nullptr);
  for (int run = 0; run < 3; ++run) {
    EXPECT_EQ(CommandsOf(*device, MakeExample(100000, 1)), 1);
    EXPECT_EQ(CommandsOf(*device, MakeStridedExample(5000, 1)), 1);
  }
}

// A device whose submissions take a second each, whatever is in them.
TEST_F(GpuPiecesTest, CostsAreLearnt) {
  std::atomic<int> asked = 0;
  const auto seconds = [&asked] {
    return std::chrono::steady_clock::time_point(std::chrono::seconds(asked++));
  };
  const std::unique_ptr<D3D12Device> device = MakeDevice({.now = seconds});
  ASSERT_NE(device, nullptr);
  const Example example = MakeExample(2 * 100000, 1);
  EXPECT_EQ(CommandsOf(*device, example), 1);
  // 50 ms of it are 5000 blocks, of which 4864 make whole groups.
  EXPECT_EQ(CommandsOf(*device, example), 21);
  // Kernels that it has not shown yet are made as before.
  EXPECT_EQ(CommandsOf(*device, MakeStridedExample(1000, 1)), 1);
}

TEST_F(GpuPiecesTest, StepsOfSequences) {
  const std::unique_ptr<D3D12Device> device = MakeDevice(kSmallestPieces);
  ASSERT_NE(device, nullptr);
  constexpr uint32_t kCount = 20000;
  SequenceBuilder builder;
  const TensorSource input = builder.Input({DataType::kFloat32, {kCount}});
  builder.Return(builder.Round(builder.Round(input)));
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  std::vector<float> from(kCount);
  std::vector<float> to(kCount);
  for (uint32_t i = 0; i < kCount; ++i) from[i] = static_cast<float>(i) + 0.25f;
  SequenceCall call = {.sequence = sequence.get()};
  call.inputs.emplace_back(reinterpret_cast<const std::byte*>(from.data()));
  call.outputs.push_back(reinterpret_cast<std::byte*>(to.data()));
  const DeviceCall device_call = {.sequence = &call};
  const absl::Status status = device->Run({&device_call, 1});
  ASSERT_TRUE(status.ok()) << status;
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(to[i], static_cast<float>(i));
}

}  // namespace
}  // namespace opserve::testing
