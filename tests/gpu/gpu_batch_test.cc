// Batches on a Direct3D 12 device: every call gets its own answer, whatever its mates are; one
// submission; faults; threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/attribute_settings.h"
#include "proto/base/mutex.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;

// Around words, thread groups; and none a multiple of the other.
constexpr uint32_t kSizes[] = {1, 5000, 2, 3,  257, 4,  5,  7,   1025,
                               8, 9,    1, 15, 16,  17, 33, 255, 256};

class GpuBatchConformanceTest : public GpuTest, public ::testing::WithParamInterface<Cell> {
 protected:
  const Cell& cell() const { return GetParam(); }

  void Add(int setting, const Layout& layout, std::vector<Example>& batch) {
    const std::shared_ptr<const Invocation> call = MakeCall(cell(), setting, layout);
    ASSERT_NE(call, nullptr);
    // Some layouts are packed where they are small.
    if (!batch.empty() && batch[0].call->plan.is_packed() != call->plan.is_packed()) return;
    batch.push_back(MakeExample(call, random_));
  }

  std::mt19937_64 random_{20261120};
};

TEST_P(GpuBatchConformanceTest, Packed) {
  if (!CanBePacked(*cell().op)) return;
  for (int setting = 0; setting < PlainSettingCount(*cell().op); ++setting) {
    std::vector<Example> batch;
    for (uint32_t size : kSizes) Add(setting, testing::Packed(size), batch);
    ASSERT_EQ(batch.size(), std::size(kSizes));
    const absl::Status status = RunBatch(device(), batch);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(GpuBatchConformanceTest, Strided) {
  for (int setting = 0; setting < PlainSettingCount(*cell().op); ++setting) {
    std::vector<Example> batch;
    Add(setting, {"strided", {7}, {{2}, {3}, {2}, {2}}}, batch);
    Add(setting, {"interleaved", {2, 3}, {{}, {}, {}, {3, 2}}}, batch);
    for (uint32_t size : {1u, 7u, 33u, 300u}) {
      for (const Layout& layout : LayoutsOf(size)) Add(setting, layout, batch);
    }
    EXPECT_GT(batch.size(), 30u);
    const absl::Status status = RunBatch(device(), batch);
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(AllWidths, GpuBatchConformanceTest,
                         ::testing::ValuesIn(CellsOfEachWidth()),
                         [](const auto& instance) { return instance.param.name(); });

class GpuBatchTest : public GpuTest {};

std::vector<Example> PackedBatch(size_t count, uint32_t largest, uint64_t seed) {
  std::vector<Example> batch;
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(MakeExample(static_cast<uint32_t>(1 + (i * 997 + seed) % largest), seed + i));
  }
  return batch;
}

std::vector<Example> StridedBatch(size_t count, uint32_t largest, uint64_t seed) {
  std::vector<Example> batch;
  for (size_t i = 0; i < count; ++i) {
    batch.push_back(
        MakeStridedExample(static_cast<uint32_t>(2 + (i * 997 + seed) % largest), seed + i));
  }
  return batch;
}

TEST_F(GpuBatchTest, ThreeHundredCalls) {
  for (const auto& batch : {PackedBatch(300, 3000, 1), StridedBatch(300, 300, 2)}) {
    const absl::Status status = RunBatch(device(), batch);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(GpuBatchTest, IsOneSubmission) {
  for (const auto& batch : {PackedBatch(50, 3000, 1), StridedBatch(50, 300, 2)}) {
    EXPECT_EQ(PassesOf("->Signal", [&] { return RunBatch(device(), batch); }), 1);
  }
}

// Whatever would be made fails. The last batch is larger than the staging memory.
TEST_F(GpuBatchTest, WarmBatchesAllocateNothing) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.staging_bytes = 1 << 16});
  ASSERT_NE(device, nullptr);
  for (const auto& batch :
       {PackedBatch(20, 1000, 1), StridedBatch(20, 100, 2), PackedBatch(20, 20000, 3)}) {
    ASSERT_TRUE(RunBatch(*device, batch).ok());
    FailingCall fault("Create", kOutOfMemory);
    d3d12::ScopedFaultInjector injector(fault);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(RunBatch(*device, batch).ok());
    EXPECT_EQ(fault.failures, 0);
  }
}

TEST_F(GpuBatchTest, HalfABatchMayFitWhereTheWholeDoesNot) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.memory_budget = 1 << 20});
  ASSERT_NE(device, nullptr);
  std::vector<Example> batch = PackedBatch(40, 20000, 1);
  EXPECT_EQ(RunBatch(*device, batch).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LE(device->pooled_bytes(), uint64_t{1} << 20);
  batch.resize(20);
  const absl::Status status = RunBatch(*device, batch);
  EXPECT_TRUE(status.ok()) << status;
}

