// Devices as a whole: adapters, threads, faults, several devices on one adapter, missing libraries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using d3d12::DeviceOptions;
using d3d12::Runtime;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class GpuDeviceTest : public GpuTest {};

TEST(RuntimeTest, MissingLibraryIsNamed) {
  const auto no_vkd3d = Runtime::Load({.direct3d = "libno-such-vkd3d.so.1"});
  EXPECT_EQ(no_vkd3d.status().code(), absl::StatusCode::kNotFound);
  const auto no_vulkan = Runtime::Load({.adapters = "libno-such-vulkan.so.1"});
  EXPECT_EQ(no_vulkan.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_vulkan.status().message()), HasSubstr("libno-such-vulkan.so.1"));
}

// Drivers are looked for where these variables say.
TEST(RuntimeTest, MissingDriverIsTold) {
  for (const char* name : {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"}) setenv(name, "/nonexistent", 1);
  EXPECT_EQ(Runtime::Load().status().code(), absl::StatusCode::kNotFound);
  for (const char* name : {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"}) unsetenv(name);
}

TEST_F(GpuDeviceTest, AdaptersAreDescribed) {
  for (const d3d12::AdapterInfo& adapter : (*TestRuntime())->adapters()) {
    EXPECT_FALSE(adapter.name.empty());
    EXPECT_FALSE(adapter.driver.empty());
    EXPECT_GT(adapter.memory_bytes, 0u);
    EXPECT_GE(adapter.max_buffer_bytes, 65536u * 4);  // what Vulkan guarantees
  }
  EXPECT_THAT(device().profile().name, StartsWith("d3d12/"));
}

TEST_F(GpuDeviceTest, ProfileTellsWhatItIs) {
  const DeviceProfile& profile = device().profile();
  EXPECT_EQ(profile.kind, DeviceKind::kGpu);
  EXPECT_EQ(profile.runtime, "vkd3d");
  EXPECT_THAT(profile.feature_level, MatchesRegex("1[12]_[0-2]"));
  const std::unique_ptr<D3D12Device> named = MakeDevice({.name = "d3d12/second"});
  ASSERT_NE(named, nullptr);
  EXPECT_EQ(named->profile().name, "d3d12/second");
  EXPECT_EQ(named->profile().description, profile.description);
}

// A kernel that the driver refuses is no fault of the device's, and not supported any more.
TEST_F(GpuDeviceTest, RefusedKernelIsNotSupported) {
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  constexpr OpId kOp = OpId::ELEMENT_WISE_ROUND;
  EXPECT_TRUE(device->Supports(kOp, DataType::kFloat16));
  EXPECT_FALSE(device->Supports(kOp, DataType::kInt32));
  FailingCall fault("CreateComputePipelineState", kInvalidArgument);
  d3d12::ScopedFaultInjector injector(fault);
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 1)).code(), absl::StatusCode::kUnimplemented);
  fault.armed = false;
  EXPECT_FALSE(device->Supports(kOp, DataType::kFloat16));
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 1)).code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(device->Supports(kOp, DataType::kFloat32));
  EXPECT_TRUE(device->status().ok());
}

