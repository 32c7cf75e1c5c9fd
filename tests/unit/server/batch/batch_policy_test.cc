#include "server/batch/batch_policy.h"

#include <chrono>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace opserve {
namespace {

using std::chrono::microseconds;

Clock::TimePoint At(int us) { return Clock::TimePoint(microseconds(us)); }

BatchLimits Limits() {
  return {.max_requests = 4,
          .max_bytes = 1000,
          .max_delay = microseconds(500),
          .max_in_flight = 2,
          .client_weights = {}};
}

// The decision at 10 ms.
struct Case {
  std::string name;
  std::vector<BatchCandidate> candidates;
  int in_flight;
  size_t take;
  Clock::TimePoint wake_at = Clock::kNever;
};

void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }

class DecideBatchTest : public ::testing::TestWithParam<Case> {};

TEST_P(DecideBatchTest, Decides) {
  const Case& expected = GetParam();
  const BatchDecision decision =
      DecideBatch(At(10'000), expected.candidates, expected.in_flight, Limits());
  EXPECT_EQ(decision.take, expected.take);
  EXPECT_EQ(decision.wake_at, expected.wake_at);
}

const BatchCandidate kFresh = {.bytes = 10, .queued = At(9'900)};
const BatchCandidate kOlder = {.bytes = 10, .queued = At(9'700)};
const BatchCandidate kTooOld = {.bytes = 10, .queued = At(9'500)};
const BatchCandidate kLarge = {.bytes = 600, .queued = At(9'900)};
const BatchCandidate kFull = {.bytes = 1000, .queued = At(9'900)};
const BatchCandidate kTooLarge = {.bytes = 5000, .queued = At(9'900)};
const BatchCandidate kHuge = {.bytes = UINT64_MAX, .queued = At(9'900)};
const BatchCandidate kEmpty = {.bytes = 0, .queued = At(9'900)};
const BatchCandidate kUrgent = {.bytes = 10, .queued = At(9'900), .deadline = At(10'500)};
const BatchCandidate kSoon = {.bytes = 10, .queued = At(9'900), .deadline = At(10'800)};
const BatchCandidate kFarDeadline = {.bytes = 10, .queued = At(9'900), .deadline = At(90'000)};

INSTANTIATE_TEST_SUITE_P(
    Table, DecideBatchTest,
    ::testing::Values(
        Case{"Nothing", {}, 0, 0}, Case{"NothingWhileBusy", {}, 1, 0},
        Case{"IdleStartsAtOnce", {kFresh}, 0, 1}, Case{"IdleTakesAll", {kFresh, kFresh}, 0, 2},
        Case{"IdleTakesNoMoreThanMayGo", {kFresh, kFresh, kFresh, kFresh, kFresh}, 0, 4},
        Case{"BusyGathers", {kFresh}, 1, 0, At(10'400)},
        Case{"BusyGathersForTheOldest", {kFresh, kOlder, kFresh}, 1, 0, At(10'200)},
        Case{"SizeReached", {kFresh, kFresh, kFresh, kFresh}, 1, 4},
        Case{"SizeExceeded", {kFresh, kFresh, kFresh, kFresh, kFresh}, 1, 4},
        Case{"BytesReached", {kFull}, 1, 1}, Case{"BytesExceeded", {kLarge, kLarge}, 1, 1},
        Case{"BytesExceededByTheThird", {kFresh, kLarge, kLarge}, 1, 2},
        Case{"BytesNotReached", {kLarge, kFresh}, 1, 0, At(10'400)},
        Case{"TooLargeGoesAlone", {kTooLarge, kFresh}, 1, 1},
        Case{"TooLargeEndsTheBatch", {kFresh, kTooLarge}, 1, 1},
        Case{"SumsDoNotOverflow", {kHuge, kHuge}, 0, 1}, Case{"NoBytes", {kEmpty, kEmpty}, 0, 2},
        Case{"NoBytesBesideAFullBatch", {kFull, kEmpty}, 1, 2},
        Case{"OldestWaitedLongEnough", {kFresh, kTooOld}, 1, 2},
        Case{"DeadlineNearerThanTheDelay", {kFresh, kUrgent}, 1, 2},
        Case{"DeadlineSoonerThanTheDelayEnds", {kSoon}, 1, 0, At(10'300)},
        Case{"FarDeadlineChangesNothing", {kFarDeadline}, 1, 0, At(10'400)},
        Case{"FullDeviceTakesNone", {kTooOld, kUrgent, kFresh, kFresh}, 2, 0}),
    [](const auto& test) { return test.param.name; });

TEST(DecideBatchLimitsTest, EndlessDelayWaitsUntilTheBatchIsFull) {
  BatchLimits limits = Limits();
  limits.max_delay = Clock::Duration::max();
  const std::vector<BatchCandidate> candidates(4, kFresh);
  const std::span<const BatchCandidate> all = candidates;
  EXPECT_EQ(DecideBatch(At(10'000), all.first(3), 1, limits).take, 0u);
  EXPECT_EQ(DecideBatch(At(10'000), all.first(3), 1, limits).wake_at, Clock::kNever);
  EXPECT_EQ(DecideBatch(At(10'000), all, 1, limits).take, 4u);
}

TEST(DecideBatchLimitsTest, NoDelayStartsAtOnce) {
  BatchLimits limits = Limits();
  limits.max_delay = Clock::Duration::zero();
  const std::vector<BatchCandidate> candidates = {{.bytes = 1, .queued = At(10'000)}};
  EXPECT_EQ(DecideBatch(At(10'000), candidates, 1, limits).take, 1u);
}

}  // namespace
}  // namespace opserve
