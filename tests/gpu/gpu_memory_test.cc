// What a device takes of its adapter's memory, as the driver says what there is: room is made
// before a submission fails. tests/gpu/faulty_vulkan.h is the driver.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "tests/gpu/examples.h"
#include "tests/gpu/faulty_runtime.h"
#include "tests/gpu/faulty_vulkan.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

class GpuMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { RequireFaultyRuntime(); }
  void TearDown() override {
    device_ = nullptr;
    FaultyVulkan::ReportRealMemory();
  }

  // A device that asks its driver once a second by `now_`. Of a run time of its own: whether the
  // driver tells of its memory is asked when that is loaded.
  void MakeDevice() {
    device_ = nullptr;
    const auto runtime = LoadFaultyRuntime();
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    absl::StatusOr<std::unique_ptr<D3D12Device>> device =
        MakeFaultyDevice(*runtime, {.now = [this] { return now_; }});
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }
  uint64_t budget() const { return device_->transfers().budget_bytes; }

  // The driver says from now on what gives the device a budget of `bytes`.
  static void ReportRoom(uint64_t bytes, uint64_t budget_of_a_gib) {
    FaultyVulkan::ReportMemory(bytes * (kGiB / kMiB) / (budget_of_a_gib / kMiB), 0);
  }

  // Runs a call whose input, of 8 MiB, is to be kept.
  absl::Status RunKept(ContentId content) {
    DeviceCall call = {.invocation = large_.call.get()};
    call.inputs[0] = {large_.inputs[0].data(), content};
    call.output = output_.data();
    absl::Status status = device_->Run({&call, 1});
    if (!status.ok()) return status;
    EXPECT_EQ(Difference(*large_.call, large_.expected.data(), output_.data()), "");
    return status;
  }
  absl::Status RunSmall() { return RunExample(*device_, small_); }

  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  const Example small_ = MakeExample(1000, 1);
  const Example large_ = MakeExample(4 * kMiB, 2);
  std::vector<std::byte> output_ = std::vector<std::byte>(large_.expected.size());
  std::unique_ptr<D3D12Device> device_;
};

TEST_F(GpuMemoryTest, BudgetIsAShareOfWhatTheDriverSays) {
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  const uint64_t budget_of_a_gib = budget();
  EXPECT_TRUE(budget_of_a_gib == kGiB / 4 || budget_of_a_gib == kGiB / 4 * 3) << budget_of_a_gib;
  // Others have taken half of it.
  FaultyVulkan::ReportMemory(kGiB, kGiB / 2);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(RunSmall().ok());
  EXPECT_LT(budget(), budget_of_a_gib / 4 * 3);
  EXPECT_GE(budget(), budget_of_a_gib / 2);
}

TEST_F(GpuMemoryTest, CopiesGoWhenOthersTakeMemory) {
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  const uint64_t budget_of_a_gib = budget();
  for (ContentId content = 1; content <= 10; ++content) ASSERT_TRUE(RunKept(content).ok());
  ASSERT_EQ(device_->transfers().kept_bytes, 80 * kMiB);
  const uint64_t taken = FaultyVulkan::memory_bytes();
  ReportRoom(96 * kMiB, budget_of_a_gib);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(RunSmall().ok());
  EXPECT_LE(budget(), 96 * kMiB);
  // Of two slabs, the one with the older copies.
  EXPECT_EQ(device_->transfers().evictions, 8u);
  EXPECT_EQ(device_->transfers().kept_bytes, 16 * kMiB);
  EXPECT_LE(FaultyVulkan::memory_bytes(), taken - 64 * kMiB);
  // What there is no room for is not kept, and is right all the same.
  for (ContentId content = 1; content <= 10; ++content) EXPECT_TRUE(RunKept(content).ok());
  EXPECT_LE(device_->pooled_bytes(), 96 * kMiB);
}

TEST_F(GpuMemoryTest, WithoutMemoryRunsFailUntilThereIsSome) {
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  EXPECT_TRUE(RunSmall().ok());
  FaultyVulkan::ReportMemory(1, 0);
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(RunSmall().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(device_->status().ok());
  FaultyVulkan::ReportMemory(kGiB, 0);
  EXPECT_EQ(RunSmall().code(), absl::StatusCode::kResourceExhausted);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(RunSmall().ok());
}

TEST_F(GpuMemoryTest, TheDriverIsAskedOnceASecond) {
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  const uint64_t reports = FaultyVulkan::memory_reports();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(RunSmall().ok());
  EXPECT_EQ(FaultyVulkan::memory_reports(), reports);
  now_ += std::chrono::seconds(1);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(RunSmall().ok());
  EXPECT_EQ(FaultyVulkan::memory_reports(), reports + 1);
}

TEST_F(GpuMemoryTest, ExtensionsAreListedOnce) {
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  const uint64_t lists = FaultyVulkan::extension_lists();
  const uint64_t reports = FaultyVulkan::memory_reports();
  for (int i = 0; i < 3; ++i) {
    now_ += std::chrono::seconds(1);
    ASSERT_TRUE(RunSmall().ok());
  }
  EXPECT_EQ(FaultyVulkan::memory_reports(), reports + 3);
  EXPECT_EQ(FaultyVulkan::extension_lists(), lists);
}

TEST_F(GpuMemoryTest, DriversThatSayNothingOrLieAreServed) {
  FaultyVulkan::ReportNoMemory();
  MakeDevice();
  const uint64_t untold = budget();
  EXPECT_GT(untold, 0u);
  FaultyVulkan::ReportMemory(kGiB, 0);
  MakeDevice();
  for (const auto& [bytes, used] : {std::pair<uint64_t, uint64_t>(0, 0), {0, UINT64_MAX}}) {
    FaultyVulkan::ReportMemory(bytes, used);
    now_ += std::chrono::seconds(1);
    EXPECT_TRUE(RunSmall().ok());
    EXPECT_EQ(budget(), untold);
  }
  FaultyVulkan::ReportMemory(UINT64_MAX, 0);
  now_ += std::chrono::seconds(1);
  EXPECT_TRUE(RunSmall().ok());
  EXPECT_GE(budget(), untold);
  EXPECT_LE(budget(), d3d12::DeviceOptions().memory_budget);
}

}  // namespace
}  // namespace opserve::testing
