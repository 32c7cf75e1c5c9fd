// Small jobs of the processor run in the thread that submits them.

#include <chrono>
#include <new>
#include <thread>

#include "gtest/gtest.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;

class PoolInlineTest : public PoolTest {
 protected:
  void SetUp() override {
    cpu_->OnRun([this](auto) { ran_in_ = std::this_thread::get_id(); });
  }

  static PoolOptions InlineOptions(uint64_t bytes = 1 << 20) {
    PoolOptions options = ManualOptions();
    options.inline_bytes = bytes;
    return options;
  }

  // Whether the last job ran before Submit returned.
  bool ran_here() const { return ran_in_ == std::this_thread::get_id(); }

  std::thread::id ran_in_;
};

TEST_F(PoolInlineTest, AnswersBeforeSubmitReturns) {
  Start(InlineOptions());
  PoolJob job(Placement::kAuto, 1);
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.ends(), 1);
  EXPECT_TRUE(ran_here());
  ExpectAnswered(job, kCpuName);
}

// Only a queue needs to know who sent a job.
TEST_F(PoolInlineTest, TellsBeforeAJobIsQueued) {
  for (const uint64_t inline_bytes : {0, 1 << 20}) {
    Start(InlineOptions(inline_bytes));
    int calls = 0;
    PoolJob job(Placement::kAuto, 1);
    ASSERT_TRUE(pool_->Submit(job, [&] {
      ++calls;
      EXPECT_EQ(job.ends(), 0);
    }));
    ExpectAnswered(job, kCpuName);
    EXPECT_EQ(calls, inline_bytes == 0 ? 1 : 0);
  }
}

TEST_F(PoolInlineTest, RefusesAJobThatThereIsNoMemoryToQueue) {
  Start(InlineOptions(0));
  PoolJob job(Placement::kAuto, 1);
  EXPECT_TRUE(pool_->Submit(job, [] { throw std::bad_alloc(); }));
  EXPECT_EQ(job.ends(), 1);
  EXPECT_TRUE(absl::IsResourceExhausted(job.Wait()));
}

TEST_F(PoolInlineTest, CountsAndMeasuresLikeAnyOther) {
  Start(InlineOptions());
  cpu_->OnRun([this](auto) { clock_.Advance(microseconds(7)); });
  PoolJob job(Placement::kCpu, 1, kRoundSpec,
              [this](JobTraits& traits) { traits.accepted = clock_.Now() - microseconds(3); });
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.record().queued, microseconds(3));
  EXPECT_EQ(job.record().ran, microseconds(7));
  EXPECT_EQ(job.record().attempts, 1);
  EXPECT_EQ(StatusOf(0).counters.requests, 1u);
  EXPECT_EQ(StatusOf(0).in_flight, 0);
  EXPECT_EQ(StatusOf(0).pending, 0u);
}

TEST_F(PoolInlineTest, TheLimitCountsInputsAndOutputs) {
  PoolJob job(Placement::kCpu, 1);
  Start(InlineOptions(job.traits().bytes - 1));
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kCpuName);
  EXPECT_FALSE(ran_here());
}

TEST_F(PoolInlineTest, WhatMayWaitGoesToTheQueue) {
  Start(InlineOptions());
  for (bool JobTraits::*const waits :
       {&JobTraits::waits_for_inputs, &JobTraits::results_may_wait}) {
    PoolJob job(Placement::kCpu, 1, kRoundSpec,
                [waits](JobTraits& traits) { traits.*waits = true; });
    ASSERT_TRUE(pool_->Submit(job));
    ExpectAnswered(job, kCpuName);
    EXPECT_FALSE(ran_here());
  }
}

