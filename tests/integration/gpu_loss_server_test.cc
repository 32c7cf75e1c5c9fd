// A server whose GPUs are lost, hang, have no memory or compute wrongly, at each place where their
// Vulkan driver can tell of it, while 64 clients use it: each request gets its one right answer,
// the GPUs come back, and nothing stays behind. tests/gpu/faulty_vulkan.h is the driver.

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/gpu/faulty_runtime.h"
#include "tests/gpu/faulty_vulkan.h"
#include "tests/integration/gpu_fixture.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

// So long that nothing ends because of it, and what it takes to give up a device that hangs: a
// device that works and is given up, too, does no harm there.
constexpr std::chrono::hours kNever{1000};
constexpr std::chrono::seconds kSoon{2};

// Files that the process has open, or its threads.
long EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

class GpuLossServerTest : public GpuServerTest {
 protected:
  void SetUp() override {
    RequireFaultyRuntime();
    if (IsSkipped() || HasFatalFailure()) return;
    // What libraries keep from their first use on.
    StartGpus(LoadOptions());
    RunClients();
    Stop();
    ExpectAllFreed();
    files_ = EntriesOf("/proc/self/fd");
    threads_ = EntriesOf("/proc/self/task");
  }

  // Two devices on one adapter.
  void StartGpus(const ServerOptions& options, std::chrono::nanoseconds timeout = kNever) {
    std::vector<DeviceSource> sources;
    for (const char* name : {"d3d12/first", "d3d12/second"}) {
      DeviceProfile profile = NullProfile(name, /*is_software=*/true);
      const auto create = [name, timeout]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> {
        return MakeFaultyDevice({.name = name, .timeout = timeout});
      };
      sources.push_back({.profile = profile, .create = create});
    }
    StartWith(options, sources);
    ExpectGpusReady();
  }

  void ExpectGpusReady() {
    for (int gpu : {0, 1}) EXPECT_TRUE(WaitForState(gpu, v1::DEVICE_STATE_READY));
  }

  // Has the fault strike so many times while clients use the server.
  void RunWithFault(VulkanCall call, VulkanFault fault, int count = 1) {
    StartGpus(LoadOptions(),
              fault == VulkanFault::kHang ? kSoon : std::chrono::nanoseconds(kNever));
    FaultyVulkan::Arm(call, fault, count);
    RunClients();
    EXPECT_EQ(FaultyVulkan::strikes(), count);
  }

  uint64_t losses() { return InfoOf(0).counters().losses() + InfoOf(1).counters().losses(); }

  // Both GPUs serve, and once the server has stopped all is as it was before it started.
  void ExpectRecovery() {
    ExpectGpusReady();
    ExpectDevices(2);
    RunClients();
    EXPECT_EQ(answered_by(cpu_name()), 0u);
    Stop();
    ExpectAllFreed();
    EXPECT_TRUE(WaitUntil([this] { return EntriesOf("/proc/self/fd") <= files_; }));
    EXPECT_TRUE(WaitUntil([this] { return EntriesOf("/proc/self/task") <= threads_; }));
  }

 private:
  long files_ = 0;
  long threads_ = 0;
};

TEST_F(GpuLossServerTest, LostAtASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostAtAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostAtTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kLost);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LostWhileItIsMadeAnew) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kLost, 3);
  EXPECT_GE(losses(), 1u);
  ExpectRecovery();
}

// The device that hangs is there until its driver resets it.
TEST_F(GpuLossServerTest, HangsAtASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResetHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, HangsAtAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResumeHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, HangsAtTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kHang);
  EXPECT_GE(losses(), 1u);
  ExpectGpusReady();
  ExpectDevices(3);
  FaultyVulkan::ResetHungDevices();
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kNoMemory);
  EXPECT_EQ(losses(), 0u);
  EXPECT_EQ(InfoOf(0).counters().faults() + InfoOf(1).counters().faults(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kNoMemory, 3);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, NoMemoryForTheStatusOfAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kNoMemory, 3);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutASubmission) {
  RunWithFault(VulkanCall::kSubmit, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutAWait) {
  RunWithFault(VulkanCall::kWait, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 0u);
  ExpectRecovery();
}

TEST_F(GpuLossServerTest, LiesAboutAFence) {
  RunWithFault(VulkanCall::kStatus, VulkanFault::kWrong);
  EXPECT_EQ(losses(), 1u);
  ExpectRecovery();
}

// The stamp arrives, with what the memory held before in the place of the results.
TEST_F(GpuLossServerTest, LeavesDispatchesOut) {
  ServerOptions options = LossOptions();
  options.pool.verify_rate = 1;
  StartGpus(options);
  // One of them might find its results there, from a request like it.
  FaultyVulkan::Arm(VulkanCall::kDispatch, VulkanFault::kWrong, 1000000);
  RunClients();
  EXPECT_GT(FaultyVulkan::strikes(), 0);
  FaultyVulkan::Arm(VulkanCall::kDispatch, VulkanFault::kWrong, 0);
  EXPECT_EQ(losses(), 0u);
  EXPECT_GT(InfoOf(0).counters().mismatches() + InfoOf(1).counters().mismatches(), 0u);
  for (int gpu : {0, 1}) {
    if (InfoOf(gpu).counters().mismatches() == 0) continue;
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_QUARANTINED);
    EXPECT_THAT(InfoOf(gpu).state_reason(), HasSubstr("wrong result"));
  }
  Stop();
  ExpectAllFreed();
}

}  // namespace
}  // namespace opserve::testing
