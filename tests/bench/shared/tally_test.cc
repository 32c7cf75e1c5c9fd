#include "tests/bench/shared/tally.h"

#include "gtest/gtest.h"

namespace opserve::shared_bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TallyTest, CallsCountWhenTheyWereDue) {
  const SteadyClock::time_point begin;
  Tally tally(begin, seconds(1));
  const auto count = [&](milliseconds began, milliseconds ended) {
    tally.Count(begin + began, begin + ended, absl::OkStatus(), true);
  };
  // Of the warm-up, and after the end.
  count(milliseconds(-1), milliseconds(500));
  count(milliseconds(1000), milliseconds(1001));
  EXPECT_EQ(tally.ToJson()["right"], 0);
  count(milliseconds(0), milliseconds(1));
  count(milliseconds(999), milliseconds(4999));
  EXPECT_EQ(tally.ToJson()["right"], 2);
  EXPECT_DOUBLE_EQ(tally.ToJson()["max_us"], 4e6);
}

}  // namespace
}  // namespace opserve::shared_bench
