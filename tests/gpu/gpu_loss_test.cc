// What a device does when its Vulkan driver loses it, hangs, has no memory or lies: it notices, all
// who wait for it do, and everything that it had is freed. tests/gpu/faulty_vulkan.h is the driver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/faulty_runtime.h"
#include "tests/gpu/faulty_vulkan.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using ::testing::HasSubstr;

class GpuLossTest : public ::testing::Test {
 protected:
  void SetUp() override { RequireFaultyRuntime(); }

  // A device that has run something.
  static std::unique_ptr<D3D12Device> MakeWarmDevice(const d3d12::DeviceOptions& options) {
    return WarmedUp(MakeFaultyDevice(options));
  }

  // Runs until that fails; what is done at once needs no wait.
  static absl::Status RunUntilItFails(D3D12Device& device) {
    absl::Status status;
    for (uint64_t seed = 2; status.ok(); ++seed) {
      status = RunExample(device, MakeExample(1000, seed));
    }
    return status;
  }

  // It ends with the loss that `function` has told of, and then everything is freed.
  void ExpectLossAt(VulkanCall call, absl::string_view function) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
    ASSERT_NE(device, nullptr);
    FaultyVulkan::Arm(call, VulkanFault::kLost);
    const absl::Status status = RunUntilItFails(*device);
    EXPECT_EQ(FaultyVulkan::strikes(), 1);
    EXPECT_EQ(status, absl::UnavailableError(absl::StrCat("The device is lost: ", function,
                                                          ": VK_ERROR_DEVICE_LOST.")));
    EXPECT_EQ(device->status(), status);
    EXPECT_EQ(RunExample(*device, MakeExample(1000, 3)), status);
    device = nullptr;
    ExpectAllFreed();
  }
};

TEST_F(GpuLossTest, IsNoticedAtASubmission) { ExpectLossAt(VulkanCall::kSubmit, "vkQueueSubmit"); }

TEST_F(GpuLossTest, IsNoticedAtAWait) { ExpectLossAt(VulkanCall::kWait, "vkWaitForFences"); }

TEST_F(GpuLossTest, IsNoticedAtTheStatusOfAFence) {
  ExpectLossAt(VulkanCall::kStatus, "vkGetFenceStatus");
}

// Has a fault strike at the next submission when so many command lists have been submitted.
class ArmedAtList final : public d3d12::FaultInjector {
 public:
  ArmedAtList(int lists, VulkanFault fault) : left_(lists), fault_(fault) {}

  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("ExecuteCommandLists") == absl::string_view::npos || --left_ != -1) {
      return std::nullopt;
    }
    FaultyVulkan::Arm(VulkanCall::kSubmit, fault_);
    is_armed = true;
    return std::nullopt;
  }

  std::atomic<bool> is_armed = false;

 private:
  std::atomic<int> left_;
  const VulkanFault fault_;
};

// Runs in two parts.
Example MakeLargeExample() {
  std::mt19937_64 random(1);
  const Cell cell = {FindOperator("ELEMENT_WISE_IF"), DataType::kFloat32, DataType::kFloat32};
  return MakeExample(MakeCall(cell, 0, Packed(uint32_t{2} << 20)), random);
}

// A batch of two parts, of which the second one is lost on its way up, at its kernel, or on its way
// down.
TEST_F(GpuLossTest, IsNoticedInEachQueue) {
  const Example large = MakeLargeExample();
  for (const VulkanFault fault : {VulkanFault::kLost, VulkanFault::kHang}) {
    for (const int list : {3, 4, 5}) {
      SCOPED_TRACE(list);
      std::unique_ptr<D3D12Device> device =
          MakeWarmDevice({.timeout = kNever, .transfers = d3d12::TransferWay::kCopyQueues});
      ASSERT_NE(device, nullptr);
      ArmedAtList armed(list, fault);
      d3d12::ScopedFaultInjector injector(armed);
      std::thread runner([&] { EXPECT_TRUE(absl::IsUnavailable(RunExample(*device, large))); });
      EXPECT_TRUE(WaitUntil([&] { return armed.is_armed && FaultyVulkan::strikes() == 1; }));
      // Which says that it is lost.
      if (fault == VulkanFault::kHang) FaultyVulkan::ResetHungDevices();
      runner.join();
      device = nullptr;
      ExpectAllFreed();
    }
  }
}

