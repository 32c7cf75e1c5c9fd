// What a device does when Windows' Direct3D 12 removes it, hangs, has no memory, or has another
// driver: it notices, everything of it is released, and the next one is made.
// tests/gpu/singleton_d3d12.h has the rules of Windows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/examples.h"
#include "tests/gpu/faulty_vulkan.h"
#include "tests/gpu/singleton_d3d12.h"
#include "tests/gpu/system_runtime.h"
#include "tests/modules/fake_dxcore.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using ::testing::HasSubstr;

class SystemLossTest : public ::testing::Test {
 protected:
  void SetUp() override { RequireSystemRuntime(); }

  // A device that has run something.
  static std::unique_ptr<D3D12Device> MakeWarmDevice(const d3d12::DeviceOptions& options) {
    return WarmedUp(MakeSystemDevice(options));
  }

  // The next device is made, as soon as the lost one is destroyed, and nothing is left of both.
  void ExpectNextDevice(std::unique_ptr<D3D12Device> lost) {
    lost = nullptr;
    const int refusals = SingletonD3D12::refusals();
    EXPECT_NE(MakeWarmDevice({.timeout = kNever}), nullptr);
    EXPECT_EQ(SingletonD3D12::refusals(), refusals);
    ExpectAllReleased();
  }

  void ExpectRemovalAt(SystemCall call) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
    ASSERT_NE(device, nullptr);
    SingletonD3D12::Arm(call, SystemFault::kRemoved);
    const absl::Status status = RunExample(*device, MakeExample(1000, 2));
    EXPECT_EQ(SingletonD3D12::strikes(), 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(MessageOf(status), HasSubstr("DXGI_ERROR_DEVICE_HUNG"));
    EXPECT_EQ(device->status(), status);
    EXPECT_EQ(RunExample(*device, MakeExample(1000, 3)), status);
    ExpectNextDevice(std::move(device));
  }
};

TEST_F(SystemLossTest, AnAdapterHasOneDevice) {
  const std::unique_ptr<D3D12Device> first = MakeWarmDevice({.timeout = kNever});
  const std::unique_ptr<D3D12Device> second = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(SingletonD3D12::devices(), 1);
}

TEST_F(SystemLossTest, RemovedAtASubmission) { ExpectRemovalAt(SystemCall::kExecute); }

TEST_F(SystemLossTest, RemovedAtASignal) { ExpectRemovalAt(SystemCall::kSignal); }

// The call says no more than that the device is removed.
TEST_F(SystemLossTest, TheReasonIsTold) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  SingletonD3D12::Arm(SystemCall::kCreatePipeline, SystemFault::kRemoved);
  const absl::Status status = RunExample(*device, MakeStridedExample(1000, 2));
  EXPECT_EQ(SingletonD3D12::strikes(), 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(status), HasSubstr("DXGI_ERROR_DEVICE_REMOVED"));
  EXPECT_THAT(MessageOf(status), HasSubstr("DXGI_ERROR_DEVICE_HUNG"));
  ExpectNextDevice(std::move(device));
}

TEST_F(SystemLossTest, WhileItIsMade) {
  for (const SystemCall call :
       {SystemCall::kCreateDevice, SystemCall::kCreateQueue, SystemCall::kCreateBuffer}) {
    for (const SystemFault fault : {SystemFault::kRemoved, SystemFault::kNoMemory}) {
      SingletonD3D12::Arm(call, fault);
      EXPECT_FALSE(MakeSystemDevice({}).ok());
      EXPECT_EQ(SingletonD3D12::strikes(), 1);
      ExpectAllReleased();
    }
  }
}

// Some wait for the device, some for staging memory that others hold.
TEST_F(SystemLossTest, AllWhoWaitNotice) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.staging_bytes = 16384, .timeout = kNever});
  ASSERT_NE(device, nullptr);
  SingletonD3D12::Arm(SystemCall::kExecute, SystemFault::kHang);
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&device, &lost, t] {
      const absl::Status status = RunExample(*device, MakeExample(3000, t));
      if (absl::IsUnavailable(status)) ++lost;
    });
  }
  while (SingletonD3D12::strikes() == 0) std::this_thread::yield();
  SingletonD3D12::RemoveHungDevices();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(lost, 1);
  ExpectNextDevice(std::move(device));
}

TEST_F(SystemLossTest, ADeviceThatHangsIsRemoved) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kSoon});
  ASSERT_NE(device, nullptr);
  SingletonD3D12::Arm(SystemCall::kExecute, SystemFault::kHang);
  const absl::Status status = RunExample(*device, MakeExample(1000, 2));
  EXPECT_THAT(MessageOf(status), HasSubstr("has not finished submission"));
  ExpectNextDevice(std::move(device));
}

// Nothing of it may be freed before that, and there can be no other one.
TEST_F(SystemLossTest, WithoutRemoveDeviceItIsThereUntilItsDriverRemovesIt) {
  SingletonD3D12::OfferRemoveDevice(false);
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kSoon});
  ASSERT_NE(device, nullptr);
  SingletonD3D12::Arm(SystemCall::kExecute, SystemFault::kHang);
  EXPECT_TRUE(absl::IsUnavailable(RunExample(*device, MakeExample(1000, 2))));
  device = nullptr;
  EXPECT_EQ(SingletonD3D12::devices(), 1);
  EXPECT_GT(FaultyVulkan::memory_bytes(), 0u);
  SingletonD3D12::RemoveHungDevices();
  ExpectAllReleased();
  ExpectNextDevice(nullptr);
}

TEST_F(SystemLossTest, ADriverIsUpdated) {
  for (const bool has_new_luids : {false, true}) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
    ASSERT_NE(device, nullptr);
    SingletonD3D12::Arm(SystemCall::kExecute, SystemFault::kRemoved);
    EXPECT_TRUE(absl::IsUnavailable(RunExample(*device, MakeExample(1000, 2))));
    FakeDxcoreUpdateDriver(has_new_luids);
    ExpectNextDevice(std::move(device));
  }
}

TEST_F(SystemLossTest, WantOfMemoryIsNoLoss) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  SingletonD3D12::Arm(SystemCall::kCreateBuffer, SystemFault::kNoMemory);
  EXPECT_EQ(RunExample(*device, MakeExample(1000000, 2)).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(SingletonD3D12::strikes(), 1);
  EXPECT_TRUE(RunExample(*device, MakeExample(1000000, 3)).ok());
  ExpectNextDevice(std::move(device));
}

}  // namespace
}  // namespace opserve::testing
