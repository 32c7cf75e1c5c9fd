#include "server/batch/batch_queue.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kJobCost = 16 * 1024;

// One job at a time, as for workers of the processor.
BatchLimits Singly() {
  BatchLimits limits;
  limits.max_requests = 1;
  limits.max_in_flight = 1'000'000;
  return limits;
}

TEST_F(BatchQueueTest, TakesJobsOfAClientInOrderOfArrival) {
  BatchQueue queue(clock_, Singly());
  FakeJob& first = Add(queue, {.lane = LaneNumber(1)});
  FakeJob& second = Add(queue, {.lane = LaneNumber(0)});
  EXPECT_THAT(queue.TryTake(), ElementsAre(&first));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&second));
  EXPECT_THAT(queue.TryTake(), IsEmpty());
}

// Looks at the load of a queue when the queue asks for the time, with its lock held.
class LoadReader final : public Clock {
 public:
  TimePoint Now() const override {
    if (queue != nullptr && !look.valid()) {
      look = std::async(std::launch::async, [this] { return queue->load().pending; });
      is_told = look.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    }
    return {};
  }

  const BatchQueue* queue = nullptr;
  mutable std::future<size_t> look;
  mutable bool is_told = false;
};

// All requests look at it before they are placed.
TEST(BatchQueueLoadTest, IsToldWhileTheQueueIsInUse) {
  LoadReader clock;
  BatchQueue queue(clock, Singly());
  FakeJob job({});
  clock.queue = &queue;
  ASSERT_TRUE(queue.Enqueue(job));
  EXPECT_TRUE(clock.is_told);
  EXPECT_EQ(clock.look.get(), 0u);
  EXPECT_EQ(queue.load().pending, 1u);
  EXPECT_THAT(queue.TryTake(), ElementsAre(&job));
}

TEST_F(BatchQueueTest, TellsItsLoad) {
  BatchQueue queue(clock_, {});
  AddMany(queue, "a", 3, 100);
  EXPECT_EQ(queue.load().pending, 3u);
  EXPECT_EQ(queue.load().pending_bytes, 300u);
  EXPECT_EQ(queue.load().in_flight, 0);
  EXPECT_EQ(queue.TryTake().size(), 3u);
  EXPECT_EQ(queue.load().pending, 0u);
  EXPECT_EQ(queue.load().pending_bytes, 0u);
  EXPECT_EQ(queue.load().in_flight, 1);
  queue.Done();
  EXPECT_EQ(queue.load().in_flight, 0);
}

// Fairness.

TEST_F(BatchQueueTest, FloodDelaysNobodyElse) {
  BatchQueue queue(clock_, Singly());
  AddMany(queue, "flood", 1000);
  AddMany(queue, "other", 10);
  const std::vector<std::string> first = TakeClients(queue, 21);
  EXPECT_EQ(std::count(first.begin(), first.end(), "other"), 10);
}

TEST_F(BatchQueueTest, FloodThatRunsAlreadyDelaysNobodyElse) {
  BatchQueue queue(clock_, Singly());
  AddMany(queue, "flood", 1000);
  TakeClients(queue, 500);
  AddMany(queue, "other", 10);
  const std::vector<std::string> first = TakeClients(queue, 21);
  EXPECT_EQ(std::count(first.begin(), first.end(), "other"), 10);
}

TEST_F(BatchQueueTest, PausesEarnNothing) {
  BatchQueue queue(clock_, Singly());
  AddMany(queue, "steady", 1000);
  AddMany(queue, "pausing", 1);
  TakeClients(queue, 500);
  AddMany(queue, "pausing", 100);
  const std::vector<std::string> next = TakeClients(queue, 40);
  EXPECT_NEAR(std::count(next.begin(), next.end(), "pausing"), 20, 1);
}

TEST_F(BatchQueueTest, ANewNameIsNextAndNoMore) {
  BatchQueue queue(clock_, Singly());
  const auto add = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) Add(queue, {.bytes = 100, .client = "a", .name = name});
  };
  add("steady", 1000);
  for (int i = 0; i < 500; ++i) queue.TryTake();
  add("new", 100);
  int taken_of_new = 0;
  for (int i = 0; i < 40; ++i) taken_of_new += queue.TryTake()[0]->traits().name == "new";
  EXPECT_NEAR(taken_of_new, 20, 1);
}

