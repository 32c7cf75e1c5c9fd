// What goes while the lane whose turn it is gathers on a busy device.

#include <chrono>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/batch/batch_queue.h"
#include "tests/unit/server/batch/batch_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GatheringTest : public BatchQueueTest {
 protected:
  // The device is busy, and it is the turn of a job of lane 0 that gathers.
  GatheringTest() {
    AddMany(queue_, "running", 1);
    EXPECT_EQ(queue_.TryTake().size(), 1u);
  }

  BatchQueue queue_{clock_, BatchLimits{.max_requests = 4, .max_in_flight = 3}};
};

TEST_F(GatheringTest, FullLaneGoesBefore) {
  FakeJob& gathering = Add(queue_, {.lane = LaneNumber(0), .client = "a"});
  for (int i = 0; i < 3; ++i) Add(queue_, {.lane = LaneNumber(1), .client = "b"});
  EXPECT_THAT(queue_.TryTake(), IsEmpty());
  Add(queue_, {.lane = LaneNumber(1), .client = "b"});
  EXPECT_THAT(ClientsOf(queue_.TryTake()), ElementsAre("b", "b", "b", "b"));
  clock_.Advance(microseconds(500));
  EXPECT_THAT(queue_.TryTake(), ElementsAre(&gathering));
}

TEST_F(GatheringTest, LaneThatWaitedLongEnoughGoesBefore) {
  for (int i = 0; i < 5; ++i) Add(queue_, {.lane = LaneNumber(1), .client = "b"});
  FakeJob& cancelled = Add(queue_, {.lane = LaneNumber(0), .client = "a"});
  EXPECT_EQ(queue_.TryTake().size(), 4u);
  clock_.Advance(microseconds(400));
  // "b" has had much, so it is the turn of "a", with a job that has not waited yet.
  Add(queue_, {.lane = LaneNumber(0), .client = "a"});
  EXPECT_TRUE(queue_.Cancel(cancelled));
  Clock::TimePoint wake_at;
  EXPECT_THAT(queue_.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + microseconds(100));
  clock_.Advance(microseconds(100));
  EXPECT_THAT(ClientsOf(queue_.TryTake()), ElementsAre("b"));
  queue_.Done();
  EXPECT_THAT(queue_.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + microseconds(400));
}

TEST_F(GatheringTest, WakesForTheLaneThatIsDueFirst) {
  FakeJob& urgent = Add(
      queue_, {.lane = LaneNumber(1), .client = "b", .deadline = clock_.Now() + microseconds(600)});
  Add(queue_, {.lane = LaneNumber(0), .client = "a"});
  FakeJob& more_urgent = Add(
      queue_, {.lane = LaneNumber(2), .client = "c", .deadline = clock_.Now() + microseconds(550)});
  Clock::TimePoint wake_at;
  EXPECT_THAT(queue_.TryTake(&wake_at), IsEmpty());
  EXPECT_EQ(wake_at, clock_.Now() + microseconds(50));
  clock_.Advance(microseconds(50));
  EXPECT_THAT(queue_.TryTake(), ElementsAre(&more_urgent));
  queue_.Done();
  clock_.Advance(microseconds(50));
  EXPECT_THAT(queue_.TryTake(), ElementsAre(&urgent));
}

TEST_F(GatheringTest, LessUrgentLaneDoesNotGoBefore) {
  FakeJob& urgent = Add(queue_, {.lane = LaneNumber(0), .priority = Priority::kHigh});
  for (int i = 0; i < 4; ++i) Add(queue_, {.lane = LaneNumber(1)});
  EXPECT_THAT(queue_.TryTake(), IsEmpty());
  clock_.Advance(microseconds(500));
  EXPECT_THAT(queue_.TryTake(), ElementsAre(&urgent));
  EXPECT_EQ(queue_.TryTake().size(), 4u);
}

}  // namespace
}  // namespace opserve::testing