// Has the device hang with the first command list, and no memory to submit the second one.
class ShortageBehindAHang final : public d3d12::FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("ExecuteCommandLists") == absl::string_view::npos) return std::nullopt;
    has_struck = has_list_.load();
    FaultyVulkan::Arm(VulkanCall::kSubmit, has_list_ ? VulkanFault::kNoMemory : VulkanFault::kHang);
    has_list_ = true;
    return std::nullopt;
  }

  std::atomic<bool> has_struck = false;

 private:
  std::atomic<bool> has_list_ = false;
};

// Its memory is not given to others while it may be in use: a part of which no more than the way up
// was submitted ends with that.
TEST_F(GpuLossTest, WhatIsOnItsWayUpIsWaitedFor) {
  std::unique_ptr<D3D12Device> device =
      MakeWarmDevice({.timeout = kNever, .transfers = d3d12::TransferWay::kCopyQueues});
  ASSERT_NE(device, nullptr);
  const Example large = MakeLargeExample();
  ShortageBehindAHang shortage;
  d3d12::ScopedFaultInjector injector(shortage);
  std::thread runner([&] { EXPECT_TRUE(absl::IsUnavailable(RunExample(*device, large))); });
  EXPECT_TRUE(WaitUntil([&] { return shortage.has_struck.load(); }));
  FaultyVulkan::ResetHungDevices();
  runner.join();
  device = nullptr;
  ExpectAllFreed();
}

// libvkd3d's thread begins a wait that failed again at once, and logs that.
TEST_F(GpuLossTest, NoThreadSpins) {
  const std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  FaultyVulkan::Arm(VulkanCall::kWait, VulkanFault::kLost);
  RunUntilItFails(*device).IgnoreError();
  const uint64_t before = FaultyVulkan::waits();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(RunExample(*device, MakeExample(1000, 2)).ok());
    std::this_thread::yield();
  }
  EXPECT_LE(FaultyVulkan::waits() - before, 2u);
}

// Some wait for the device, some for staging memory that others hold.
TEST_F(GpuLossTest, AllWhoWaitNotice) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.staging_bytes = 16384, .timeout = kNever});
  ASSERT_NE(device, nullptr);
  FaultyVulkan::Arm(VulkanCall::kSubmit, VulkanFault::kHang);
  std::atomic<int> lost = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&device, &lost, t] {
      if (absl::IsUnavailable(RunExample(*device, MakeExample(3000, t)))) ++lost;
    });
  }
  while (FaultyVulkan::strikes() == 0) std::this_thread::yield();
  EXPECT_EQ(lost, 0);
  FaultyVulkan::ResetHungDevices();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 8);
  device = nullptr;
  ExpectAllFreed();
}

TEST_F(GpuLossTest, WhileItIsMade) {
  for (const VulkanCall call : {VulkanCall::kCreateDevice, VulkanCall::kSubmit}) {
    FaultyVulkan::Arm(call, VulkanFault::kLost);
    EXPECT_FALSE(MakeFaultyDevice({}).ok());
    EXPECT_EQ(FaultyVulkan::strikes(), 1);
    ExpectAllFreed();
  }
}

// Calls `act` once, when the thread that made it has submitted and not waited yet.
class AfterSubmission final : public d3d12::FaultInjector {
 public:
  explicit AfterSubmission(std::function<void()> act) : act_(std::move(act)) {}

  std::optional<int32_t> Fail(absl::string_view call) override {
    // What is called of Vulkan is part of the submission.
    if (std::this_thread::get_id() != owner_ || call.find("vk.") == 0) return std::nullopt;
    if (call.find("->Signal") != absl::string_view::npos) {
      has_submitted_ = true;
    } else if (std::exchange(has_submitted_, false)) {
      std::exchange(act_, [] {})();
    }
    return std::nullopt;
  }

 private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::function<void()> act_;
  bool has_submitted_ = false;
};

