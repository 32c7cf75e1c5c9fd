// How bytes get to kernels and back: by copies, in one queue or three, or directly, and large
// batches in parts. Whatever the way, results are the same, and nothing comes out of a part that
// was not carried out.

#include <gmock/gmock.h>
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
using ::testing::AnyOf;

constexpr uint32_t kMi = uint32_t{1} << 20;
constexpr std::byte kUnwritten{0x5A};

// Around words and thread groups.
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
  if (!CanBePacked(*GetParam().op)) return;
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
  // Command lists of a part of several.
  static int ListsPerPart() { return GetParam() == TransferWay::kCopyQueues ? 3 : 1; }
  // So far apart are command lists that are each of another queue, and reach each part.
  static int Stride() { return ListsPerPart() == 1 ? 1 : 2; }
  // Command lists of which `device` makes the batch.
  static int ListsOf(D3D12Device& device, const std::vector<Example>& batch) {
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
  EXPECT_EQ(ListsOf(*device, Large()), kLargeParts * ListsPerPart());
}

TEST_P(GpuTransfersTest, LargeBatchesRunInParts) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  std::vector<Example> batch;
  for (uint64_t seed = 0; seed < 40; ++seed) batch.push_back(MakeIf(60001, seed));
  EXPECT_EQ(ListsOf(*device, batch), 3 * ListsPerPart());
  batch.clear();
  for (const uint32_t count : {1000u, 2 * kMi, 77u}) batch.push_back(MakeIf(count, count));
  EXPECT_EQ(ListsOf(*device, batch), 4 * ListsPerPart());
  batch.resize(1);
  EXPECT_EQ(ListsOf(*device, batch), 1);
}

