// Percentiles of latencies against the exact ones.

#include <algorithm>
#include <cmath>
#include <random>

#include "client/cli/latency_histogram.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

TEST(LatencyHistogramTest, AnEmptyOneIsAllZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Percentile(99), 0u);
}

TEST(LatencyHistogramTest, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (uint64_t value = 1; value <= 100; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0), 1u);
  EXPECT_EQ(histogram.Percentile(50), 50u);
  EXPECT_EQ(histogram.Percentile(99), 99u);
  EXPECT_EQ(histogram.Percentile(99.1), 100u);
  EXPECT_EQ(histogram.Percentile(100), 100u);
  EXPECT_EQ(histogram.mean(), 50.5);
}

TEST(LatencyHistogramTest, PercentilesErrByLessThanOnePercentUpwards) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latency(13, 2);  // around 0.4 ms, with a long tail
  LatencyHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 100000; ++i) {
    values.push_back(static_cast<uint64_t>(latency(random)));
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (double percent : {1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100 * 100000)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    const auto found = static_cast<double>(histogram.Percentile(percent));
    EXPECT_GE(found, exact) << percent;
    EXPECT_LE(found, exact * 1.01) << percent;
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(LatencyHistogramTest, HoldsTheWholeRange) {
  LatencyHistogram histogram;
  histogram.Record(0);
  histogram.Record(UINT64_MAX);
  EXPECT_EQ(histogram.Percentile(50), 0u);
  EXPECT_EQ(histogram.Percentile(100), UINT64_MAX);
  EXPECT_EQ(histogram.count(), 2u);
}

TEST(LatencyHistogramTest, MergingEqualsRecordingAll) {
  LatencyHistogram a, b, all;
  for (uint64_t i = 0; i < 5000; ++i) {
    (i % 3 == 0 ? a : b).Record(i * i);
    all.Record(i * i);
  }
  a.Merge(b);
  EXPECT_EQ(a.count(), all.count());
  EXPECT_EQ(a.min(), all.min());
  EXPECT_EQ(a.max(), all.max());
  EXPECT_DOUBLE_EQ(a.mean(), all.mean());
  for (double percent = 0; percent <= 100; percent += 0.5) {
    EXPECT_EQ(a.Percentile(percent), all.Percentile(percent));
  }
  a.Merge(LatencyHistogram());
  EXPECT_EQ(a.min(), all.min());
}

TEST(LatencyHistogramTest, CountsWithoutGapsOrOverlap) {
  LatencyHistogram histogram;
  for (uint64_t value : {1, 5, 100, 1000, 100000}) histogram.Record(value);
  EXPECT_EQ(histogram.CountBetween(0, UINT64_MAX), 5u);
  uint64_t sum = 0;
  for (uint64_t low = 0; low < 200000; low += 777) sum += histogram.CountBetween(low, low + 777);
  EXPECT_EQ(sum, 5u);
  EXPECT_EQ(histogram.CountBetween(5, 100), 1u);
}

}  // namespace
}  // namespace opserve::cli
