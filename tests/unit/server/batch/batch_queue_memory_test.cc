// A BatchQueue whose threads get no memory for a while: they go on, and no job is lost.

#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

#include "gtest/gtest.h"
#include "server/batch/batch_queue.h"
#include "tests/testing/memory_shortage.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;

// Counts how often it is refused, and needs no memory for that.
class RefusedJob final : public Job {
 public:
  using Job::Job;

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    return absl::InternalError("not to be run");
  }
  void Answer(const RunRecord&) override {}
  void Refuse(const absl::Status& why) override {
    ++refusals_;
    code_ = why.code();
  }

  int refusals() const { return refusals_; }
  absl::StatusCode code() const { return code_; }

 private:
  int refusals_ = 0;
  absl::StatusCode code_ = absl::StatusCode::kOk;
};

class BatchQueueMemoryTest : public ::testing::Test {
 protected:
  RefusedJob& Add(BatchQueue& queue, JobTraits traits) {
    traits.accepted = clock_.Now();
    RefusedJob& job = jobs_.emplace_back(std::move(traits));
    EXPECT_TRUE(queue.Enqueue(job));
    return job;
  }

  SimulatedClock clock_;
  std::deque<RefusedJob> jobs_;
};

TEST_F(BatchQueueMemoryTest, WhicheverAllocationFailsTheNextLookTakesTheBatch) {
  bool is_short = true;
  for (int64_t allocations = 0; is_short; ++allocations) {
    ASSERT_LT(allocations, 100);
    BatchQueue queue(clock_, {.max_requests = 8, .max_in_flight = 1});
    RefusedJob& first = Add(queue, {.lane = LaneNumber(1), .client = "a"});
    RefusedJob& other = Add(queue, {.lane = LaneNumber(2), .client = "a"});
    RefusedJob& second = Add(queue, {.lane = LaneNumber(1), .client = "b", .name = "of b"});
    RefusedJob& third = Add(queue, {.lane = LaneNumber(1), .client = "b"});
    Clock::TimePoint wake_at = Clock::kNever;
    Batch batch;
    {
      const ScopedShortage shortage(allocations);
      batch = queue.TryTake(&wake_at);
      is_short = allocations_left < 0;
    }
    EXPECT_EQ(batch.empty(), is_short);
    if (is_short) {
      EXPECT_EQ(wake_at, clock_.Now() + milliseconds(10));
      EXPECT_EQ(queue.load().in_flight, 0);
      batch = queue.TryTake();
    }
    EXPECT_EQ(batch, (Batch{&first, &second, &third})) << allocations;
    EXPECT_EQ(queue.load().pending, 1u);
    EXPECT_EQ(queue.load().in_flight, 1);
    queue.Done();
    EXPECT_EQ(queue.TryTake(), Batch{&other});
  }
}

// Though there is no memory for its error, nor for what goes on.
TEST_F(BatchQueueMemoryTest, WhatIsLateIsRefused) {
  BatchQueue queue(clock_, {.max_requests = 8, .max_in_flight = 1});
  RefusedJob& late = Add(queue, {.client = "a", .deadline = clock_.Now()});
  RefusedJob& job = Add(queue, {.client = "a"});
  {
    const ScopedShortage shortage(1);
    EXPECT_TRUE(queue.TryTake().empty());
  }
  EXPECT_EQ(late.refusals(), 1);
  EXPECT_EQ(late.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(queue.TryTake(), Batch{&job});
}

TEST_F(BatchQueueMemoryTest, AThreadWaitsForMemoryAndTakesTheBatchThen) {
  BatchQueue queue(clock_, {.max_requests = 8, .max_in_flight = 1});
  allocations_left = 0;
  RefusedJob& late = Add(queue, {.client = "a", .deadline = clock_.Now()});
  RefusedJob& job = Add(queue, {.client = "b"});
  Batch batch;
  std::thread taker([&] {
    is_short_of_memory = true;
    batch = queue.Take();
  });
  // It has looked by then.
  while (allocations_left == 0) std::this_thread::yield();
  EXPECT_EQ(queue.load().pending, 2u);
  allocations_left = INT64_MAX;
  taker.join();
  EXPECT_EQ(batch, Batch{&job});
  EXPECT_EQ(late.refusals(), 1);
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
}

// A job that is given up has left the queue: where its error needs memory that is not there, it has
// another one.
TEST_F(BatchQueueMemoryTest, WhatIsCancelledIsRefused) {
  BatchQueue queue(clock_, {.max_requests = 8, .max_in_flight = 1});
  RefusedJob& job = Add(queue, {.client = "a"});
  {
    const ScopedShortage shortage(0);
    EXPECT_TRUE(queue.Cancel(job));
  }
  EXPECT_EQ(job.refusals(), 1);
  EXPECT_EQ(job.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(queue.load().pending, 0u);
}

}  // namespace
}  // namespace opserve::testing
