#include "server/base/time_of_day.h"

#include <chrono>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// Whether the system was asked for the time of day of `moment`, and not the one before.
bool IsAsked(Clock::TimePoint moment) {
  const absl::Time before = absl::Now();
  const absl::Time told = TimeOfDay(moment);
  return told >= before && told <= absl::Now();
}

TEST(TimeOfDayTest, TheSystemIsAskedEveryTenMilliseconds) {
  // No such moment has come in this thread, so what is counted on is far from now.
  const Clock::TimePoint first = SteadyClock().Now() + std::chrono::hours(1);
  EXPECT_TRUE(IsAsked(first));
  const absl::Time time = TimeOfDay(first);
  EXPECT_EQ(TimeOfDay(first + milliseconds(9)), time + absl::Milliseconds(9));
  EXPECT_FALSE(IsAsked(first + milliseconds(9)));
  EXPECT_TRUE(IsAsked(first + milliseconds(10)));
  EXPECT_TRUE(IsAsked(first + std::chrono::hours(1)));
  // Backwards.
  EXPECT_TRUE(IsAsked(first));
}

}  // namespace
}  // namespace opserve