// libvkd3d hears of the end of submissions in one thread, and of one that ends at once where it was
// submitted. So it could take back what it has said of a later one, and nobody would ever hear of
// it.
TEST_F(GpuLossTest, AQuickSubmissionIsNotTakenForLost) {
  const std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = std::chrono::seconds(5)});
  ASSERT_NE(device, nullptr);
  const uint64_t waits = FaultyVulkan::waits();
  FaultyVulkan::HoldWaits(true);
  std::thread first([&] { EXPECT_TRUE(RunExample(*device, MakeExample(1000, 2)).ok()); });
  EXPECT_TRUE(WaitUntil([waits] { return FaultyVulkan::waits() > waits; }));
  FaultyVulkan::WaitForStatus(true);
  AfterSubmission act([] {
    const uint64_t resets = FaultyVulkan::resets();
    FaultyVulkan::HoldWaits(false);
    EXPECT_TRUE(WaitUntil([resets] { return FaultyVulkan::resets() > resets; }));
  });
  {
    d3d12::ScopedFaultInjector injector(act);
    EXPECT_TRUE(RunExample(*device, MakeExample(1000, 3)).ok());
  }
  FaultyVulkan::WaitForStatus(false);
  first.join();
}

// Though it has waited for fences, like the thread that hears of them.
TEST_F(GpuLossTest, WhoMadeTheDeviceHearsOfNoSubmissionBeforeOthersDo) {
  const auto device = MakeFaultyDevice({.timeout = kNever});
  ASSERT_TRUE(device.ok()) << device.status();
  FaultyVulkan::HoldWaits(true);
  FaultyVulkan::Arm(VulkanCall::kStatus, VulkanFault::kNoMemory);
  AfterSubmission act([] {
    EXPECT_EQ(FaultyVulkan::strikes(), 0);
    FaultyVulkan::HoldWaits(false);
  });
  d3d12::ScopedFaultInjector injector(act);
  EXPECT_TRUE(RunExample(**device, MakeExample(1000, 2)).ok());
  EXPECT_EQ(FaultyVulkan::strikes(), 1);
}

class GpuAdaptersTest : public GpuLossTest {};

TEST_F(GpuAdaptersTest, WhatNobodyCanUseIsLeftOut) {
  FaultyVulkan::ShowOddAdapters(true);
  const auto runtime = LoadFaultyRuntime();
  FaultyVulkan::ShowOddAdapters(false);
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const size_t real = (*FaultyRuntime())->adapters().size();
  ASSERT_EQ((*runtime)->adapters().size(), real + 1);
  const d3d12::AdapterInfo& liar = (*runtime)->adapters().back();
  EXPECT_EQ(liar.name, std::string(256, 'm'));
  EXPECT_EQ(liar.memory_bytes, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(liar.index, static_cast<int>(real));
  ASSERT_EQ((*runtime)->left_out().size(), 2u);
  EXPECT_THAT(MessageOf((*runtime)->left_out()[0]), HasSubstr("no queue has no queue"));
  EXPECT_THAT(MessageOf((*runtime)->left_out()[1]), HasSubstr("no buffers has buffers of at most"));
}

TEST_F(GpuAdaptersTest, AListThatCannotBeHadIsAnError) {
  for (int failing_calls : {1, 2}) {
    FaultyVulkan::Arm(VulkanCall::kEnumerate, VulkanFault::kNoMemory, failing_calls);
    const absl::Status status = LoadFaultyRuntime().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  }
}

class GpuHangTest : public GpuLossTest {
 protected:
  // A device that hangs, and has been given up, and destroyed. What it uses is still there.
  void HangAt(VulkanCall call) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kSoon});
    ASSERT_NE(device, nullptr);
    FaultyVulkan::Arm(call, VulkanFault::kHang);
    const absl::Status status = RunUntilItFails(*device);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(MessageOf(status), HasSubstr("has not finished submission"));
    device = nullptr;
    EXPECT_EQ(FaultyVulkan::devices(), 1);
    EXPECT_GT(FaultyVulkan::memory_bytes(), 0u);
    // Another one serves meanwhile.
    device = MakeWarmDevice({.timeout = kNever});
  }
};

TEST_F(GpuHangTest, AResetDeviceIsFreed) {
  HangAt(VulkanCall::kSubmit);
  FaultyVulkan::ResetHungDevices();
  ExpectAllFreed();
}