// Large batches beside each other, and small ones between their parts.
TEST_P(GpuTransfersTest, ThreadsShareTheQueues) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  const Example small = MakeIf(1000, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < (t < 2 ? 2 : 30); ++i) {
        const absl::Status status = t < 2 ? RunBatch(*device, Large()) : RunExample(*device, small);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
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

// Whichever of its lists it is: its elements stay as they were, and all others are right, or as
// they were.
TEST_P(GpuTransfersTest, ADroppedPartReturnsNothing) {
  const Example& example = Large()[0];
  const Example before = MakeIf(kLargeCount, 2);
  for (int list = 0; list < kLargeParts * ListsPerPart(); list += Stride()) {
    SCOPED_TRACE(list);
    const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
    ASSERT_NE(device, nullptr);
    // So that the memory holds results of somebody else.
    ASSERT_TRUE(RunExample(*device, before).ok());
    std::vector<std::byte> output(example.call->output_bytes, kUnwritten);
    const DeviceCall call = CallOf(*example.call, PointersTo(example.inputs), output.data());
    LateFault fault("ExecuteCommandLists", list, 0);
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
  for (int list = 0; list < kLargeParts * ListsPerPart(); list += Stride()) {
    SCOPED_TRACE(list);
    LateFault fault("list->Reset", list, kOutOfMemory);
    d3d12::ScopedFaultInjector injector(fault);
    const bool is_alone = list < ListsPerPart();
    EXPECT_EQ(RunBatch(*device, Large()).code(),
              is_alone ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
  EXPECT_TRUE(RunBatch(*device, Large()).ok());
}

// Also where other parts are under way, and whichever queue tells it.
TEST_P(GpuTransfersTest, ALossInAPartIsALoss) {
  const auto expect_losses = [&](const char* word, int calls) {
    SCOPED_TRACE(word);
    for (int call = 0; call < calls; call += Stride()) {
      const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
      ASSERT_NE(device, nullptr);
      LateFault fault(word, call, kDeviceRemoved);
      d3d12::ScopedFaultInjector injector(fault);
      EXPECT_EQ(RunBatch(*device, Large()).code(), absl::StatusCode::kUnavailable);
      EXPECT_EQ(RunBatch(*device, Large()).code(), absl::StatusCode::kUnavailable);
    }
  };
  expect_losses("->Signal", kLargeParts * ListsPerPart());
  expect_losses("->Wait", kLargeParts * (ListsPerPart() - 1));
}

// A queue that does not wait for another one would read what is not there yet.
TEST_P(GpuTransfersTest, AWaitThatIsNoneIsALoss) {
  constexpr int32_t kNoHostMemory = -1;  // VK_ERROR_OUT_OF_HOST_MEMORY
  // Of the first two lists.
  for (const int list : {0, 1}) {
    SCOPED_TRACE(list);
    const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
    ASSERT_NE(device, nullptr);
    LateFault fault("vk.Semaphore", list, kNoHostMemory);
    d3d12::ScopedFaultInjector injector(fault);
    const bool is_awaited = ListsPerPart() > 1;
    EXPECT_EQ(RunBatch(*device, Large()).code(),
              is_awaited ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk);
  }
}

// Runs a batch of so large calls of which the last element is left open, and one of which it is
// not.
void ExpectOpenElementTold(D3D12Device& device, const std::vector<uint32_t>& counts) {
  const Cell cell = {FindOperator("ACTIVATION_ELU"), DataType::kFloat32, DataType::kFloat32};
  // Half of an odd number of the smallest kind, and of an even one.
  constexpr float kOpen = -0x3p-149f;
  constexpr float kDecided = -0x4p-149f;
  for (const float value : {kDecided, kOpen, kDecided}) {
    std::vector<Invocation> invocations;
    std::vector<std::vector<float>> inputs;
    std::vector<std::vector<float>> outputs;
    for (const uint32_t count : counts) {
      const std::shared_ptr<const Invocation> made = MakeCall(cell, 0, Packed(count));
      ASSERT_NE(made, nullptr);
      invocations.push_back(*made);
      invocations.back().attributes[0] = std::bit_cast<uint32_t>(0.5f);
      inputs.emplace_back(count, kDecided);
      outputs.emplace_back(count);
    }
    inputs.back().back() = value;
    std::vector<DeviceCall> calls;
    for (size_t i = 0; i < counts.size(); ++i) {
      const std::byte* const input[] = {reinterpret_cast<const std::byte*>(inputs[i].data())};
      calls.push_back(
          CallOf(invocations[i], input, reinterpret_cast<std::byte*>(outputs[i].data())));
    }
    const absl::Status status = device.Run(calls);
    EXPECT_EQ(absl::IsOutOfRange(status), value == kOpen) << status;
    EXPECT_EQ(status.ok(), value == kDecided) << status;
    if (value == kDecided) {
      EXPECT_EQ(outputs.back().back(), -0x2p-149f);
    }
  }
}

TEST_P(GpuTransfersTest, AnOpenElementIsTold) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceOf();
  ASSERT_NE(device, nullptr);
  ExpectOpenElementTold(*device, {300});
}

std::string NameOfWay(TransferWay way) {
  if (way == TransferWay::kDirect) return "Direct";
  return way == TransferWay::kCopies ? "Copies" : "CopyQueues";
}

INSTANTIATE_TEST_SUITE_P(EachWay, GpuTransfersTest,
                         ::testing::Values(TransferWay::kCopies, TransferWay::kDirect,
                                           TransferWay::kCopyQueues),
                         [](const auto& instance) { return NameOfWay(instance.param); });

// What goes by them are batches of several parts.
class GpuCopyQueuesTest : public GpuTest {
 protected:
  std::unique_ptr<D3D12Device> MakeDeviceWithThem() {
    return MakeDevice({.transfers = TransferWay::kCopyQueues});
  }
};

TEST_F(GpuCopyQueuesTest, AnOpenElementIsTold) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceWithThem();
  ASSERT_NE(device, nullptr);
  ExpectOpenElementTold(*device, {2 * kMi, 300});
}

// Strided kernels read a plan, and their results may have gaps.
TEST_F(GpuCopyQueuesTest, StridedBatchesGoByThem) {
  const std::unique_ptr<D3D12Device> device = MakeDeviceWithThem();
  ASSERT_NE(device, nullptr);
  std::vector<Example> batch;
  for (uint64_t seed = 0; seed < 2; ++seed) batch.push_back(MakeStridedExample(2 * kMi, seed));
  EXPECT_EQ(PassesOf("ExecuteCommandLists", [&] { return RunBatch(*device, batch); }), 2 * 3);
}

class GpuChosenTransfersTest : public GpuTest {
 protected:
  static int ListsOf(D3D12Device& device, const Example& example) {
    return PassesOf("ExecuteCommandLists", [&] { return RunExample(device, example); });
  }
  // Of a batch of two parts: four times by copies, directly, and by three queues.
  static constexpr int kTrialLists = 4 * 2 * (1 + 1 + 3);
};

TEST_F(GpuChosenTransfersTest, TheFirstLargeBatchRunsEachWay) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.measures_software = true});
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(ListsOf(*device, MakeExample(1000, 1)), 1);
  const Example large = MakeIf(2 * kMi, 1);
  EXPECT_EQ(ListsOf(*device, large), kTrialLists);
  EXPECT_THAT(ListsOf(*device, large), AnyOf(2, 2 * 3));
}

// The other ways are measured.
TEST_F(GpuChosenTransfersTest, AnAdapterMayHaveNoQueuesForCopies) {
  LateFault fault("CreateCommandQueue", 1, kInvalidArgument);
  std::unique_ptr<D3D12Device> device;
  {
    d3d12::ScopedFaultInjector injector(fault);
    device = MakeDevice({.measures_software = true});
  }
  ASSERT_NE(device, nullptr);
  const Example large = MakeIf(2 * kMi, 1);
  EXPECT_EQ(ListsOf(*device, large), 4 * 2 * (1 + 1));
  EXPECT_EQ(ListsOf(*device, large), 2);
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
  EXPECT_EQ(ListsOf(*device, large), kTrialLists);
}

}  // namespace
}  // namespace opserve::testing
