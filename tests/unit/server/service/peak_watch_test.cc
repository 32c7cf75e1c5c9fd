// When a peak of connections counts as over.

#include "server/service/peak_watch.h"

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

constexpr Clock::TimePoint kStart{};
constexpr std::chrono::seconds kSecond{1};

TEST(PeakWatchTest, IsOverOnceAQuarterIsLeftAndNothingMoves) {
  PeakWatch watch;
  EXPECT_FALSE(watch.Sample(4000, 0, kStart));
  EXPECT_FALSE(watch.Sample(4000, 0, kStart));
  EXPECT_FALSE(watch.Sample(1001, 0, kStart));
  EXPECT_FALSE(watch.Sample(1001, 0, kStart));
  // Some have just closed.
  EXPECT_FALSE(watch.Sample(1000, 0, kStart));
  EXPECT_TRUE(watch.Sample(1000, 0, kStart));
  EXPECT_FALSE(watch.Sample(1000, 0, kStart));
}

TEST(PeakWatchTest, WaitsForTheLastRequest) {
  PeakWatch watch;
  watch.Sample(1000, 7, kStart);
  watch.Sample(0, 7, kStart);
  EXPECT_FALSE(watch.Sample(0, 1, kStart));
  EXPECT_TRUE(watch.Sample(0, 0, kStart));
}

TEST(PeakWatchTest, FewConnectionsAreNoPeak) {
  PeakWatch watch;
  watch.Sample(999, 0, kStart);
  watch.Sample(0, 0, kStart);
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 100 * kSecond));
}

TEST(PeakWatchTest, EndsAtMostOnePeakAMinute) {
  PeakWatch watch;
  const auto peak = [&](Clock::TimePoint now) {
    watch.Sample(1000, 0, now);
    watch.Sample(0, 0, now);
    return watch.Sample(0, 0, now);
  };
  EXPECT_TRUE(peak(kStart));
  EXPECT_FALSE(peak(kStart + 59 * kSecond));
  // The peak is not forgotten.
  EXPECT_TRUE(watch.Sample(0, 0, kStart + 60 * kSecond));
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 200 * kSecond));
}

// What was given back needs no giving back when nothing has come since.
TEST(PeakWatchTest, TheNextPeakBeginsWithWhatIsLeft) {
  PeakWatch watch;
  watch.Sample(8000, 0, kStart);
  watch.Sample(2000, 0, kStart);
  EXPECT_TRUE(watch.Sample(2000, 0, kStart));
  watch.Sample(501, 0, kStart + 100 * kSecond);
  EXPECT_FALSE(watch.Sample(501, 0, kStart + 100 * kSecond));
  watch.Sample(500, 0, kStart + 100 * kSecond);
  EXPECT_TRUE(watch.Sample(500, 0, kStart + 100 * kSecond));
}

}  // namespace
}  // namespace opserve::testing
