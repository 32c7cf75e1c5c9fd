// The queue of a device while a lease has it.

#include <chrono>

#include "gmock/gmock.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kLease = 7;

class BatchQueueReservationTest : public BatchQueueTest {
 protected:
  FakeJob& AddFor(const std::string& client, uint64_t lease = kNoLease) {
    return Add(queue_, {.lane = LaneNumber(0), .client = client, .lease = lease});
  }

  BatchQueue queue_{clock_, {.max_requests = 1, .max_in_flight = 8}};
};

TEST_F(BatchQueueReservationTest, OnlyJobsOfTheLeaseAreTaken) {
  EXPECT_THAT(queue_.Reserve(kLease), IsEmpty());
  AddFor("other");
  AddFor("another lease", kLease + 1);
  AddFor("holder", kLease);
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("holder"));
  EXPECT_EQ(queue_.load().pending, 2u);
  queue_.EndReservation();
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("other", "another lease"));
}

TEST_F(BatchQueueReservationTest, HandsOutTheJobsOfOthersThatWait) {
  FakeJob& other = AddFor("other");
  AddFor("holder", kLease);
  EXPECT_THAT(queue_.Reserve(kLease), ElementsAre(&other));
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("holder"));
  EXPECT_EQ(queue_.load().pending, 0u);
}

TEST_F(BatchQueueReservationTest, RefusesJobsThatMustNotWaitForItsEnd) {
  FakeJob& job = Make({.lane = LaneNumber(0), .client = "other"});
  queue_.Reserve(kLease);
  EXPECT_FALSE(queue_.Enqueue(job, /*may_be_held=*/false));
  queue_.EndReservation();
  EXPECT_TRUE(queue_.Enqueue(job, /*may_be_held=*/false));
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("other"));
}

TEST_F(BatchQueueReservationTest, JobsThatAreHeldAreCancelledAndRunOutOfTime) {
  queue_.Reserve(kLease);
  FakeJob& cancelled = AddFor("other");
  FakeJob& late =
      Add(queue_,
          {.lane = LaneNumber(0), .client = "late", .deadline = clock_.Now() + milliseconds(5)});
  EXPECT_TRUE(queue_.Cancel(cancelled));
  EXPECT_EQ(cancelled.refusal(), "REQUEST_CANCELLED after 0 ms");
  Clock::TimePoint wake_at = Clock::kNever;
  EXPECT_THAT(queue_.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, late.traits().deadline);
  clock_.Advance(milliseconds(5));
  EXPECT_THAT(queue_.TryTake(), IsEmpty());
  EXPECT_EQ(late.refusal(), "DEADLINE_PASSED after 5 ms");
}

TEST_F(BatchQueueReservationTest, TellsWhenTheDeviceIsIdle) {
  AddFor("1");
  AddFor("2");
  EXPECT_THAT(TakeClients(queue_, 2), ElementsAre("1", "2"));
  queue_.Reserve(kLease);
  EXPECT_FALSE(queue_.Done());
  EXPECT_TRUE(queue_.Done());
  AddFor("holder", kLease);
  queue_.EndReservation();
  EXPECT_THAT(TakeClients(queue_, 1), ElementsAre("holder"));
  EXPECT_FALSE(queue_.Done()) << "Nobody wants to know.";
}

TEST_F(BatchQueueReservationTest, TestsAreNoWorkOfALease) {
  ASSERT_TRUE(queue_.BeginVisit());
  queue_.Reserve(kLease);
  EXPECT_FALSE(queue_.BeginVisit());
  EXPECT_TRUE(queue_.EndVisit());
}

TEST_F(BatchQueueReservationTest, IsIdleOnceTestsHaveEndedToo) {
  AddFor("1");
  EXPECT_THAT(TakeClients(queue_, 1), ElementsAre("1"));
  ASSERT_TRUE(queue_.BeginVisit());
  queue_.Reserve(kLease);
  EXPECT_FALSE(queue_.Done());
  EXPECT_TRUE(queue_.EndVisit());
}

TEST_F(BatchQueueReservationTest, TellsTheLoadOfWhatIsHeld) {
  queue_.Reserve(kLease);
  Add(queue_, {.lane = LaneNumber(0), .bytes = 100, .client = "other"});
  Add(queue_, {.lane = LaneNumber(0), .bytes = 20, .client = "holder", .lease = kLease});
  EXPECT_EQ(queue_.load().pending, 2u);
  EXPECT_EQ(queue_.load().pending_bytes, 120u);
}

// Whoever runs a job in his own thread has no lease.
TEST_F(BatchQueueReservationTest, BeginsNothingBesideTheLease) {
  EXPECT_TRUE(queue_.TryBegin());
  EXPECT_EQ(queue_.load().in_flight, 1);
  queue_.Reserve(kLease);
  EXPECT_FALSE(queue_.TryBegin());
  EXPECT_EQ(queue_.load().in_flight, 1);
  queue_.EndReservation();
  EXPECT_TRUE(queue_.TryBegin());
}

TEST_F(BatchQueueReservationTest, ClosingEndsIt) {
  queue_.Reserve(kLease);
  AddFor("other");
  queue_.Close();
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("other"));
  queue_.Reserve(kLease);
  EXPECT_EQ(queue_.lease(), kNoLease);
}

TEST_F(BatchQueueReservationTest, HandsOutWhatIsHeldAndNothingElse) {
  queue_.Reserve(kLease);
  FakeJob& first = AddFor("first");
  AddFor("holder", kLease);
  FakeJob& second = AddFor("second");
  EXPECT_THAT(queue_.TakeHeld(), ElementsAre(&first, &second));
  EXPECT_THAT(queue_.TakeHeld(), IsEmpty());
  EXPECT_THAT(TakeClients(queue_, 5), ElementsAre("holder"));
}

TEST_F(BatchQueueReservationTest, FlushTakesWhatIsHeld) {
  queue_.Reserve(kLease);
  FakeJob& holder = AddFor("holder", kLease);
  FakeJob& other = AddFor("other");
  EXPECT_THAT(queue_.Flush(), ElementsAre(&holder, &other));
}

}  // namespace
}  // namespace opserve::testing
