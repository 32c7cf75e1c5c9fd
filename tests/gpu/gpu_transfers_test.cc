// How bytes get to kernels and back: by copies or directly, and large batches in parts. Whatever
// the way, results are the same, and nothing comes out of a part that was not carried out.

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/d3d12/batch_parts.h"
#include "server/d3d12/transfer_way.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using d3d12::TransferWay;

constexpr uint32_t kMi = uint32_t{1} << 20;
constexpr std::byte kUnwritten{0x5A};

// Around words, blocks of 16 bytes, thread groups.
constexpr uint32_t kSizes[] = {1, 5000, 2, 3, 257, 4, 5, 7, 1025, 8, 9, 15, 16, 17, 33, 255, 256};

class GpuDirectConformanceTest : public GpuTest, public ::testing::WithParamInterface<Cell> {
 protected:
  static void SetUpTestSuite() { device_ = nullptr; }
  static void TearDownTestSuite() { device_ = nullptr; }
  D3D12Device* Direct() {
    if (device_ == nullptr) device_ = MakeDevice({.transfers = TransferWay::kDirect});
    return device_.get();
  }

  static std::unique_ptr<D3D12Device> device_;
};

std::unique_ptr<D3D12Device> GpuDirectConformanceTest::device_;

TEST_P(GpuDirectConformanceTest, AloneAndTogether) {
  ASSERT_NE(Direct(), nullptr);
  std::mt19937_64 random(1);
  std::vector<Example> batch;
  for (const uint32_t size : kSizes) {
    const std::shared_ptr<const Invocation> call = MakeCall(GetParam(), 0, Packed(size));
    ASSERT_NE(call, nullptr);
    batch.push_back(MakeExample(call, random));
    const absl::Status status = RunExample(*Direct(), batch.back());
    EXPECT_TRUE(status.ok()) << status;
  }
  const absl::Status status = RunBatch(*Direct(), batch);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(Direct()->pooled_bytes(), uint64_t{64} << 10);  // at most the word of open elements
}

INSTANTIATE_TEST_SUITE_P(AllWidths, GpuDirectConformanceTest,
                         ::testing::ValuesIn(CellsOfEachWidth()),
                         [](const auto& instance) { return instance.param.name(); });

// Of `count` elements, 9 bytes of inputs and 4 of results each.
Example MakeIf(uint32_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  return MakeExample(
      MakeCall({FindOperator("ELEMENT_WISE_IF"), DataType::kFloat32, DataType::kFloat32}, 0,
               Packed(count)),
      random);
}

class GpuTransfersTest : public GpuTest, public ::testing::WithParamInterface<TransferWay> {
 protected:
  std::unique_ptr<D3D12Device> MakeDeviceOf(d3d12::DeviceOptions options = {}) {
    options.transfers = GetParam();
    return MakeDevice(options);
  }
  // Submissions of which `device` makes the batch.
  static int SubmissionsOf(D3D12Device& device, const std::vector<Example>& batch) {
    return PassesOf("ExecuteCommandLists", [&] { return RunBatch(device, batch); });
  }

  static const std::vector<Example>& Large() {
    static const auto* const kLarge = new std::vector<Example>([] {
      std::vector<Example> batch;
      batch.push_back(MakeIf(kLargeCount, 1));
      return batch;
    }());
    return *kLarge;
  }
  // Of 24 MiB of inputs, and some.
  static constexpr uint32_t kLargeCount = 2800005;
  static constexpr int kLargeParts = 3;
};

TEST_P(GpuTransfersTest, LargeCallsRunInParts) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(SubmissionsOf(*device, Large()), kLargeParts);
}

TEST_P(GpuTransfersTest, LargeBatchesRunInParts) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  std::vector<Example> batch;
  for (uint64_t seed = 0; seed < 40; ++seed) batch.push_back(MakeIf(60001, seed));
  EXPECT_EQ(SubmissionsOf(*device, batch), 3);
  batch.clear();
  for (const uint32_t count : {1000u, 2 * kMi, 77u}) batch.push_back(MakeIf(count, count));
  EXPECT_EQ(SubmissionsOf(*device, batch), 4);
}

TEST_P(GpuTransfersTest, WarmPartsAllocateNoMemory) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(RunBatch(*device, Large()).ok());
  FailingCall fault("CreateCommittedResource", kOutOfMemory);
  d3d12::ScopedFaultInjector injector(fault);
  ASSERT_TRUE(RunBatch(*device, Large()).ok());
  EXPECT_EQ(fault.failures, 0);
}

// Memory for one part at a time, for which several threads wait.
TEST_P(GpuTransfersTest, ShortMemoryIsShared) {
  const std::unique_ptr<D3D12Device> device =
      MakeDeviceOf({.memory_budget = 24 * kMi, .staging_bytes = 16 * kMi});
  ASSERT_NE(device, nullptr);
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&device, &done] {
      absl::Status status;
      do {
        status = RunBatch(*device, Large());
      } while (absl::IsResourceExhausted(status));
      EXPECT_TRUE(status.ok()) << status;
      if (status.ok()) ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 3);
}

// Lets so many calls whose text has a word pass, and gives one this result.
class LateFault final : public d3d12::FaultInjector {
 public:
  LateFault(std::string word, int passes, int32_t result)
      : word_(std::move(word)), left_(passes), result_(result) {}

  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find(word_) == absl::string_view::npos || --left_ != -1) return std::nullopt;
    return result_;
  }

 private:
  const std::string word_;
  std::atomic<int> left_;
  const int32_t result_;
};