class ClosedLoopFairnessTest : public BatchQueueTest {
 protected:
  // One job runs at a time, and its client sends the next once the one after it has begun. Three
  // clients have one job each, and "many" has eight. Returns how many of 4000 were of "many".
  // `traits_of`: of the jobs of a client.
  int TakenOfMany(const std::function<JobTraits(const std::string&)>& traits_of) {
    BatchQueue queue(clock_, Singly());
    std::map<const Job*, std::string> clients;
    const auto add = [&](const std::string& client) {
      clients[&Add(queue, traits_of(client))] = client;
    };
    for (const char* const client : {"1", "2", "3"}) add(client);
    for (int i = 0; i < 8; ++i) add("many");
    int taken = 0;
    std::string running;
    for (int i = 0; i < 4000; ++i) {
      const std::string client = clients.at(queue.TryTake().at(0));
      taken += client == "many" ? 1 : 0;
      if (!running.empty()) add(running);
      running = client;
    }
    queue.Flush();
    return taken;
  }
};

// Also where those who wait are others each time, so that none of them has got anything yet.
TEST_F(ClosedLoopFairnessTest, WhoeverWaitsGetsAShare) {
  const int taken = TakenOfMany(
      [](const std::string& client) { return JobTraits{.bytes = 100, .client = client}; });
  EXPECT_NEAR(taken, 1000, 10);
}

TEST_F(ClosedLoopFairnessTest, WhateverItsName) {
  const int taken = TakenOfMany([](const std::string& client) {
    return JobTraits{.bytes = 100, .client = "identity", .name = client};
  });
  EXPECT_NEAR(taken, 1000, 10);
}

// What others get while nobody waits delays nobody.
TEST_F(BatchQueueTest, WhatClientsGotIsForgottenWhereNobodyWaits) {
  BatchQueue queue(clock_, Singly());
  AddMany(queue, "a", 100);
  TakeClients(queue, 100);
  AddMany(queue, "b", 2);
  AddMany(queue, "a", 2);
  EXPECT_THAT(TakeClients(queue, 4), ElementsAre("b", "a", "b", "a"));
}

// Neither do those of a less urgent class, nor other identities that wait.
TEST_F(BatchQueueTest, WhatIsForgottenIsOfOneClassAndOneIdentity) {
  BatchQueue queue(clock_, Singly());
  Add(queue, {.client = "low", .priority = Priority::kLow});
  AddMany(queue, "a", 100);
  TakeClients(queue, 100);
  AddMany(queue, "b", 2);
  AddMany(queue, "a", 2);
  EXPECT_THAT(TakeClients(queue, 4), ElementsAre("b", "a", "b", "a"));
}

TEST_F(BatchQueueTest, WhatNamesGotIsForgottenWhereNoneOfTheirsWaits) {
  BatchQueue queue(clock_, Singly());
  const auto add = [&](const std::string& name, int count) {
    for (int i = 0; i < count; ++i) Add(queue, {.bytes = 100, .client = "a", .name = name});
  };
  AddMany(queue, "other", 300);
  add("former", 100);
  for (int i = 0; i < 201; ++i) queue.TryTake();
  add("new", 2);
  add("former", 2);
  std::vector<std::string> names;
  while (names.size() < 4) {
    const JobTraits& traits = queue.TryTake()[0]->traits();
    if (traits.client == "a") names.push_back(traits.name);
  }
  EXPECT_THAT(names, ElementsAre("new", "former", "new", "former"));
}

TEST_F(BatchQueueTest, SharesAreOfBytes) {
  BatchQueue queue(clock_, Singly());
  AddMany(queue, "large", 100, 9 * kJobCost);
  AddMany(queue, "small", 1000, 0);
  const std::vector<std::string> first = TakeClients(queue, 110);
  EXPECT_NEAR(std::count(first.begin(), first.end(), "large"), 10, 1);
}

TEST_F(BatchQueueTest, SharesFollowWeights) {
  BatchLimits limits = Singly();
  limits.client_weights = {{"heavy", 3.0}};
  BatchQueue queue(clock_, limits);
  AddMany(queue, "light", 400);
  AddMany(queue, "heavy", 400);
  const std::vector<std::string> first = TakeClients(queue, 400);
  EXPECT_NEAR(std::count(first.begin(), first.end(), "heavy"), 300, 2);
}

TEST_F(BatchQueueTest, NamesShareTheTurnsOfTheirIdentity) {
  BatchQueue queue(clock_, Singly());
  for (int i = 0; i < 1000; ++i) {
    Add(queue, {.bytes = 100, .client = "greedy", .name = std::to_string(i)});
  }
  AddMany(queue, "modest", 100);
  const std::vector<std::string> first = TakeClients(queue, 100);
  EXPECT_EQ(std::count(first.begin(), first.end(), "modest"), 50);
}

