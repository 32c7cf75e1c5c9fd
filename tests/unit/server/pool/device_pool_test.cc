// The pool where devices work: placement, batches, verification, cancellation, the end.

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class DevicePoolTest : public PoolTest {};

TEST_F(DevicePoolTest, JobsRunWhereTheyAskFor) {
  Start();
  PoolJob on_gpu(Placement::kGpu, 1);
  PoolJob on_cpu(Placement::kCpu, 2);
  ASSERT_TRUE(pool_->Submit(on_gpu));
  ASSERT_TRUE(pool_->Submit(on_cpu));
  ExpectAnswered(on_gpu, kGpuName);
  ExpectAnswered(on_cpu, kCpuName);
  EXPECT_EQ(on_gpu.record().batch_size, 1u);
  EXPECT_EQ(on_gpu.record().attempts, 1);
  EXPECT_FALSE(on_gpu.record().is_verified);
  EXPECT_EQ(gpu_status().counters.requests, 1u);
  EXPECT_EQ(StatusOf(0).counters.requests, 1u);
}

TEST_F(DevicePoolTest, TellsTimesByTheClock) {
  Start();
  gpu_script().OnRun([this](auto) { clock_.Advance(microseconds(7)); });
  PoolJob job(Placement::kGpu, 1, kRoundSpec,
              [this](JobTraits& traits) { traits.accepted = clock_.Now() - microseconds(3); });
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kGpuName);
  EXPECT_EQ(job.record().queued, microseconds(3));
  EXPECT_EQ(job.record().ran, microseconds(7));
}

TEST_F(DevicePoolTest, AutoNeverPicksSoftware) {
  Start();
  PoolJob job(Placement::kAuto, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
}

TEST_F(DevicePoolTest, NothingIsMeasuredForSoftware) {
  Start();
  EXPECT_EQ(cpu_->run_count(), 0u);
}

TEST_F(DevicePoolTest, AutoPicksHardwareThatIsFaster) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(10)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  Start();
  PoolJob job(Placement::kAuto, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kGpuName);
}

TEST_F(DevicePoolTest, AutoLeavesHardwareThatIsSlower) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(90)); });
  Start();
  PoolJob job(Placement::kAuto, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
}

TEST_F(DevicePoolTest, AutoLeavesHardwareThatBecameSlow) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(10)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  Start();
  gpu_script().OnRun([this](auto) { clock_.Advance(microseconds(1000)); });
  std::string last = kGpuName;
  for (uint64_t i = 0; i < 20 && last == kGpuName; ++i) {
    PoolJob job(Placement::kAuto, i);
    ASSERT_TRUE(pool_->Submit(job));
    ASSERT_TRUE(job.Wait().ok());
    last = job.device();
  }
  EXPECT_EQ(last, kCpuName);
}

TEST_F(DevicePoolTest, AutoLeavesAProcessorThatBecameSlow) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(90)); });
  Start();
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(1000)); });
  std::string last = kCpuName;
  for (uint64_t i = 0; i < 20 && last == kCpuName; ++i) {
    PoolJob job(Placement::kAuto, i);
    ASSERT_TRUE(pool_->Submit(job));
    ASSERT_TRUE(job.Wait().ok());
    last = job.device();
  }
  EXPECT_EQ(last, kGpuName);
}

// Costs are learnt from runs alone: without work a device could never show that it is fast again.
TEST_F(DevicePoolTest, AutoFindsHardwareThatIsFastAgain) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(1000)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  Start();
  gpu_script().OnRun([this](auto) { clock_.Advance(microseconds(10)); });
  uint64_t placed = 0;
  for (std::string last; last != kGpuName; ++placed) {
    ASSERT_LT(placed, 2000u);
    PoolJob job(Placement::kAuto, placed);
    ASSERT_TRUE(pool_->Submit(job));
    ASSERT_TRUE(job.Wait().ok());
    last = job.device();
  }
  // A hundredth of what they took had to pay for what was expected to be lost.
  EXPECT_GT(placed, 800u);
}

TEST_F(DevicePoolTest, NoRequestIsLateBecauseAutoTriedADevice) {
  UseHardware();
  gpu_->PrepareScripts([this](NullScript& script) {
    script.OnRun([this](auto) { clock_.Advance(microseconds(1000)); });
  });
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(100)); });
  Start();
  for (uint64_t i = 0; i < 2000; ++i) {
    PoolJob job(Placement::kAuto, i, kRoundSpec, [this](JobTraits& traits) {
      traits.accepted = clock_.Now();
      traits.deadline = clock_.Now() + microseconds(2000);
    });
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, kCpuName);
  }
}