TEST_F(GpuHangTest, ADeviceThatGoesOnIsFreed) {
  HangAt(VulkanCall::kSubmit);
  FaultyVulkan::ResumeHungDevices();
  ExpectAllFreed();
}

TEST_F(GpuHangTest, AtAWait) {
  HangAt(VulkanCall::kWait);
  FaultyVulkan::ResetHungDevices();
  ExpectAllFreed();
}

TEST_F(GpuHangTest, AtTheStatusOfAFence) {
  HangAt(VulkanCall::kStatus);
  FaultyVulkan::ResetHungDevices();
  ExpectAllFreed();
}

class GpuShortageTest : public GpuLossTest {};

// Nothing ever ends what was not submitted.
TEST_F(GpuShortageTest, OfASubmissionWhileItIsMadeEndsThat) {
  FaultyVulkan::Arm(VulkanCall::kSubmit, VulkanFault::kNoMemory);
  EXPECT_EQ(MakeFaultyDevice({}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FaultyVulkan::strikes(), 1);
  ExpectAllFreed();
  EXPECT_NE(MakeWarmDevice({.timeout = kNever}), nullptr);
}

// What was submitted is under way all the same.
TEST_F(GpuShortageTest, OfAWaitWhileItIsMadePasses) {
  FaultyVulkan::Arm(VulkanCall::kWait, VulkanFault::kNoMemory, 3);
  EXPECT_NE(MakeWarmDevice({.timeout = kNever}), nullptr);
  EXPECT_EQ(FaultyVulkan::strikes(), 3);
  ExpectAllFreed();
}

TEST_F(GpuShortageTest, OfASubmissionIsNoLoss) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  FaultyVulkan::Arm(VulkanCall::kSubmit, VulkanFault::kNoMemory);
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 2)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FaultyVulkan::strikes(), 1);
  EXPECT_TRUE(RunExample(*device, MakeExample(1000, 3)).ok());
  device = nullptr;
  ExpectAllFreed();
}

// The end of what was submitted before would never be told.
TEST_F(GpuShortageTest, OfASignalIsALoss) {
  std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  FaultyVulkan::Arm(VulkanCall::kSubmit, VulkanFault::kNoMemory, 2);
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 2)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FaultyVulkan::strikes(), 2);
  device = nullptr;
  ExpectAllFreed();
}

TEST_F(GpuShortageTest, OfAWaitPasses) {
  for (const VulkanCall call : {VulkanCall::kWait, VulkanCall::kStatus}) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
    ASSERT_NE(device, nullptr);
    FaultyVulkan::Arm(call, VulkanFault::kNoMemory, 3);
    for (int i = 0; FaultyVulkan::strikes() < 3; ++i) {
      ASSERT_TRUE(RunExample(*device, MakeExample(1000, 2)).ok()) << i;
    }
    device = nullptr;
    ExpectAllFreed();
  }
}

class GpuLieTest : public GpuLossTest {
 protected:
  void ExpectLieFoundOut(VulkanCall call) {
    std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
    ASSERT_NE(device, nullptr);
    FaultyVulkan::Arm(call, VulkanFault::kWrong);
    const absl::Status status = RunExample(*device, MakeExample(1000, 2));
    EXPECT_EQ(FaultyVulkan::strikes(), 1);
    EXPECT_THAT(MessageOf(status), HasSubstr("its stamp was not copied"));
    device = nullptr;
    ExpectAllFreed();
  }
};

TEST_F(GpuLieTest, AboutASubmission) { ExpectLieFoundOut(VulkanCall::kSubmit); }

TEST_F(GpuLieTest, AboutAFence) { ExpectLieFoundOut(VulkanCall::kStatus); }

// libvkd3d asks the fence, too.
TEST_F(GpuLieTest, AboutAWaitDoesNoHarm) {
  const std::unique_ptr<D3D12Device> device = MakeWarmDevice({.timeout = kNever});
  ASSERT_NE(device, nullptr);
  FaultyVulkan::Arm(VulkanCall::kWait, VulkanFault::kWrong);
  for (int i = 0; FaultyVulkan::strikes() == 0; ++i) {
    ASSERT_TRUE(RunExample(*device, MakeExample(1000, 2)).ok()) << i;
  }
}

}  // namespace
}  // namespace opserve::testing
