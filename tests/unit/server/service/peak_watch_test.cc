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
  EXPECT_FALSE(watch.Sample(4000, 0, kStart + 10 * kSecond));
  EXPECT_FALSE(watch.Sample(1001, 0, kStart + 11 * kSecond));
  EXPECT_FALSE(watch.Sample(1001, 0, kStart + 20 * kSecond));
  // Some have just closed.
  EXPECT_FALSE(watch.Sample(1000, 0, kStart + 21 * kSecond));
  EXPECT_FALSE(watch.Sample(1000, 0, kStart + 25 * kSecond));
  EXPECT_TRUE(watch.Sample(1000, 0, kStart + 26 * kSecond));
  EXPECT_FALSE(watch.Sample(1000, 0, kStart + 200 * kSecond));
}

TEST(PeakWatchTest, SeesPeaksBetweenSamples) {
  PeakWatch watch;
  watch.Sample(0, 0, kStart);
  watch.NotePeak(1000);
  watch.NotePeak(3);
  EXPECT_FALSE(watch.Sample(0, 0, kStart + kSecond));
  EXPECT_TRUE(watch.Sample(0, 0, kStart + 10 * kSecond));
}

TEST(PeakWatchTest, WaitsForTheLastRequest) {
  PeakWatch watch;
  watch.Sample(1000, 7, kStart);
  watch.Sample(0, 7, kStart);
  EXPECT_FALSE(watch.Sample(0, 1, kStart + 10 * kSecond));
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 14 * kSecond));
  EXPECT_TRUE(watch.Sample(0, 0, kStart + 15 * kSecond));
}

TEST(PeakWatchTest, FewConnectionsAreNoPeak) {
  PeakWatch watch;
  watch.Sample(999, 0, kStart);
  watch.Sample(0, 0, kStart);
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 100 * kSecond));
}

// Whether a peak is over once `left` of its connections have been there for long enough.
bool IsOverAfter(PeakWatch& watch, size_t peak, size_t left, Clock::TimePoint now) {
  watch.Sample(peak, 0, now);
  watch.Sample(left, 0, now);
  return watch.Sample(left, 0, now + PeakWatch::kRest);
}

TEST(PeakWatchTest, EndsAtMostOnePeakAMinute) {
  PeakWatch watch;
  EXPECT_TRUE(IsOverAfter(watch, 1000, 0, kStart - PeakWatch::kRest));
  EXPECT_FALSE(IsOverAfter(watch, 1000, 0, kStart + 50 * kSecond));
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 59 * kSecond));
  // The peak is not forgotten.
  EXPECT_TRUE(watch.Sample(0, 0, kStart + 60 * kSecond));
  EXPECT_FALSE(watch.Sample(0, 0, kStart + 200 * kSecond));
}

// What was given back needs no giving back when nothing has come since.
TEST(PeakWatchTest, TheNextPeakBeginsWithWhatIsLeft) {
  PeakWatch watch;
  EXPECT_TRUE(IsOverAfter(watch, 8000, 2000, kStart));
  EXPECT_FALSE(IsOverAfter(watch, 2000, 501, kStart + 100 * kSecond));
  EXPECT_TRUE(IsOverAfter(watch, 501, 500, kStart + 200 * kSecond));
}

}  // namespace
}  // namespace opserve::testing