// Whatever of a submission runs out of memory, the device works on.
TEST_F(GpuBatchTest, ShortMemoryIsNoLoss) {
  const std::vector<Example> batch = PackedBatch(20, 3000, 1);
  for (const char* call : {"CreateCommittedResource", "CreateComputePipelineState",
                           "CreateCommandAllocator", "allocator->Reset", "list->Reset", "Close"}) {
    const std::unique_ptr<D3D12Device> device = MakeDevice();
    ASSERT_NE(device, nullptr);
    FailingCall fault(call, kOutOfMemory);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(RunBatch(*device, batch).code(), absl::StatusCode::kResourceExhausted) << call;
    fault.armed = false;
    const absl::Status status = RunBatch(*device, batch);
    EXPECT_TRUE(status.ok()) << call << ": " << status;
  }
}

TEST_F(GpuBatchTest, LossIsForEver) {
  for (const char* call : {"CreateCommittedResource", "allocator->Reset", "Close", "->Signal"}) {
    const std::unique_ptr<D3D12Device> device = MakeDevice();
    ASSERT_NE(device, nullptr);
    const std::vector<Example> batch = PackedBatch(20, 3000, 1);
    FailingCall fault(call, kDeviceRemoved);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(RunBatch(*device, batch).code(), absl::StatusCode::kUnavailable) << call;
    fault.armed = false;
    EXPECT_EQ(RunBatch(*device, batch).code(), absl::StatusCode::kUnavailable) << call;
    EXPECT_EQ(device->status().code(), absl::StatusCode::kUnavailable) << call;
  }
}

// Holds the first submission back until a second batch is uploaded and about to be recorded.
class SecondUploadFirst final : public d3d12::FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view call) override {
    const std::string text(call);
    const bool is_recording = text.find("allocator->Reset") != std::string::npos;
    const bool is_submission = text.find("->Signal") != std::string::npos;
    MutexLock lock(mutex_);
    if (is_recording) ++recordings_;
    changed_.notify_all();
    if (is_submission && !has_submitted_) {
      has_submitted_ = true;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (recordings_ < 2 && changed_.wait_until(mutex_, deadline) != std::cv_status::timeout) {
      }
      overlapped_ = recordings_ >= 2;
    }
    return std::nullopt;
  }

  bool overlapped() const {
    MutexLock lock(mutex_);
    return overlapped_;
  }

 private:
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  int recordings_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_submitted_ ABSL_GUARDED_BY(mutex_) = false;
  bool overlapped_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST_F(GpuBatchTest, OneBatchIsUploadedWhileAnotherRuns) {
  SecondUploadFirst order;
  d3d12::ScopedFaultInjector injector(order);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([this, t] {
      const absl::Status status = RunBatch(device(), PackedBatch(20, 3000, t));
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(order.overlapped());
}

TEST_F(GpuBatchTest, ThreadsShareADevice) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        const uint64_t seed = t * 100 + i;
        const absl::Status status =
            RunBatch(device(), (t + i) % 2 == 0 ? PackedBatch(1 + seed % 30, 3000, seed)
                                                : StridedBatch(1 + seed % 30, 300, seed));
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace opserve::testing
