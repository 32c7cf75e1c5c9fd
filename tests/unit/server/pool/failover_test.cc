// The pool where devices fail, one event at a time.

#include <chrono>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class FailoverTest : public PoolTest {
 protected:
  // Runs one job that asks for a GPU; it must be answered by `device`.
  void ExpectRunsOn(const std::string& device) {
    PoolJob job(Placement::kGpu, 5);
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, device);
  }

  static std::unique_ptr<PoolJob> VerifiedJob(uint64_t seed) {
    return std::make_unique<PoolJob>(Placement::kGpu, seed, kRoundSpec,
                                     [](JobTraits& traits) { traits.verify = true; });
  }
};

TEST_F(FailoverTest, ALostDevicesJobsRunOnAnother) {
  Start(ManualOptions(), 2);
  gpu_script().LoseAtRun(1);
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kSecondGpuName);
  EXPECT_EQ(job.record().attempts, 2);
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().reason, "lost by the script");
  EXPECT_EQ(gpu_status().counters.losses, 1u);
  EXPECT_EQ(gpu_status().counters.faults, 1u);
  EXPECT_EQ(gpu_status().counters.moved, 1u);
  EXPECT_EQ(gpu_status().counters.requests, 0u);
  EXPECT_EQ(StatusOf(2).counters.requests, 1u);
  EXPECT_TRUE(pool_->gpu_ready());
}

TEST_F(FailoverTest, TheProcessorIsTheLastStop) {
  Start(ManualOptions(), 2);
  gpu_script().LoseAtRun(1);
  second_gpu_.script()->LoseAtRun(1);
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_EQ(job.record().attempts, 3);
  EXPECT_FALSE(pool_->gpu_ready());
  EXPECT_TRUE(pool_->has_gpus());
  ExpectRunsOn(kCpuName);
}

TEST_F(FailoverTest, WhatWaitsForALostDeviceMovesUnrun) {
  Start();
  gpu_script().CloseGate();
  gpu_script().LoseAtRun(1);
  PoolJob first(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(first));
  gpu_script().WaitForBlocked(1);
  const auto jobs = MakeJobs(4);
  for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
  gpu_script().OpenGate();
  ExpectAnswered(first, kCpuName);
  EXPECT_EQ(first.record().attempts, 2);
  for (const auto& job : jobs) {
    ExpectAnswered(*job, kCpuName);
    EXPECT_EQ(job->record().attempts, 1);
  }
  EXPECT_EQ(gpu_status().counters.moved, 5u);
  EXPECT_EQ(gpu_status().pending, 0u);
}

TEST_F(FailoverTest, AHungDeviceIsLostOnceItsTimeIsUp) {
  Start();
  gpu_script().HangAtRun(1);
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  gpu_script().WaitForBlocked(1);
  EXPECT_EQ(job.ends(), 0);
  EXPECT_EQ(gpu_status().in_flight, 1);
  gpu_script().Release();
  ExpectAnswered(job, kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
}

TEST_F(FailoverTest, FaultsMakeADeviceSuspectAndThenLost) {
  Start();
  for (uint64_t nth : {1, 3, 4, 5}) gpu_script().FailRun(nth, absl::InternalError("a bug"));
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kSuspect);
  EXPECT_EQ(gpu_status().reason, "a bug");
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(gpu_status().reason, "");
  ExpectRunsOn(kCpuName);
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().counters.losses, 0u);
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().counters.faults, 4u);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
}

TEST_F(FailoverTest, WhatADeviceCannotDoIsNoFault) {
  Start();
  gpu_script().FailRun(1, absl::UnimplementedError("too large"));
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(gpu_status().counters.faults, 0u);
  EXPECT_EQ(gpu_status().counters.moved, 1u);
}

TEST_F(FailoverTest, ABatchThatIsTooLargeIsHalved) {
  Start();
  gpu_script().LimitCalls(4);
  const auto jobs = MakeJobs(8);
  RunTogether(jobs);
  for (const auto& job : jobs) {
    ExpectAnswered(*job, kGpuName);
    EXPECT_EQ(job->record().batch_size, 4u);
    EXPECT_EQ(job->record().attempts, 2);
  }
  EXPECT_THAT(gpu_status().counters.batches, ElementsAre(Pair(1, 1), Pair(4, 2)));
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
}

