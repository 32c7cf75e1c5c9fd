// Many threads at one BatchQueue.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/batch/batch_queue.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;

// Counts its answers, and tells when it has one.
class CountedJob final : public Job {
 public:
  explicit CountedJob(JobTraits traits) : Job(std::move(traits)) {}

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    return absl::InternalError("not to be run");
  }
  void Answer(const RunRecord&) override { Count(); }
  void Refuse(const absl::Status& why) override {
    refusal_ = ReasonOf(why);
    Count();
  }

  int answers() const { return answers_; }
  // Waits for the first answer.
  std::string refusal() {
    answered_.get_future().wait();
    return refusal_;
  }

 private:
  void Count() {
    if (++answers_ == 1) answered_.set_value();
  }

  std::string refusal_;
  std::atomic<int> answers_{0};
  std::promise<void> answered_;
};

TEST(BatchQueueThreadsTest, AnswersEachJobOnceWhileCancellationsRace) {
  constexpr int kJobs = 8000;
  constexpr int kProducers = 4;
  constexpr int kTakers = 3;
  BatchLimits limits;
  limits.max_requests = 16;
  limits.max_in_flight = kTakers;
  limits.max_delay = std::chrono::microseconds(50);
  BatchQueue queue(SteadyClock(), limits);
  std::deque<CountedJob> jobs;
  for (int i = 0; i < kJobs; ++i) {
    const Clock::TimePoint now = SteadyClock().Now();
    jobs.emplace_back(JobTraits{.lane = LaneNumber(i % 5),
                                .bytes = 10,
                                .client = std::to_string(i % 7),
                                .priority = static_cast<Priority>(i % kPriorityCount),
                                .accepted = now,
                                .deadline = i % 11 == 0 ? now : Clock::kNever});
  }
  std::vector<std::thread> takers;
  for (int t = 0; t < kTakers; ++t) {
    takers.emplace_back([&queue] {
      for (Batch batch = queue.Take(); !batch.empty(); batch = queue.Take()) {
        for (Job* job : batch) job->Answer({});
        queue.Done();
      }
    });
  }
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&queue, &jobs, p] {
      for (size_t i = static_cast<size_t>(p); i < kJobs; i += kProducers) {
        ASSERT_TRUE(queue.Enqueue(jobs[i]));
        if (i % 3 == 0) queue.Cancel(jobs[i]);
        if (i % 1000 == 0) {
          for (Job* job : queue.Flush()) job->Answer({});
        }
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  queue.Close();
  for (std::thread& taker : takers) taker.join();
  for (const CountedJob& job : jobs) ASSERT_EQ(job.answers(), 1);
  EXPECT_EQ(queue.load().pending, 0u);
  EXPECT_EQ(queue.load().in_flight, 0);
}

TEST(BatchQueueThreadsTest, WaitingThreadRefusesAtTheDeadlineOfABusyDevice) {
  BatchLimits limits;
  limits.max_in_flight = 1;
  BatchQueue queue(SteadyClock(), limits);
  CountedJob running{JobTraits{}};
  ASSERT_TRUE(queue.Enqueue(running));
  ASSERT_EQ(queue.Take().size(), 1u);
  std::thread taker([&queue] { EXPECT_TRUE(queue.Take().empty()); });
  CountedJob late{JobTraits{.deadline = SteadyClock().Now() + milliseconds(5)}};
  ASSERT_TRUE(queue.Enqueue(late));
  EXPECT_EQ(late.refusal(), "DEADLINE_PASSED");
  EXPECT_GE(SteadyClock().Now(), late.traits().deadline);
  queue.Close();
  taker.join();
}

// A thread that takes a batch leaves others to watch the rest.
TEST(BatchQueueThreadsTest, WaitingThreadTakesWhatGatheredLongEnough) {
  BatchLimits limits;
  limits.max_delay = milliseconds(2);
  limits.max_in_flight = 4;
  BatchQueue queue(SteadyClock(), limits);
  std::deque<CountedJob> jobs;
  for (int lane = 0; lane < 4; ++lane) jobs.emplace_back(JobTraits{.lane = LaneNumber(lane)});
  std::vector<std::thread> takers;
  for (int t = 0; t < 4; ++t) {
    // Each takes one batch and never ends it.
    takers.emplace_back([&queue] { EXPECT_EQ(queue.Take().size(), 1u); });
  }
  for (CountedJob& job : jobs) ASSERT_TRUE(queue.Enqueue(job));
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(queue.load().in_flight, 4);
}

// Counts how often a queue has looked at what is due: it asks for the time under its lock, which it
// gives up only to wait.
class CountedClock final : public Clock {
 public:
  TimePoint Now() const override {
    ++looks_;
    looks_.notify_all();
    return SteadyClock().Now();
  }
  int looks() const { return looks_; }
  void AwaitLooks(int count) const {
    for (int seen = looks_; seen < count; seen = looks_) looks_.wait(seen);
  }

 private:
  mutable std::atomic<int> looks_{0};
};

TEST(BatchQueueThreadsTest, WhoeverTakesABatchWakesTheNext) {
  const CountedClock clock;
  BatchLimits limits;
  limits.max_delay = {};
  limits.max_in_flight = 3;
  BatchQueue queue(clock, limits);
  queue.Reserve(/*lease=*/1);
  std::deque<CountedJob> jobs;
  for (int lane = 0; lane < 3; ++lane) jobs.emplace_back(JobTraits{.lane = LaneNumber(lane)});
  for (CountedJob& job : jobs) ASSERT_TRUE(queue.Enqueue(job));
  const int before = clock.looks();
  std::vector<std::thread> takers;
  for (int t = 0; t < 3; ++t) {
    // Each takes one batch and never ends it.
    takers.emplace_back([&queue] { EXPECT_EQ(queue.Take().size(), 1u); });
  }
  clock.AwaitLooks(before + 3);
  // Which tells one of them of all jobs.
  queue.EndReservation();
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(queue.load().in_flight, 3);
}

TEST(BatchQueueThreadsTest, ACancellationOfTheLastJobWakesAllThatWait) {
  const CountedClock clock;
  BatchLimits limits;
  limits.max_in_flight = 1;
  BatchQueue queue(clock, limits);
  CountedJob running{JobTraits{}};
  ASSERT_TRUE(queue.Enqueue(running));
  ASSERT_EQ(queue.Take().size(), 1u);
  CountedJob last{JobTraits{}};
  ASSERT_TRUE(queue.Enqueue(last));
  queue.Close();
  const int before = clock.looks();
  std::vector<std::thread> takers;
  for (int t = 0; t < 3; ++t) {
    takers.emplace_back([&queue] { EXPECT_TRUE(queue.Take().empty()); });
  }
  clock.AwaitLooks(before + 3);
  EXPECT_TRUE(queue.Cancel(last));
  for (std::thread& taker : takers) taker.join();
}

TEST(BatchQueueThreadsTest, CloseWakesAllThatWait) {
  BatchQueue queue(SteadyClock(), {});
  std::vector<std::thread> takers;
  for (int t = 0; t < 3; ++t) {
    takers.emplace_back([&queue] { EXPECT_TRUE(queue.Take().empty()); });
  }
  queue.Close();
  for (std::thread& taker : takers) taker.join();
}

}  // namespace
}  // namespace opserve::testing