TEST_F(DevicePoolTest, GpusShareTheLoad) {
  Start(ManualOptions(), 2);
  PoolJob first(Placement::kGpu, 1);
  gpu_script().CloseGate();
  second_gpu_.script()->CloseGate();
  ASSERT_TRUE(pool_->Submit(first));
  gpu_script().WaitForBlocked(1);
  PoolJob second(Placement::kGpu, 2);
  PoolJob third(Placement::kGpu, 3);
  ASSERT_TRUE(pool_->Submit(second));
  ASSERT_TRUE(pool_->Submit(third));
  second_gpu_.script()->WaitForBlocked(1);
  gpu_script().OpenGate();
  second_gpu_.script()->OpenGate();
  ExpectAnswered(first, kGpuName);
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_TRUE(third.Wait().ok());
}

// Costs are learnt from runs alone: without work a GPU could never show that it is fast again.
TEST_F(DevicePoolTest, AGpuThatWasSlowOnceGetsWorkAgain) {
  Start(ManualOptions(), 2);
  gpu_script().OnRun(
      [this](std::span<const DeviceCall>) { clock_.Advance(std::chrono::hours(1)); });
  PoolJob slow(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(slow));
  ExpectAnswered(slow, kGpuName);
  gpu_script().OnRun(nullptr);
  const uint64_t before = gpu_script().run_count();
  for (uint32_t i = 0; i < 500; ++i) {
    PoolJob job(Placement::kGpu, i);
    ASSERT_TRUE(pool_->Submit(job));
    EXPECT_TRUE(job.Wait().ok());
  }
  EXPECT_GT(gpu_script().run_count(), before);
}

TEST_F(DevicePoolTest, WhatWaitsForABusyGpuRunsTogether) {
  Start();
  const auto jobs = MakeJobs(5);
  RunTogether(jobs);
  for (const auto& job : jobs) {
    ExpectAnswered(*job, kGpuName);
    EXPECT_EQ(job->record().batch_size, 5u);
  }
  EXPECT_THAT(gpu_status().counters.batches, ElementsAre(Pair(1, 1), Pair(5, 1)));
  EXPECT_EQ(gpu_status().counters.requests, 6u);
}

TEST_F(DevicePoolTest, TheProcessorTakesJobsOneByOne) {
  Start();
  cpu_->CloseGate();
  std::vector<std::unique_ptr<PoolJob>> jobs;
  for (uint64_t i = 0; i < 5; ++i) {
    jobs.push_back(std::make_unique<PoolJob>(Placement::kCpu, i));
    ASSERT_TRUE(pool_->Submit(*jobs.back()));
  }
  cpu_->OpenGate();
  for (const auto& job : jobs) ExpectAnswered(*job, kCpuName);
  EXPECT_THAT(StatusOf(0).counters.batches, ElementsAre(Pair(1, 5)));
}

TEST_F(DevicePoolTest, AJobThatCannotBePreparedIsRefusedAlone) {
  Start();
  const auto jobs = MakeJobs(3);
  jobs[1]->FailPrepare(absl::ResourceExhaustedError("too large"));
  RunTogether(jobs);
  ExpectAnswered(*jobs[0], kGpuName);
  ExpectAnswered(*jobs[2], kGpuName);
  EXPECT_EQ(jobs[1]->Wait(), absl::ResourceExhaustedError("too large"));
  EXPECT_EQ(jobs[0]->record().batch_size, 2u);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
}

TEST_F(DevicePoolTest, ExceptionsRefuseTheBatchAndNothingElse) {
  Start();
  const auto jobs = MakeJobs(3);
  jobs[1]->OnPrepare([] { throw std::bad_alloc(); });
  RunTogether(jobs);
  for (const auto& job : jobs) {
    EXPECT_TRUE(absl::IsResourceExhausted(job->Wait()));
    EXPECT_EQ(job->ends(), 1);
  }
  PoolJob on_gpu(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(on_gpu));
  ExpectAnswered(on_gpu, kGpuName);

  PoolJob on_cpu(Placement::kCpu, 1);
  on_cpu.OnPrepare([] { throw std::bad_alloc(); });
  ASSERT_TRUE(pool_->Submit(on_cpu));
  EXPECT_TRUE(absl::IsResourceExhausted(on_cpu.Wait()));
}

TEST_F(DevicePoolTest, ADeviceThatThrowsDoesNotEndTheProcess) {
  Start();
  gpu_script().OnRun([](auto) { throw std::bad_alloc(); });
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_TRUE(absl::IsResourceExhausted(job.Wait()));
}

