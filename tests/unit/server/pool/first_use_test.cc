// Kernels that are used on a GPU for the first time: tested before they answer.

#include <chrono>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/pool/verify/self_test.h"
#include "tests/testing/sequence_builder.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Not tested before a device joins.
constexpr SampleSpec kRareSpec = {
    .op = OpId::ELEMENT_WISE_IF, .lane = DataType::kInt32, .count = 100};

// Runs of the test of its kernels: three layouts and a batch.
constexpr uint64_t kRunsOfTest = 4;

class FirstUseTest : public PoolTest {
 protected:
  static std::unique_ptr<PoolJob> RareJob(uint64_t seed) {
    return std::make_unique<PoolJob>(Placement::kGpu, seed, kRareSpec);
  }

  void ExpectRunsOn(const std::string& device) {
    const auto job = RareJob(7);
    ASSERT_TRUE(pool_->Submit(*job));
    ExpectAnswered(*job, device);
  }

  // Runs of the GPU since the last call.
  uint64_t NewRuns() { return gpu_script().run_count() - std::exchange(runs_, Runs()); }
  uint64_t Runs() const { return gpu_script().run_count(); }

  void ComeBack() {
    clock_.Advance(seconds(8));
    pool_->Maintain();
    runs_ = Runs();
  }

  uint64_t runs_ = 0;
};

TEST_F(FirstUseTest, KernelsAreTestedOnce) {
  Start();
  runs_ = Runs();
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), kRunsOfTest + 1);
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), 1u);
}

TEST_F(FirstUseTest, WhatStandsForAllIsTestedBefore) {
  Start();
  runs_ = Runs();
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kGpuName);
  EXPECT_EQ(NewRuns(), 1u);
}

TEST_F(FirstUseTest, AWrongKernelAnswersNothing) {
  Start();
  gpu_script().CorruptResult(3);
  const auto job = RareJob(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectAnswered(*job, kCpuName);
  EXPECT_EQ(job->record().attempts, 1);
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_THAT(gpu_status().reason, HasSubstr("self-test: ELEMENT_WISE_IF in INT32"));
  EXPECT_EQ(gpu_status().counters.moved, 1u);
  EXPECT_EQ(gpu_status().counters.requests, 0u);
}

TEST_F(FirstUseTest, WhatWaitsForAWrongKernelMoves) {
  Start();
  gpu_script().CloseGate();
  gpu_script().CorruptResult(1);
  const auto first = RareJob(1);
  ASSERT_TRUE(pool_->Submit(*first));
  gpu_script().WaitForBlocked(1);
  const auto jobs = MakeJobs(4);
  for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
  gpu_script().OpenGate();
  ExpectAnswered(*first, kCpuName);
  for (const auto& job : jobs) ExpectAnswered(*job, kCpuName);
}

// What one device got wrong the next one has to get right before it serves.
TEST_F(FirstUseTest, WhatWasWrongIsTestedBeforeTheNextDeviceServes) {
  Start();
  const uint64_t results_before = [] {
    NullDevice device(NullProfile("null/test", true), std::make_shared<NullScript>());
    return static_cast<uint64_t>(TestLanes(device, RepresentativeLanesOf(device)).cases);
  }();
  gpu_script().CorruptResult(1);
  ExpectRunsOn(kCpuName);
  gpu_->PrepareScripts(
      [results_before](NullScript& script) { script.CorruptResult(results_before + 1); });
  ComeBack();
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_THAT(gpu_status().reason, HasSubstr("self-test: ELEMENT_WISE_IF in INT32"));
  gpu_->PrepareScripts(nullptr);
  ComeBack();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), 1u);
}

TEST_F(FirstUseTest, ANewDeviceIsTestedAnew) {
  Start();
  ExpectRunsOn(kGpuName);
  gpu_script().LoseAtRun(1);
  ExpectRunsOn(kCpuName);
  ComeBack();
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), kRunsOfTest + 1);
}

TEST_F(FirstUseTest, ThreadsThatUseKernelsFirstTestThemOnce) {
  PoolOptions options = ManualOptions();
  options.batch.max_in_flight = 2;
  options.batch.max_requests = 1;
  Start(options);
  runs_ = Runs();
  gpu_script().CloseGate();
  const auto first = RareJob(1);
  const auto second = RareJob(2);
  ASSERT_TRUE(pool_->Submit(*first));
  gpu_script().WaitForBlocked(1);
  ASSERT_TRUE(pool_->Submit(*second));
  while (gpu_status().in_flight < 2) std::this_thread::yield();
  gpu_script().OpenGate();
  ExpectAnswered(*first, kGpuName);
  ExpectAnswered(*second, kGpuName);
  EXPECT_EQ(NewRuns(), kRunsOfTest + 2);
}

TEST_F(FirstUseTest, ADeviceLostInATestLosesNothing) {
  Start(ManualOptions(), 2);
  gpu_script().LoseAtRun(2);
  ExpectRunsOn(kSecondGpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
  EXPECT_EQ(gpu_status().counters.faults, 1u);
}

// The test is made up for when there is memory.
TEST_F(FirstUseTest, ATestWithoutMemoryIsNoLoss) {
  Start();
  gpu_script().FailRun(2, absl::ResourceExhaustedError("full"));
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  runs_ = Runs();
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), kRunsOfTest + 1);
}

TEST_F(FirstUseTest, WhatTheDriverRefusesIsNotSupported) {
  Start();
  gpu_script().Unsupport(kRareSpec.op, kRareSpec.lane);
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_THAT(pool_->DevicesFor(kRareSpec.op, kRareSpec.lane), ElementsAre(kCpuName));
  EXPECT_THAT(pool_->DevicesFor(kRareSpec.op, DataType::kInt16), ElementsAre(kCpuName, kGpuName));
  EXPECT_EQ(gpu_status().counters.moved, 1u);
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().counters.moved, 1u);
}

TEST_F(FirstUseTest, ASelfTestOnRequestCounts) {
  Start();
  ASSERT_TRUE(pool_->SelfTest(kGpuName)->front().status.ok());
  runs_ = Runs();
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(NewRuns(), 1u);
}

}  // namespace
}  // namespace opserve::testing