TEST_F(GpuDeviceTest, UnknownAdapterIsRefused) {
  EXPECT_EQ(D3D12Device::Create(*TestRuntime(), 1000).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// What is done again and again makes nothing new: whatever would be made fails.
TEST_F(GpuDeviceTest, WarmCallsAllocateNothing) {
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  const Example example = MakeExample(5000, 1);
  ASSERT_TRUE(RunExample(*device, example).ok());
  FailingCall fault("Create", kOutOfMemory);
  d3d12::ScopedFaultInjector injector(fault);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(RunExample(*device, example).ok());
  EXPECT_EQ(fault.failures, 0);
}

TEST_F(GpuDeviceTest, ThreadsShareADevice) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t i = 0; i < 50; ++i) {
        const Example example =
            MakeExample(static_cast<uint32_t>(1 + i * 997 % 20000), t * 100 + i);
        const absl::Status status = RunExample(device(), example);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Calls that wait for staging memory, and calls that are larger than all of it.
TEST_F(GpuDeviceTest, SmallStagingMemoryIsShared) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.staging_bytes = 16384});
  ASSERT_NE(device, nullptr);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 6; ++t) {
    threads.emplace_back([&device, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        const Example example = MakeExample(static_cast<uint32_t>(3000 + 1000 * (t + i)), t + i);
        const absl::Status status = RunExample(*device, example);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuDeviceTest, SeveralDevicesOnOneAdapter) {
  const std::unique_ptr<D3D12Device> first = MakeDevice();
  std::unique_ptr<D3D12Device> second = MakeDevice();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(RunExample(*first, MakeExample(1000, 1)).ok());
  EXPECT_TRUE(RunExample(*second, MakeExample(1000, 2)).ok());
  second.reset();
  EXPECT_TRUE(RunExample(*first, MakeExample(1000, 3)).ok());
}

TEST_F(GpuDeviceTest, BudgetIsKept) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.memory_budget = 1 << 20});
  ASSERT_NE(device, nullptr);
  for (uint32_t count : {1000u, 100000u, 3000u, 200000u, 50000u}) {
    const absl::Status status = RunExample(*device, MakeExample(count, count));
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_LE(device->pooled_bytes(), uint64_t{1} << 20);
  }
  EXPECT_EQ(RunExample(*device, MakeExample(1 << 20, 1)).code(),
            absl::StatusCode::kResourceExhausted);
  // It did no harm.
  EXPECT_TRUE(RunExample(*device, MakeExample(1000, 1)).ok());
}

TEST_F(GpuDeviceTest, ShortMemoryIsNoLoss) {
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  FailingCall fault("CreateCommittedResource", kOutOfMemory);
  d3d12::ScopedFaultInjector injector(fault);
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 1)).code(), absl::StatusCode::kResourceExhausted);
  fault.armed = false;
  EXPECT_TRUE(RunExample(*device, MakeExample(1000, 1)).ok());
}

TEST_F(GpuDeviceTest, LossIsForEver) {
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(RunExample(*device, MakeExample(1000, 1)).ok());
  FailingCall fault("allocator->Reset", kDeviceRemoved);
  d3d12::ScopedFaultInjector injector(fault);
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(fault.failures, 1);
  fault.armed = false;
  const absl::Status later = RunExample(*device, MakeExample(1000, 1));
  EXPECT_EQ(later.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(later.message()), HasSubstr("DXGI_ERROR_DEVICE_REMOVED"));
  EXPECT_EQ(device->status().code(), absl::StatusCode::kUnavailable);
  // Another device of the same adapter works.
  const std::unique_ptr<D3D12Device> other = MakeDevice();
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(RunExample(*other, MakeExample(1000, 1)).ok());
}

// The first call after a loss says that the device is removed; the run time knows why.
TEST_F(GpuDeviceTest, TheReasonOfTheRunTimeIsTold) {
  constexpr auto kDeviceHung = static_cast<int32_t>(0x887A0006);
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(RunExample(*device, MakeExample(1000, 1)).ok());
  FailingCall fault("GetDeviceRemovedReason", kDeviceHung);
  d3d12::ScopedFaultInjector injector(fault);
  const absl::Status status = RunExample(*device, MakeExample(1000, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), StartsWith("The device is lost: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("DXGI_ERROR_DEVICE_HUNG"));
  fault.armed = false;
  EXPECT_EQ(device->status(), status);
}

// A submission whose end is never signalled.
TEST_F(GpuDeviceTest, HangIsALoss) {
  std::unique_ptr<D3D12Device> device = MakeDevice({.timeout = std::chrono::milliseconds(300)});
  ASSERT_NE(device, nullptr);
  FailingCall fault("->Signal", 0);  // succeeds without doing anything
  d3d12::ScopedFaultInjector injector(fault);
  const absl::Status status = RunExample(*device, MakeExample(1000, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has not finished"));
  EXPECT_EQ(fault.failures, 1);
  fault.armed = false;
  EXPECT_EQ(RunExample(*device, MakeExample(1000, 1)).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace opserve::testing