TEST_F(DevicePoolTest, VerifiesWhereAskedTo) {
  Start();
  const auto verify = [](JobTraits& traits) { traits.verify = true; };
  PoolJob on_gpu(Placement::kGpu, 1, kRoundSpec, verify);
  PoolJob on_cpu(Placement::kCpu, 2, kRoundSpec, verify);
  ASSERT_TRUE(pool_->Submit(on_gpu));
  ExpectAnswered(on_gpu, kGpuName);
  ASSERT_TRUE(pool_->Submit(on_cpu));
  ExpectAnswered(on_cpu, kCpuName);
  EXPECT_TRUE(on_gpu.record().is_verified);
  EXPECT_FALSE(on_cpu.record().is_verified);
  EXPECT_EQ(gpu_status().counters.verified, 1u);
  EXPECT_EQ(gpu_status().counters.mismatches, 0u);
}

TEST_F(DevicePoolTest, VerifiesTheShareItIsToldTo) {
  PoolOptions options = ManualOptions();
  options.verify_rate = 0.25;
  Start(options);
  for (uint64_t i = 0; i < 40; ++i) {
    PoolJob job(Placement::kGpu, i);
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, kGpuName);
    EXPECT_EQ(job.record().is_verified, i % 4 == 3) << i;
  }
  EXPECT_EQ(gpu_status().counters.verified, 10u);
}

TEST_F(DevicePoolTest, CancelsOnlyWhatWaits) {
  Start();
  const auto jobs = MakeJobs(3);
  RunTogether(jobs, [&] {
    EXPECT_TRUE(pool_->Cancel(*jobs[1]));
    EXPECT_FALSE(pool_->Cancel(*jobs[1]));
  });
  ExpectAnswered(*jobs[0], kGpuName);
  EXPECT_TRUE(absl::IsCancelled(jobs[1]->Wait()));
  ExpectAnswered(*jobs[2], kGpuName);
  EXPECT_FALSE(pool_->Cancel(*jobs[0]));
}

// Nobody wants the result of what its device could not do.
TEST_F(DevicePoolTest, WhatIsCancelledWhileItRunsIsNotRunAgain) {
  Start();
  const auto jobs = MakeJobs(2);
  gpu_script().CloseGate();
  gpu_script().LoseAtRun(1);
  ASSERT_TRUE(pool_->Submit(*jobs[0]));
  gpu_script().WaitForBlocked(1);
  ASSERT_TRUE(pool_->Submit(*jobs[1]));
  EXPECT_FALSE(pool_->Cancel(*jobs[0]));
  gpu_script().OpenGate();
  EXPECT_TRUE(absl::IsCancelled(jobs[0]->Wait()));
  EXPECT_EQ(jobs[0]->ends(), 1);
  ExpectAnswered(*jobs[1], kCpuName);
}