// Whichever it is: its elements stay as they were, and all others are right, or as they were.
TEST_P(GpuTransfersTest, ADroppedPartReturnsNothing) {
  const Example& example = Large()[0];
  const Example before = MakeIf(kLargeCount, 2);
  for (int part = 0; part < kLargeParts; ++part) {
    SCOPED_TRACE(part);
    const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
    ASSERT_NE(device, nullptr);
    // So that the memory holds results of somebody else.
    ASSERT_TRUE(RunExample(*device, before).ok());
    std::vector<std::byte> output(example.call->output_bytes, kUnwritten);
    const DeviceCall call = CallOf(*example.call, PointersTo(example.inputs), output.data());
    LateFault fault("ExecuteCommandLists", part, 0);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(device->Run({&call, 1}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(device->status().code(), absl::StatusCode::kUnavailable);
    size_t unwritten = 0;
    for (size_t i = 0; i < output.size(); i += 4) {
      const bool is_right = std::memcmp(&output[i], &example.expected[i], 4) == 0;
      const bool is_unwritten = output[i] == kUnwritten && output[i + 1] == kUnwritten &&
                                output[i + 2] == kUnwritten && output[i + 3] == kUnwritten;
      ASSERT_TRUE(is_right || is_unwritten) << "at byte " << i;
      if (is_unwritten) ++unwritten;
    }
    EXPECT_GE(unwritten, output.size() / 4 / kLargeParts - 10000);
  }
}

// A part that there is no memory for, while others have some, is tried again; alone it fails.
TEST_P(GpuTransfersTest, AShortageInAPartIsNone) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  for (int part = 1; part < kLargeParts; ++part) {
    LateFault fault("list->Reset", part, kOutOfMemory);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_TRUE(RunBatch(*device, Large()).ok());
  }
  LateFault fault("list->Reset", 0, kOutOfMemory);
  d3d12::ScopedFaultInjector injector(fault);
  EXPECT_EQ(RunBatch(*device, Large()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RunBatch(*device, Large()).ok());
}

// Also where other parts are under way.
TEST_P(GpuTransfersTest, ALossInAPartIsALoss) {
  for (int part = 0; part < kLargeParts; ++part) {
    const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
    ASSERT_NE(device, nullptr);
    LateFault fault("->Signal", part, kDeviceRemoved);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(RunBatch(*device, Large()).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(RunBatch(*device, Large()).code(), absl::StatusCode::kUnavailable);
  }
}

TEST_P(GpuTransfersTest, AnOpenElementIsTold) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  const Cell cell = {FindOperator("ACTIVATION_ELU"), DataType::kFloat32, DataType::kFloat32};
  const std::shared_ptr<const Invocation> made = MakeCall(cell, 0, Packed(300));
  ASSERT_NE(made, nullptr);
  Invocation call = *made;
  call.attributes[0] = std::bit_cast<uint32_t>(0.5f);
  // Half of an odd number of the smallest kind, and of an even one.
  constexpr float kOpen = -0x3p-149f;
  constexpr float kDecided = -0x4p-149f;
  for (const float value : {kDecided, kOpen, kDecided}) {
    std::vector<float> input(300, kDecided);
    input.back() = value;
    std::vector<float> output(300);
    const std::byte* const inputs[] = {reinterpret_cast<const std::byte*>(input.data())};
    const absl::Status status =
        RunOne(*device, call, inputs, reinterpret_cast<std::byte*>(output.data()));
    EXPECT_EQ(absl::IsOutOfRange(status), value == kOpen) << status;
    EXPECT_EQ(status.ok(), value == kDecided) << status;
    if (value == kDecided) {
      EXPECT_EQ(output.back(), -0x2p-149f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(BothWays, GpuTransfersTest,
                         ::testing::Values(TransferWay::kCopies, TransferWay::kDirect),
                         [](const auto& instance) {
                           return instance.param == TransferWay::kDirect ? "Direct" : "Copies";
                         });

class GpuChosenTransfersTest : public GpuTest {
 protected:
  static int SubmissionsOf(D3D12Device& device, const Example& example) {
    return PassesOf("ExecuteCommandLists", [&] { return RunExample(device, example); });
  }
};

TEST_F(GpuChosenTransfersTest, TheFirstLargeBatchRunsBothWays) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.measures_software = true});
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(SubmissionsOf(*device, MakeExample(1000, 1)), 1);
  const Example large = MakeIf(2 * kMi, 1);
  EXPECT_EQ(SubmissionsOf(*device, large), 2 * 2 * 4);
  EXPECT_EQ(SubmissionsOf(*device, large), 2);
}

// What has failed tells nothing of how fast it is.
TEST_F(GpuChosenTransfersTest, AFailureIsNotMeasured) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.measures_software = true});
  ASSERT_NE(device, nullptr);
  const Example large = MakeIf(2 * kMi, 1);
  FailingCall fault("CreateComputePipelineState", kOutOfMemory);
  {
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(RunExample(*device, large).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(SubmissionsOf(*device, large), 2 * 2 * 4);
}

}  // namespace
}  // namespace opserve::testing
