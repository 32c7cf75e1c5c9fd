#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rate_limiter.h"
#include "server/work_queue.h"
#include "server/worker_pool.h"
#include "tests/unit/server_simulated_clock.h"
#include "tests/unit/server_status_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// Notes how it was answered: "run after 5 ms" or the reason for which it was dropped.
class RecordedWork final : public Work {
 public:
  void Run(Clock::Duration queued) override {
    answers_.push_back("run after " +
                       std::to_string(std::chrono::duration_cast<milliseconds>(queued).count()) +
                       " ms");
  }
  void Drop(const absl::Status& why) override {
    const auto info = Detail<rpc::ErrorInfo>(why, kErrorInfoUrl);
    answers_.push_back(info->reason() + " after " + info->metadata().at("queued_ms") + " ms");
  }
  const std::vector<std::string>& answers() const { return answers_; }

 private:
  std::vector<std::string> answers_;
};

class WorkQueueTest : public ::testing::Test {
 protected:
  Clock::TimePoint In(milliseconds delay) const { return clock_.Now() + delay; }

  SimulatedClock clock_;
  WorkQueue queue_{clock_};
};

TEST_F(WorkQueueTest, RunsInOrderOfArrival) {
  RecordedWork first;
  RecordedWork second;
  ASSERT_TRUE(queue_.Enqueue(first, Clock::kNever));
  clock_.Advance(milliseconds(5));
  ASSERT_TRUE(queue_.Enqueue(second, Clock::kNever));
  EXPECT_EQ(queue_.size(), 2u);
  clock_.Advance(milliseconds(2));
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_THAT(first.answers(), ElementsAre("run after 7 ms"));
  EXPECT_THAT(second.answers(), ElementsAre());
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_THAT(second.answers(), ElementsAre("run after 2 ms"));
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(WorkQueueTest, DropsWhatIsTooLate) {
  RecordedWork late;
  RecordedWork on_time;
  queue_.Enqueue(late, In(milliseconds(10)));
  queue_.Enqueue(on_time, In(milliseconds(11)));
  clock_.Advance(milliseconds(10));
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_THAT(late.answers(), ElementsAre("DEADLINE_PASSED after 10 ms"));
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_THAT(on_time.answers(), ElementsAre("run after 10 ms"));
}

TEST_F(WorkQueueTest, CancelsOnlyWhatIsQueued) {
  RecordedWork cancelled;
  RecordedWork started;
  const auto first = queue_.Enqueue(cancelled, Clock::kNever);
  const auto second = queue_.Enqueue(started, Clock::kNever);
  clock_.Advance(milliseconds(3));
  EXPECT_TRUE(queue_.Cancel(*first));
  EXPECT_FALSE(queue_.Cancel(*first));
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_FALSE(queue_.Cancel(*second));
  EXPECT_THAT(cancelled.answers(), ElementsAre("REQUEST_CANCELLED after 3 ms"));
  EXPECT_THAT(started.answers(), ElementsAre("run after 3 ms"));
}

// gRPC reports a deadline that passed as a cancellation.
TEST_F(WorkQueueTest, TellsDeadlinesFromCancellations) {
  RecordedWork work;
  const auto ticket = queue_.Enqueue(work, In(milliseconds(4)));
  clock_.Advance(milliseconds(4));
  EXPECT_TRUE(queue_.Cancel(*ticket));
  EXPECT_THAT(work.answers(), ElementsAre("DEADLINE_PASSED after 4 ms"));
}

TEST_F(WorkQueueTest, FinishesWhatIsQueuedAfterClose) {
  RecordedWork queued;
  RecordedWork refused;
  queue_.Enqueue(queued, Clock::kNever);
  queue_.Close();
  EXPECT_EQ(queue_.Enqueue(refused, Clock::kNever), std::nullopt);
  EXPECT_TRUE(queue_.RunNext());
  EXPECT_FALSE(queue_.RunNext());
  EXPECT_THAT(queued.answers(), ElementsAre("run after 0 ms"));
  EXPECT_THAT(refused.answers(), ElementsAre());
}

// Counts its answers; many threads race to give it one.
class CountedWork final : public Work {
 public:
  void Run(Clock::Duration) override { ++answers_; }
  void Drop(const absl::Status&) override { ++answers_; }
  int answers() const { return answers_; }

 private:
  std::atomic<int> answers_{0};
};

TEST_F(WorkQueueTest, AnswersEachWorkOnceWhileCancellationsRace) {
  constexpr int kWork = 5000;
  std::deque<CountedWork> works(kWork);
  {
    const WorkerPool workers(queue_, 4);
    std::vector<std::thread> producers;
    for (int p = 0; p < 2; ++p) {
      producers.emplace_back([this, &works, p] {
        for (int i = p; i < kWork; i += 2) {
          const auto ticket = queue_.Enqueue(works[static_cast<size_t>(i)], Clock::kNever);
          if (i % 3 == 0) queue_.Cancel(*ticket);
        }
      });
    }
    for (std::thread& producer : producers) producer.join();
  }
  for (const CountedWork& work : works) EXPECT_EQ(work.answers(), 1);
}

TEST(RateLimiterTest, LetsOneEventPassPerInterval) {
  SimulatedClock clock;
  RateLimiter limiter(clock, milliseconds(100));
  EXPECT_EQ(limiter.Pass(), std::optional<uint64_t>(0));
  EXPECT_EQ(limiter.Pass(), std::nullopt);
  clock.Advance(milliseconds(99));
  EXPECT_EQ(limiter.Pass(), std::nullopt);
  clock.Advance(milliseconds(1));
  EXPECT_EQ(limiter.Pass(), std::optional<uint64_t>(2));
  clock.Advance(milliseconds(100));
  EXPECT_EQ(limiter.Pass(), std::optional<uint64_t>(0));
}

}  // namespace
}  // namespace opserve::testing