TEST_F(FailoverTest, HalvesThatAreTooLargeGoToTheProcessor) {
  Start(ManualOptions(), 2);
  gpu_script().LimitCalls(0);
  second_gpu_.script()->LimitCalls(0);
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_EQ(job.record().attempts, 2);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(gpu_status().counters.faults, 1u);
}

TEST_F(FailoverTest, OneHalfMayFitWhereTheOtherDoesNot) {
  Start();
  const auto jobs = MakeJobs(5);
  RunTogether(jobs, [this] { gpu_script().LimitCalls(2); });
  int on_gpu = 0;
  for (const auto& job : jobs) {
    EXPECT_TRUE(job->Wait().ok());
    on_gpu += job->device() == kGpuName ? 1 : 0;
  }
  EXPECT_EQ(on_gpu, 2);
  EXPECT_EQ(gpu_status().counters.moved, 3u);
}

TEST_F(FailoverTest, ADeviceLostBetweenTheHalvesLosesNothing) {
  Start();
  const auto jobs = MakeJobs(4);
  RunTogether(jobs, [this] {
    gpu_script().FailRun(1, absl::ResourceExhaustedError("full"));
    gpu_script().LoseAtRun(2);
  });
  for (const auto& job : jobs) ExpectAnswered(*job, kCpuName);
  EXPECT_EQ(gpu_status().counters.faults, 2u);
}

TEST_F(FailoverTest, WrongResultsAreReplacedAndQuarantine) {
  Start();
  gpu_script().CorruptResult(1);
  const auto job = VerifiedJob(1);
  ASSERT_TRUE(pool_->Submit(*job));
  ExpectAnswered(*job, kCpuName);
  EXPECT_TRUE(job->record().is_verified);
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_THAT(gpu_status().reason, HasSubstr("wrong result: element 99 is 0x"));
  EXPECT_EQ(gpu_status().counters.verified, 1u);
  EXPECT_EQ(gpu_status().counters.mismatches, 1u);
  EXPECT_EQ(gpu_status().counters.requests, 0u);
  EXPECT_EQ(StatusOf(0).counters.requests, 1u);
  ExpectRunsOn(kCpuName);
}

// Nobody asked to verify the others of the batch, but they come from the same run.
TEST_F(FailoverTest, BatchMatesOfAWrongResultAreVerified) {
  Start();
  auto jobs = MakeJobs(4);
  jobs.push_back(VerifiedJob(9));
  RunTogether(jobs, [this] {
    // Of the job before the batch, and then of the batch.
    for (uint64_t nth : {2, 4, 6}) gpu_script().CorruptResult(nth);
  });
  int replaced = 0;
  for (const auto& job : jobs) {
    EXPECT_TRUE(job->Wait().ok());
    EXPECT_TRUE(job->record().is_verified);
    replaced += job->device() == kCpuName ? 1 : 0;
  }
  EXPECT_EQ(replaced, 3);
  EXPECT_EQ(gpu_status().counters.verified, 5u);
  EXPECT_EQ(gpu_status().counters.mismatches, 3u);
}

TEST_F(FailoverTest, QuarantineStartsAtItsThreshold) {
  PoolOptions options = ManualOptions();
  options.health.max_mismatches = 3;
  Start(options);
  gpu_script().CorruptAll(true);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(gpu_status().state, DeviceState::kReady);
    const auto job = VerifiedJob(i);
    ASSERT_TRUE(pool_->Submit(*job));
    ExpectAnswered(*job, kCpuName);
  }
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
}

TEST_F(FailoverTest, ALostDeviceComesBack) {
  Start();
  gpu_script().LoseAtRun(1);
  ExpectRunsOn(kCpuName);
  EXPECT_EQ(pool_->Maintain(), clock_.Now() + seconds(1));
  EXPECT_EQ(gpu_->attempts(), 1);
  clock_.Advance(seconds(1));
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  EXPECT_EQ(gpu_->attempts(), 2);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  ExpectRunsOn(kGpuName);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
}