TEST_F(BatchQueueTest, NamesOfAnIdentityTakeTurns) {
  BatchQueue queue(clock_, Singly());
  for (int i = 0; i < 100; ++i) Add(queue, {.bytes = 100, .client = "a", .name = "many"});
  for (int i = 0; i < 10; ++i) Add(queue, {.bytes = 100, .client = "a", .name = "few"});
  int few = 0;
  for (int i = 0; i < 21; ++i) few += queue.TryTake()[0]->traits().name == "few";
  EXPECT_EQ(few, 10);
}

TEST_F(BatchQueueTest, IdentitiesBringTheirWeights) {
  BatchLimits limits = Singly();
  limits.client_weights = {{"set", 1.0}, {"split/large", 3.0}};
  BatchQueue queue(clock_, limits);
  for (int i = 0; i < 400; ++i) {
    Add(queue, {.bytes = 100, .client = "light"});
    Add(queue, {.bytes = 100, .client = "heavy", .weight = 3});
    // What the server was told wins.
    Add(queue, {.bytes = 100, .client = "set", .weight = 100});
    Add(queue, {.bytes = 100, .client = "split", .name = "large"});
    Add(queue, {.bytes = 100, .client = "split", .name = "small"});
  }
  std::map<std::string, int> taken;
  for (int i = 0; i < 600; ++i) {
    const JobTraits& traits = queue.TryTake()[0]->traits();
    ++taken[traits.client + traits.name];
  }
  EXPECT_NEAR(taken["light"], 100, 2);
  EXPECT_NEAR(taken["heavy"], 300, 2);
  EXPECT_NEAR(taken["set"], 100, 2);
  EXPECT_NEAR(taken["splitlarge"], 75, 2);
  EXPECT_NEAR(taken["splitsmall"], 25, 2);
}

// Policies change while an identity always has something that waits.
TEST_F(BatchQueueTest, TheWeightOfTheLatestJobCounts) {
  BatchQueue queue(clock_, Singly());
  for (const double weight : {1.0, 3.0}) {
    for (int i = 0; i < 200; ++i) {
      Add(queue, {.bytes = 100, .client = "changed", .weight = weight});
      Add(queue, {.bytes = 100, .client = "other"});
    }
  }
  std::map<std::string, int> taken;
  for (int i = 0; i < 200; ++i) ++taken[queue.TryTake()[0]->traits().client];
  EXPECT_NEAR(taken["changed"], 150, 2);
  EXPECT_NEAR(taken["other"], 50, 2);
}

TEST_F(BatchQueueTest, BatchesAreFairBetweenIdentities) {
  BatchLimits limits;
  limits.max_requests = 10;
  BatchQueue queue(clock_, limits);
  for (int i = 0; i < 100; ++i) {
    Add(queue, {.lane = LaneNumber(0), .client = "greedy", .name = std::to_string(i)});
  }
  AddMany(queue, "modest", 5, 0);
  const std::vector<std::string> clients = ClientsOf(queue.TryTake());
  ASSERT_EQ(clients.size(), 10u);
  EXPECT_EQ(std::count(clients.begin(), clients.end(), "modest"), 5);
}

