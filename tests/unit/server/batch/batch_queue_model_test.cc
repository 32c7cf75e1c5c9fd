// Random operations on a BatchQueue and on a model of it that looks at all jobs each time.

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/batch_queue.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;

class Model {
 public:
  Model(const Clock& clock, const BatchLimits& limits) : clock_(clock), limits_(limits) {}

  void Add(Job& job) {
    const FlowKey flow = FlowOf(job);
    if (!IsPending(flow)) {
      virtual_times_[flow] = std::max(virtual_times_[flow], Present(job.traits().priority));
    }
    pending_.push_back({&job, clock_.Now()});
  }

  void Remove(const Job& job) {
    std::erase_if(pending_, [&job](const Waiting& waiting) { return waiting.job == &job; });
    const Priority priority = job.traits().priority;
    if (IsAnyPending(priority)) return;
    std::erase_if(virtual_times_,
                  [priority](const auto& entry) { return entry.first.first == priority; });
  }

  std::set<Job*> RemoveExpired() {
    std::set<Job*> expired;
    for (const Waiting& waiting : std::vector<Waiting>(pending_)) {
      if (waiting.job->traits().deadline > clock_.Now()) continue;
      expired.insert(waiting.job);
      Remove(*waiting.job);
    }
    return expired;
  }

  // The batch that goes now.
  Batch Take(int in_flight) {
    if (pending_.empty()) return {};
    const Order first = OrderOf(nullptr);
    Batch batch = Decide(OrderOf(&first.front().job->traits().lane), in_flight);
    for (size_t i = 0; batch.empty() && i < pending_.size(); ++i) {
      const Order other = OrderOf(&LaneByAge(i));
      if (PriorityOf(other) == PriorityOf(first)) batch = Decide(other, in_flight);
    }
    for (Job* job : batch) {
      const auto flow = virtual_times_.find(FlowOf(*job));
      flow->second += Charge(*job);
      Remove(*job);
      NoteLanes();
    }
    return batch;
  }

  // Keeps lanes in the order in which they came to have jobs. After each change.
  void NoteLanes() {
    std::erase_if(lanes_, [this](const LaneKey& lane) { return !HasLane(lane); });
    for (const Waiting& waiting : pending_) {
      const LaneKey& lane = waiting.job->traits().lane;
      if (std::find(lanes_.begin(), lanes_.end(), lane) == lanes_.end()) lanes_.push_back(lane);
    }
  }

  // Oldest first.
  std::vector<Job*> jobs() const {
    std::vector<Job*> jobs;
    for (const Waiting& waiting : pending_) jobs.push_back(waiting.job);
    return jobs;
  }

 private:
  struct Waiting {
    Job* job;
    Clock::TimePoint queued;
  };
  using Order = std::vector<Waiting>;
  using FlowKey = std::pair<Priority, std::string>;

  static FlowKey FlowOf(const Job& job) { return {job.traits().priority, job.traits().client}; }
  static Priority PriorityOf(const Order& order) { return order.front().job->traits().priority; }
  static double Charge(const Job& job) {
    return (static_cast<double>(job.traits().bytes) + 16384) /
           (job.traits().client == "client 0" ? 2 : 1);
  }

  bool IsPending(const FlowKey& flow) const {
    return std::any_of(pending_.begin(), pending_.end(),
                       [&flow](const Waiting& waiting) { return FlowOf(*waiting.job) == flow; });
  }
  bool IsAnyPending(Priority priority) const {
    return std::any_of(pending_.begin(), pending_.end(), [priority](const Waiting& waiting) {
      return waiting.job->traits().priority == priority;
    });
  }
  bool HasLane(const LaneKey& lane) const {
    return std::any_of(pending_.begin(), pending_.end(), [&lane](const Waiting& waiting) {
      return waiting.job->traits().lane == lane;
    });
  }
  const LaneKey& LaneByAge(size_t index) const {
    return lanes_[std::min(index, lanes_.size() - 1)];
  }

  double Present(Priority priority) const {
    double least = -1;
    for (const auto& [flow, time] : virtual_times_) {
      if (flow.first == priority && IsPending(flow) && (least < 0 || time < least)) least = time;
    }
    return std::max(least, 0.0);
  }

  // The jobs of a lane, or of all, as they would go one by one.
  Order OrderOf(const LaneKey* lane) const {
    Order left;
    for (const Waiting& waiting : pending_) {
      if (lane == nullptr || waiting.job->traits().lane == *lane) left.push_back(waiting);
    }
    auto times = virtual_times_;
    Order order;
    while (!left.empty()) {
      // Of equals the oldest, since it comes first.
      const auto next =
          std::min_element(left.begin(), left.end(), [&times](const Waiting& a, const Waiting& b) {
            const FlowKey flow_a = FlowOf(*a.job);
            const FlowKey flow_b = FlowOf(*b.job);
            return std::tuple(flow_a.first, times.at(flow_a)) <
                   std::tuple(flow_b.first, times.at(flow_b));
          });
      times.at(FlowOf(*next->job)) += Charge(*next->job);
      order.push_back(*next);
      left.erase(next);
    }
    return order;
  }