TEST_F(FailoverTest, AttemptsBackOff) {
  Start();
  gpu_->FailCreations(3, absl::NotFoundError("unplugged"));
  gpu_script().LoseAtRun(1);
  ExpectRunsOn(kCpuName);
  clock_.Advance(seconds(1));
  for (int wait : {2, 4, 8}) {
    EXPECT_EQ(pool_->Maintain(), clock_.Now() + seconds(wait));
    EXPECT_EQ(gpu_status().state, DeviceState::kLost);
    EXPECT_EQ(gpu_status().reason, "unplugged");
    clock_.Advance(seconds(wait));
  }
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  ExpectRunsOn(kGpuName);
  // Failed attempts are no losses.
  EXPECT_EQ(gpu_status().counters.losses, 1u);
}

TEST_F(FailoverTest, StartsWithoutADeviceThatCannotBeMade) {
  gpu_->FailCreations(1, absl::NotFoundError("no driver"));
  Start();
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_EQ(gpu_status().reason, "no driver");
  EXPECT_FALSE(pool_->gpu_ready());
  EXPECT_THAT(pool_->DevicesFor(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32),
              ElementsAre(kCpuName));
  ExpectRunsOn(kCpuName);
  clock_.Advance(seconds(1));
  pool_->Maintain();
  ExpectRunsOn(kGpuName);
}

TEST_F(FailoverTest, ADeviceThatFailsItsTestNeverServes) {
  gpu_->PrepareScripts([](NullScript& script) { script.CorruptResult(50); });
  Start();
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_THAT(gpu_status().reason, HasSubstr("self-test: ELEMENT_WISE_"));
  ExpectRunsOn(kCpuName);
  clock_.Advance(seconds(1));
  pool_->Maintain();
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  gpu_->PrepareScripts(nullptr);
  clock_.Advance(seconds(2));
  pool_->Maintain();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  ExpectRunsOn(kGpuName);
}

TEST_F(FailoverTest, ADeviceLostInItsTestIsLost) {
  gpu_->PrepareScripts([](NullScript& script) { script.LoseAtRun(20); });
  Start();
  EXPECT_EQ(gpu_status().state, DeviceState::kLost);
  EXPECT_THAT(gpu_status().reason, HasSubstr("lost by the script"));
}

// A run that was under way while its device was replaced says nothing about the new one.
TEST_F(FailoverTest, LateNewsOfAnOldDeviceDoNotCount) {
  PoolOptions options = ManualOptions();
  options.batch.max_in_flight = 2;
  options.batch.max_requests = 1;
  Start(options);
  const std::shared_ptr<NullScript> old = gpu_->script();
  old->HangAtRun(1);
  old->FailRun(2, absl::UnavailableError("lost"));
  PoolJob hung(Placement::kGpu, 1);
  PoolJob lost(Placement::kGpu, 2);
  ASSERT_TRUE(pool_->Submit(hung));
  old->WaitForBlocked(1);
  ASSERT_TRUE(pool_->Submit(lost));
  ExpectAnswered(lost, kCpuName);
  clock_.Advance(seconds(1));
  pool_->Maintain();
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  old->Release();
  // The new device takes what the old one could not do.
  EXPECT_TRUE(hung.Wait().ok());
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(gpu_status().counters.losses, 1u);
}

// Errors of the processor, which cannot happen, still become answers.
TEST_F(FailoverTest, AnErrorOfTheProcessorRefuses) {
  Start();
  cpu_->FailRun(1, absl::InternalError("cannot be"));
  PoolJob job(Placement::kCpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.Wait(), absl::InternalError("cannot be"));
}

TEST_F(FailoverTest, HardwareIsMeasuredAgainWhenItReturns) {
  UseHardware();
  Start();
  const uint64_t at_start = gpu_script().run_count();
  gpu_script().LoseAtRun(1);
  ExpectRunsOn(kCpuName);
  const uint64_t cpu_runs = cpu_->run_count();
  clock_.Advance(seconds(1));
  pool_->Maintain();
  EXPECT_EQ(gpu_script().run_count(), at_start);
  // The processor is measured once.
  EXPECT_EQ(cpu_->run_count(), cpu_runs);
  EXPECT_GT(cpu_runs, 50u);
}

}  // namespace
}  // namespace opserve::testing