TEST_F(BatchQueueTest, BatchesAreFairToo) {
  BatchLimits limits;
  limits.max_requests = 22;
  BatchQueue queue(clock_, limits);
  AddMany(queue, "flood", 200);
  for (int i = 0; i < 10; ++i) AddMany(queue, std::to_string(i), 1);
  const Batch batch = queue.TryTake();
  ASSERT_EQ(batch.size(), 22u);
  EXPECT_THAT(
      ClientsOf({batch.begin(), batch.begin() + 11}),
      ::testing::UnorderedElementsAre("flood", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"));
}

TEST_F(BatchQueueTest, BatchesAreFairBetweenNames) {
  BatchLimits limits;
  limits.max_requests = 10;
  BatchQueue queue(clock_, limits);
  for (int i = 0; i < 105; ++i) {
    Add(queue, {.lane = LaneNumber(0), .client = "a", .name = i < 100 ? "many" : "few"});
  }
  const Batch batch = queue.TryTake();
  ASSERT_EQ(batch.size(), 10u);
  EXPECT_EQ(std::count_if(batch.begin(), batch.end(),
                          [](const Job* job) { return job->traits().name == "few"; }),
            5);
}

// Of those that have had as much, the one whose job is the oldest goes first.
TEST_F(BatchQueueTest, OldestGoesFirstInABatch) {
  BatchLimits limits;
  limits.max_requests = 3;
  BatchQueue queue(clock_, limits);
  const auto add = [&](const std::string& client, const std::string& name) -> Job* {
    return &Add(queue, {.lane = LaneNumber(0), .client = client, .name = name});
  };
  Job* const first = add("a", "x");
  Job* const second = add("a", "y");
  Job* const third = add("a", "y");
  add("a", "x");
  EXPECT_THAT(queue.TryTake(), ElementsAre(first, second, third));
  queue.Flush();
  Job* const of_a = add("a", "");
  Job* const of_b = add("b", "");
  Job* const next_of_b = add("b", "");
  add("a", "");
  EXPECT_THAT(queue.TryTake(), ElementsAre(of_a, of_b, next_of_b));
}

TEST_F(BatchQueueTest, WholeBatchIsCharged) {
  BatchLimits limits;
  limits.max_requests = 4;
  limits.max_in_flight = 1000;
  BatchQueue queue(clock_, limits);
  for (int i = 0; i < 9; ++i) Add(queue, {.lane = LaneNumber(0), .client = "batches"});
  EXPECT_THAT(queue.TryTake(), ::testing::SizeIs(4));
  // Joins where "batches" is, and goes on alone until it has had as much.
  for (int i = 0; i < 9; ++i) Add(queue, {.lane = LaneNumber(1), .client = "other"});
  EXPECT_EQ(queue.TryTake()[0]->traits().client, "batches");
  EXPECT_EQ(queue.TryTake()[0]->traits().client, "other");
}

// Priorities.

TEST_F(BatchQueueTest, UrgentJobsGoFirst) {
  BatchQueue queue(clock_, Singly());
  FakeJob& low = Add(queue, {.client = "a", .priority = Priority::kLow});
  FakeJob& normal = Add(queue, {.client = "a"});
  FakeJob& high = Add(queue, {.client = "a", .priority = Priority::kHigh});
  FakeJob& other_high = Add(queue, {.client = "b", .priority = Priority::kHigh});
  EXPECT_THAT(queue.TryTake(), ElementsAre(&high));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&other_high));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&normal));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&low));
}

TEST_F(BatchQueueTest, LessUrgentJobsOfTheLaneFillUp) {
  BatchLimits limits;
  limits.max_requests = 3;
  BatchQueue queue(clock_, limits);
  FakeJob& low = Add(queue, {.lane = LaneNumber(0), .priority = Priority::kLow});
  FakeJob& normal = Add(queue, {.lane = LaneNumber(0)});
  Add(queue, {.lane = LaneNumber(1), .priority = Priority::kNormal});
  FakeJob& high = Add(queue, {.lane = LaneNumber(0), .priority = Priority::kHigh});
  EXPECT_THAT(queue.TryTake(), ElementsAre(&high, &normal, &low));
}

// What a client gets in one class does not count in another.
TEST_F(BatchQueueTest, ClassesAreFairByThemselves) {
  BatchQueue queue(clock_, Singly());
  for (int i = 0; i < 100; ++i) Add(queue, {.client = "a", .priority = Priority::kHigh});
  AddMany(queue, "a", 10);
  AddMany(queue, "b", 10);
  TakeClients(queue, 100);
  EXPECT_THAT(TakeClients(queue, 4), ElementsAre("a", "b", "a", "b"));
}

// Batches.

TEST_F(BatchQueueTest, NeverMixesLanes) {
  BatchQueue queue(clock_, {});
  FakeJob& first = Add(queue, {.lane = LaneNumber(0)});
  FakeJob& other = Add(queue, {.lane = LaneNumber(1)});
  FakeJob& second = Add(queue, {.lane = LaneNumber(0)});
  EXPECT_THAT(queue.TryTake(), ElementsAre(&first, &second));
  queue.Done();
  EXPECT_THAT(queue.TryTake(), ElementsAre(&other));
}