TEST_F(DevicePoolTest, JobsPastTheirDeadlineAreNotRun) {
  Start();
  const auto jobs = MakeJobs(1);
  PoolJob late(Placement::kGpu, 7, kRoundSpec,
               [this](JobTraits& traits) { traits.deadline = clock_.Now() + microseconds(5); });
  RunTogether(jobs, [&] {
    ASSERT_TRUE(pool_->Submit(late));
    clock_.Advance(microseconds(5));
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(late.Wait()));
  ExpectAnswered(*jobs[0], kGpuName);
}

TEST_F(DevicePoolTest, WhatIsAcceptedIsAnsweredBeforeTheEnd) {
  Start();
  auto jobs = MakeJobs(20);
  for (uint64_t i = 0; i < 20; ++i) {
    jobs.push_back(std::make_unique<PoolJob>(Placement::kCpu, i));
  }
  for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
  pool_->Close();
  PoolJob after(Placement::kCpu, 1);
  EXPECT_FALSE(pool_->Submit(after));
  pool_ = nullptr;
  for (const auto& job : jobs) {
    EXPECT_EQ(job->ends(), 1);
    EXPECT_TRUE(job->Wait().ok());
  }
  EXPECT_EQ(after.ends(), 0);
}

// At the end there is nowhere else to go for GPU jobs than the processor.
TEST_F(DevicePoolTest, JobsOfALostDeviceAreAnsweredBeforeTheEnd) {
  Start(ManualOptions(), 2);
  gpu_script().LoseAtRun(1);
  second_gpu_.script()->LoseAtRun(1);
  const auto jobs = MakeJobs(20);
  for (const auto& job : jobs) ASSERT_TRUE(pool_->Submit(*job));
  pool_ = nullptr;
  for (const auto& job : jobs) {
    EXPECT_EQ(job->ends(), 1);
    EXPECT_TRUE(job->Wait().ok());
  }
}

TEST_F(DevicePoolTest, TellsWhatItHas) {
  gpu_->PrepareScripts(
      [](NullScript& script) { script.Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  Start();
  EXPECT_TRUE(pool_->has_gpus());
  EXPECT_TRUE(pool_->gpu_ready());
  EXPECT_THAT(pool_->DevicesFor(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32),
              ElementsAre(kCpuName));
  EXPECT_THAT(pool_->DevicesFor(OpId::ELEMENT_WISE_ROUND, DataType::kFloat16),
              ElementsAre(kCpuName, kGpuName));
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
}

TEST_F(DevicePoolTest, WorksWithoutGpus) {
  Start(ManualOptions(), 0);
  EXPECT_FALSE(pool_->has_gpus());
  EXPECT_FALSE(pool_->gpu_ready());
  EXPECT_EQ(pool_->Maintain(), Clock::kNever);
  EXPECT_TRUE(pool_->SelfTest("")->empty());
  for (Placement placement : {Placement::kAuto, Placement::kGpu, Placement::kCpu}) {
    PoolJob job(placement, 1);
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, kCpuName);
  }
}

TEST_F(DevicePoolTest, SelfTestReportsEachGpu) {
  Start(ManualOptions(), 2);
  const auto all = pool_->SelfTest("");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].device, kGpuName);
  EXPECT_TRUE((*all)[0].status.ok());
  EXPECT_GT((*all)[0].cases, 100);
  const auto second = pool_->SelfTest(kSecondGpuName);
  ASSERT_TRUE(second.ok());
  ASSERT_EQ(second->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(pool_->SelfTest("null/2").status()));
  EXPECT_TRUE(absl::IsNotFound(pool_->SelfTest(kCpuName).status()));
}

TEST_F(DevicePoolTest, SelfTestsRunOneAtATime) {
  gpu_->PrepareScripts(
      [](NullScript& script) { script.SupportOnly(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  Start();
  gpu_script().CloseGate();
  std::thread first([this] { EXPECT_TRUE(pool_->SelfTest("").ok()); });
  gpu_script().WaitForBlocked(1);
  EXPECT_TRUE(absl::IsResourceExhausted(pool_->SelfTest("").status()));
  gpu_script().OpenGate();
  first.join();
  EXPECT_TRUE(pool_->SelfTest("").ok());
}

// Between two runs, wherever it is; which says nothing of any device.
TEST_F(DevicePoolTest, AStoppedSelfTestCountsForNothing) {
  gpu_->PrepareScripts(
      [](NullScript& script) { script.SupportOnly(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  Start(ManualOptions(), 2);
  std::atomic<bool> stop = false;
  const uint64_t last = gpu_script().run_count() + 5;
  const uint64_t second_runs = second_gpu_.script()->run_count();
  gpu_script().OnRun([&](auto) {
    if (gpu_script().run_count() == last) stop = true;
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(absl::IsCancelled(pool_->SelfTest("", &stop).status()));
    EXPECT_EQ(gpu_script().run_count(), last);
    EXPECT_EQ(second_gpu_.script()->run_count(), second_runs);
  }
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
  EXPECT_EQ(gpu_status().counters.faults, 0u);
  EXPECT_TRUE(gpu_status().is_idle);
  stop = false;
  const auto results = pool_->SelfTest(kGpuName, &stop);
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(results->front().status.ok());
}

// What was found before that is true all the same.
TEST_F(DevicePoolTest, ASelfTestThatFailsAsItIsStoppedHasFailed) {
  Start();
  std::atomic<bool> stop = false;
  gpu_script().OnRun([&](auto) { stop = true; });
  gpu_script().CorruptAll(true);
  const auto results = pool_->SelfTest("", &stop);
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(absl::IsDataLoss(results->front().status));
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
}

TEST_F(DevicePoolTest, AFailedSelfTestQuarantines) {
  Start();
  gpu_script().CorruptAll(true);
  const auto results = pool_->SelfTest("");
  ASSERT_TRUE(results.ok());
  EXPECT_THAT(std::string((*results)[0].status.message()), HasSubstr("ELEMENT_WISE_ABS"));
  EXPECT_EQ(gpu_status().state, DeviceState::kQuarantined);
  EXPECT_THAT(gpu_status().reason, HasSubstr("ELEMENT_WISE_ABS"));
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_TRUE(absl::IsUnavailable((*pool_->SelfTest(""))[0].status));
}

}  // namespace
}  // namespace opserve::testing