// Whoever submits jobs has more to do than to run them.
TEST_F(PoolInlineTest, JobsThatTakeLongGoToTheQueue) {
  const SampleSpec large = {
      .op = OpId::ELEMENT_WISE_ROUND, .lane = DataType::kFloat32, .count = 10'000};
  for (const int us : {1, 1000}) {
    Start(InlineOptions());
    cpu_->OnRun([this, us](auto) {
      ran_in_ = std::this_thread::get_id();
      clock_.Advance(microseconds(us));
    });
    // Nothing is known of the first.
    PoolJob first(Placement::kCpu, 1, large);
    ASSERT_TRUE(pool_->Submit(first));
    ExpectAnswered(first, kCpuName);
    EXPECT_TRUE(ran_here());
    PoolJob second(Placement::kCpu, 2, large);
    ASSERT_TRUE(pool_->Submit(second));
    ExpectAnswered(second, kCpuName);
    EXPECT_EQ(ran_here(), us == 1);
  }
}

// One that is short alone is not beside others.
TEST_F(PoolInlineTest, JobsThatWouldShareTheProcessorGoToTheQueueSooner) {
  const SampleSpec large = {
      .op = OpId::ELEMENT_WISE_ROUND, .lane = DataType::kFloat32, .count = 10'000};
  Start(InlineOptions());
  PoolJob known(Placement::kCpu, 1, large);
  PoolJob beside(Placement::kCpu, 2, large);
  PoolJob queued(Placement::kCpu, 3, large, [](JobTraits& traits) { traits.bytes = 2 << 20; });
  int ends_at_once = -1;
  cpu_->OnRun([&](auto) {
    ran_in_ = std::this_thread::get_id();
    clock_.Advance(microseconds(200));
    // In the only worker, once.
    if (known.ends() == 0 || ends_at_once != -1) return;
    ends_at_once = 0;
    ASSERT_TRUE(pool_->Submit(beside));
    ends_at_once = beside.ends();
  });
  ASSERT_TRUE(pool_->Submit(known));
  EXPECT_TRUE(ran_here());
  ASSERT_TRUE(pool_->Submit(queued));
  ExpectAnswered(queued, kCpuName);
  ExpectAnswered(beside, kCpuName);
  EXPECT_EQ(ends_at_once, 0);
}

TEST_F(PoolInlineTest, GpusRunNothingInline) {
  Start(InlineOptions());
  PoolJob job(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(job));
  ExpectAnswered(job, kGpuName);
  EXPECT_EQ(cpu_->run_count(), 0u);
}

// Whoever waits already goes first.
TEST_F(PoolInlineTest, WaitsBehindThoseThatWait) {
  PoolJob small(Placement::kCpu, 1);
  Start(InlineOptions(small.traits().bytes));
  const SampleSpec large_spec = {
      .op = OpId::ELEMENT_WISE_ROUND, .lane = DataType::kFloat32, .count = 1000};
  PoolJob running(Placement::kCpu, 2, large_spec);
  PoolJob waiting(Placement::kCpu, 3, large_spec);
  cpu_->CloseGate();
  ASSERT_TRUE(pool_->Submit(running));
  cpu_->WaitForBlocked(1);
  ASSERT_TRUE(pool_->Submit(waiting));
  ASSERT_TRUE(pool_->Submit(small));
  EXPECT_EQ(small.ends(), 0);
  EXPECT_EQ(StatusOf(0).pending, 2u);
  cpu_->OpenGate();
  for (PoolJob* job : {&running, &waiting, &small}) ExpectAnswered(*job, kCpuName);
  EXPECT_FALSE(ran_here());
}

TEST_F(PoolInlineTest, WhatIsLateIsNotRun) {
  Start(InlineOptions());
  PoolJob job(Placement::kCpu, 1, kRoundSpec,
              [this](JobTraits& traits) { traits.deadline = clock_.Now(); });
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.Wait().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(cpu_->run_count(), 0u);
}

TEST_F(PoolInlineTest, NothingIsAcceptedAfterClose) {
  Start(InlineOptions());
  pool_->Close();
  PoolJob job(Placement::kCpu, 1);
  EXPECT_FALSE(pool_->Submit(job));
  EXPECT_EQ(job.ends(), 0);
}

TEST_F(PoolInlineTest, AFailureRefusesTheJob) {
  Start(InlineOptions());
  PoolJob job(Placement::kCpu, 1);
  job.FailPrepare(absl::ResourceExhaustedError("no room"));
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.Wait().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(job.ends(), 1);
  EXPECT_EQ(StatusOf(0).in_flight, 0);
}

}  // namespace
}  // namespace opserve::testing