TEST_F(BatchQueueTest, KeepsTheLimitsOfABatch) {
  BatchLimits limits;
  limits.max_requests = 3;
  limits.max_bytes = 1000;
  limits.max_in_flight = 100;
  BatchQueue queue(clock_, limits);
  AddMany(queue, "a", 7, 10);
  AddMany(queue, "a", 3, 400);
  AddMany(queue, "a", 1, 5000);
  AddMany(queue, "a", 1, 10);
  std::vector<size_t> sizes;
  clock_.Advance(limits.max_delay);
  for (Batch batch = queue.TryTake(); !batch.empty(); batch = queue.TryTake()) {
    sizes.push_back(batch.size());
  }
  // 3 x 10; 3 x 10; 10 + 2 x 400; 400; 5000 alone; 10
  EXPECT_THAT(sizes, ElementsAre(3, 3, 3, 1, 1, 1));
}

TEST_F(BatchQueueTest, BusyDeviceGathersAndFullOneTakesNothing) {
  BatchQueue queue(clock_, {});
  AddMany(queue, "a", 1);
  EXPECT_EQ(queue.TryTake().size(), 1u);
  AddMany(queue, "a", 1);
  Clock::TimePoint wake_at;
  EXPECT_THAT(queue.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + microseconds(500));
  clock_.Advance(microseconds(200));
  AddMany(queue, "b", 1);
  EXPECT_THAT(queue.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + microseconds(300));
  clock_.Advance(microseconds(300));
  EXPECT_EQ(queue.TryTake().size(), 2u);
  AddMany(queue, "a", 1000);
  EXPECT_THAT(queue.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, Clock::kNever);
  queue.Done();
  EXPECT_EQ(queue.TryTake().size(), 256u);
}

TEST_F(BatchQueueTest, IdleDeviceDoesNotGather) {
  BatchQueue queue(clock_, {});
  AddMany(queue, "a", 1);
  EXPECT_EQ(queue.TryTake().size(), 1u);
  AddMany(queue, "a", 1);
  EXPECT_THAT(queue.TryTake(), IsEmpty());
  queue.Done();
  EXPECT_EQ(queue.TryTake().size(), 1u);
}

// Jobs that leave otherwise.

TEST_F(BatchQueueTest, CancelsOnlyWhatWaits) {
  BatchQueue queue(clock_, Singly());
  FakeJob& taken = Add(queue, {});
  FakeJob& cancelled = Add(queue, {.deadline = clock_.Now() + milliseconds(4)});
  FakeJob& late = Add(queue, {.deadline = clock_.Now() + milliseconds(3)});
  EXPECT_THAT(queue.TryTake(), ElementsAre(&taken));
  clock_.Advance(milliseconds(3));
  EXPECT_FALSE(queue.Cancel(taken));
  EXPECT_TRUE(queue.Cancel(cancelled));
  EXPECT_FALSE(queue.Cancel(cancelled));
  // gRPC reports a deadline that passed as a cancellation.
  EXPECT_TRUE(queue.Cancel(late));
  EXPECT_EQ(taken.refusal(), "");
  EXPECT_EQ(cancelled.refusal(), "REQUEST_CANCELLED after 3 ms");
  EXPECT_EQ(late.refusal(), "DEADLINE_PASSED after 3 ms");
  EXPECT_EQ(queue.load().pending, 0u);
  EXPECT_THAT(queue.TryTake(), IsEmpty());
}

// It was on its way here while the queues were searched for it.
TEST_F(BatchQueueTest, RefusesWhatIsCancelledAlready) {
  BatchQueue queue(clock_, Singly());
  FakeJob& cancelled = Make({});
  FakeJob& late = Make({.deadline = clock_.Now() + milliseconds(3)});
  clock_.Advance(milliseconds(3));
  cancelled.SetCancelled();
  late.SetCancelled();
  EXPECT_TRUE(queue.Enqueue(cancelled));
  EXPECT_TRUE(queue.Enqueue(late));
  EXPECT_EQ(cancelled.refusal(), "REQUEST_CANCELLED after 3 ms");
  EXPECT_EQ(late.refusal(), "DEADLINE_PASSED after 3 ms");
  EXPECT_EQ(queue.load().pending, 0u);
  EXPECT_THAT(queue.TryTake(), IsEmpty());
}

TEST_F(BatchQueueTest, CancelledJobsAreNotCharged) {
  BatchQueue queue(clock_, Singly());
  FakeJob& cancelled = Add(queue, {.bytes = 100 * kJobCost, .client = "a"});
  AddMany(queue, "a", 5);
  AddMany(queue, "b", 5);
  EXPECT_TRUE(queue.Cancel(cancelled));
  EXPECT_THAT(TakeClients(queue, 4), ElementsAre("a", "b", "a", "b"));
}