  Batch Decide(const Order& order, int in_flight) const {
    std::vector<BatchCandidate> candidates;
    for (const Waiting& waiting : order) {
      const JobTraits& traits = waiting.job->traits();
      candidates.push_back({traits.bytes, waiting.queued, traits.deadline});
    }
    const size_t take = DecideBatch(clock_.Now(), candidates, in_flight, limits_).take;
    Batch batch;
    for (size_t i = 0; i < take; ++i) batch.push_back(order[i].job);
    return batch;
  }

  const Clock& clock_;
  const BatchLimits& limits_;
  std::vector<Waiting> pending_;  // oldest first
  std::map<FlowKey, double> virtual_times_;
  std::vector<LaneKey> lanes_;
};

class BatchQueueModelTest : public ::testing::TestWithParam<int> {
 protected:
  int Random(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void Enqueue() {
    JobTraits traits = {.lane = LaneNumber(Random(3)),
                        .bytes = static_cast<uint64_t>(Random(40'000)),
                        .client = "client " + std::to_string(Random(4)),
                        .priority = static_cast<Priority>(Random(kPriorityCount)),
                        .accepted = clock_.Now()};
    if (Random(3) == 0) traits.deadline = clock_.Now() + microseconds(Random(2000));
    FakeJob& job = jobs_.emplace_back(std::move(traits));
    ASSERT_TRUE(queue_.Enqueue(job));
    model_.Add(job);
  }

  void Cancel() {
    if (jobs_.empty()) return;
    FakeJob& job = jobs_[static_cast<size_t>(Random(static_cast<int>(jobs_.size())))];
    const std::vector<Job*> waiting = model_.jobs();
    const bool waits = std::find(waiting.begin(), waiting.end(), &job) != waiting.end();
    ASSERT_EQ(queue_.Cancel(job), waits);
    if (waits) Leave(job, 1);
    model_.Remove(job);
  }

  void TryTake() {
    const std::set<Job*> expired = model_.RemoveExpired();
    model_.NoteLanes();
    const Batch batch = queue_.TryTake();
    ASSERT_EQ(batch, model_.Take(in_flight_));
    for (Job* job : expired) Leave(*job, 1);
    for (Job* job : batch) Leave(*job, 0);
    if (!batch.empty()) ++in_flight_;
  }

  void Done() {
    if (in_flight_ == 0) return;
    queue_.Done();
    --in_flight_;
  }

  void Flush() {
    const std::vector<Job*> flushed = queue_.Flush();
    ASSERT_EQ(flushed, model_.jobs());
    for (Job* job : flushed) {
      Leave(*job, 0);
      model_.Remove(*job);
    }
  }

  void Leave(Job& job, int refusals) {
    EXPECT_TRUE(gone_.insert(&job).second);
    EXPECT_EQ(static_cast<FakeJob&>(job).refusals(), refusals);
  }

  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  SimulatedClock clock_;
  const BatchLimits limits_ = {.max_requests = static_cast<size_t>(1 + GetParam() % 5),
                               .max_bytes = 100'000,
                               .max_in_flight = 1 + GetParam() % 3,
                               .client_weights = {{"client 0", 2.0}}};
  BatchQueue queue_{clock_, limits_};
  Model model_{clock_, limits_};
  std::deque<FakeJob> jobs_;
  std::set<Job*> gone_;
  int in_flight_ = 0;
};

TEST_P(BatchQueueModelTest, EachJobLeavesOnceAndInItsTurn) {
  for (int step = 0; step < 2000 && !HasFatalFailure(); ++step) {
    const int what = Random(100);
    // The model takes a time that grows with the square of what waits.
    if (what < 45 && model_.jobs().size() < 40) {
      Enqueue();
    } else if (what < 50) {
      Cancel();
    } else if (what < 75) {
      TryTake();
    } else if (what < 90) {
      Done();
    } else if (what < 99) {
      clock_.Advance(microseconds(Random(300)));
    } else if (Random(4) == 0) {
      Flush();
    }
    model_.NoteLanes();
    ASSERT_EQ(queue_.load().pending, model_.jobs().size());
    ASSERT_EQ(queue_.load().in_flight, in_flight_);
  }
  Flush();
  EXPECT_EQ(gone_.size(), jobs_.size());
  EXPECT_EQ(queue_.load().pending_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BatchQueueModelTest, ::testing::Range(0, 30));

}  // namespace
}  // namespace opserve::testing