TEST_F(BatchQueueTest, LateJobsAreNotCharged) {
  BatchQueue queue(clock_, Singly());
  Add(queue, {.bytes = 1 << 20, .client = "a", .deadline = clock_.Now()});
  AddMany(queue, "a", 2);
  AddMany(queue, "b", 2);
  EXPECT_THAT(TakeClients(queue, 4), ElementsAre("a", "b", "a", "b"));
}

TEST_F(BatchQueueTest, NeverStartsWhatIsTooLate) {
  BatchQueue queue(clock_, {});
  FakeJob& late = Add(queue, {.deadline = clock_.Now() + milliseconds(10)});
  FakeJob& on_time = Add(queue, {.deadline = clock_.Now() + milliseconds(11)});
  clock_.Advance(milliseconds(10));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&on_time));
  EXPECT_EQ(late.refusal(), "DEADLINE_PASSED after 10 ms");
  EXPECT_EQ(on_time.refusal(), "");
}

TEST_F(BatchQueueTest, NoticesDeadlinesWhileTheDeviceIsFull) {
  BatchLimits limits = Singly();
  limits.max_in_flight = 1;
  BatchQueue queue(clock_, limits);
  Add(queue, {});
  EXPECT_EQ(queue.TryTake().size(), 1u);
  FakeJob& later = Add(queue, {.deadline = clock_.Now() + milliseconds(9)});
  FakeJob& sooner = Add(queue, {.deadline = clock_.Now() + milliseconds(5)});
  Clock::TimePoint wake_at;
  EXPECT_THAT(queue.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + milliseconds(5));
  clock_.Advance(milliseconds(5));
  EXPECT_THAT(queue.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + milliseconds(4));
  EXPECT_EQ(sooner.refusal(), "DEADLINE_PASSED after 5 ms");
  EXPECT_EQ(later.refusal(), "");
}

// Looks at its queue when it is refused, which hangs where the lock is held.
class LookingJob final : public Job {
 public:
  LookingJob(const BatchQueue& queue, JobTraits traits) : Job(std::move(traits)), queue_(queue) {}
  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    return absl::InternalError("not to be run");
  }
  void Answer(const RunRecord&) override {}
  void Refuse(const absl::Status&) override { pending_ = static_cast<int>(queue_.load().pending); }
  // Of the queue at its refusal.
  int pending() const { return pending_; }

 private:
  const BatchQueue& queue_;
  int pending_ = -1;
};

TEST_F(BatchQueueTest, HoldsNoLockWhileItRefuses) {
  BatchQueue queue(clock_, {});
  LookingJob cancelled(queue, {});
  LookingJob late(queue, {.deadline = clock_.Now() + milliseconds(1)});
  ASSERT_TRUE(queue.Enqueue(cancelled));
  ASSERT_TRUE(queue.Enqueue(late));
  EXPECT_TRUE(queue.Cancel(cancelled));
  EXPECT_EQ(cancelled.pending(), 1);
  clock_.Advance(milliseconds(1));
  EXPECT_THAT(queue.TryTake(), IsEmpty());
  EXPECT_EQ(late.pending(), 0);
}

TEST_F(BatchQueueTest, FlushesInOrderOfArrival) {
  BatchQueue queue(clock_, {});
  FakeJob& low = Add(queue, {.client = "a", .priority = Priority::kLow});
  FakeJob& high = Add(queue, {.client = "b", .priority = Priority::kHigh});
  FakeJob& other = Add(queue, {.lane = LaneNumber(1), .client = "a"});
  EXPECT_THAT(queue.Flush(), ElementsAre(&low, &high, &other));
  EXPECT_THAT(queue.Flush(), IsEmpty());
  EXPECT_THAT(queue.TryTake(), IsEmpty());
  EXPECT_EQ(queue.load().pending_bytes, 0u);
  // They may come back.
  EXPECT_TRUE(queue.Enqueue(low));
  EXPECT_THAT(queue.TryTake(), ElementsAre(&low));
}

TEST_F(BatchQueueTest, FinishesWhatWaitsAfterClose) {
  BatchQueue queue(clock_, Singly());
  FakeJob& waiting = Add(queue, {});
  queue.Close();
  FakeJob& refused = Make({});
  EXPECT_FALSE(queue.Enqueue(refused));
  EXPECT_EQ(refused.refusal(), "");
  EXPECT_THAT(queue.Take(), ElementsAre(&waiting));
  EXPECT_THAT(queue.Take(), IsEmpty());
  EXPECT_THAT(queue.Take(), IsEmpty());
}

}  // namespace
}  // namespace opserve::testing
