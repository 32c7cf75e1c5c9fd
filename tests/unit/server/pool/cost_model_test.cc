#include "server/pool/cost_model.h"

#include <chrono>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr LaneKey kLane = {
    .op = OpId::ELEMENT_WISE_ROUND, .lane_type = DataType::kFloat32, .is_packed = true};

// A device that takes 100 us and a nanosecond per byte, times `factor`.
Clock::Duration TimeOf(uint64_t bytes, int factor = 1) {
  return factor * (microseconds(100) + nanoseconds(bytes));
}

void ExpectNear(const CostModel& model, uint64_t bytes, Clock::Duration expected) {
  const std::optional<Clock::Duration> estimate = model.Estimate(kLane, bytes);
  ASSERT_TRUE(estimate.has_value());
  const auto want = static_cast<double>(expected.count());
  EXPECT_NEAR(static_cast<double>(estimate->count()), want, want / 100) << bytes;
}

TEST(CostModelTest, UnknownLanesHaveNoEstimate) {
  CostModel model;
  EXPECT_EQ(model.Estimate(kLane, 1), std::nullopt);
  EXPECT_EQ(model.EstimateAny(3, 1000), Clock::Duration::zero());
  model.Observe(kLane, 1000, TimeOf(1000));
  EXPECT_NE(model.Estimate(kLane, 1), std::nullopt);
  LaneKey other = kLane;
  other.is_packed = false;
  EXPECT_EQ(model.Estimate(other, 1), std::nullopt);
  model.Clear();
  EXPECT_EQ(model.Estimate(kLane, 1), std::nullopt);
}

TEST(CostModelTest, UnknownLanesAreEstimatedLikeOthers) {
  CostModel model;
  LaneKey other = kLane;
  other.op = OpId::ELEMENT_WISE_ABS;
  EXPECT_EQ(model.EstimateLike(other, 1), std::nullopt);
  model.Observe(kLane, 4096, TimeOf(4096));
  model.Observe(kLane, 1 << 20, TimeOf(1 << 20));
  EXPECT_EQ(model.EstimateLike(other, 100'000), model.Estimate(kLane, 100'000));
  model.Observe(other, 4096, TimeOf(4096, 7));
  EXPECT_EQ(model.EstimateLike(other, 4096), model.Estimate(other, 4096));
  EXPECT_NE(model.EstimateLike(other, 4096), model.Estimate(kLane, 4096));
}

TEST(CostModelTest, AttributesShareALane) {
  CostModel model;
  model.Observe(kLane, 1000, TimeOf(1000));
  LaneKey other = kLane;
  other.attributes[0] = 2;
  EXPECT_EQ(model.Estimate(other, 1000), model.Estimate(kLane, 1000));
}

TEST(CostModelTest, LearnsBothCoefficients) {
  CostModel model;
  model.Observe(kLane, 4096, TimeOf(4096));
  model.Observe(kLane, 1 << 20, TimeOf(1 << 20));
  for (const uint64_t bytes : {0, 4096, 100'000, 1 << 20, 1 << 26}) {
    ExpectNear(model, bytes, TimeOf(bytes));
  }
  EXPECT_NEAR(static_cast<double>(model.EstimateAny(3, 1000).count()), 301'000, 3000);
}

TEST(CostModelTest, ConstantsShareALane) {
  CostModel model;
  LaneKey scaled = kLane;
  scaled.scale_bias = ScaleBias{.scale = 1, .bias = 2};
  scaled.fused_activation = FusedActivation{.op = OpId::ELEMENT_WISE_ABS};
  model.Observe(scaled, 1000, TimeOf(1000));
  LaneKey other = scaled;
  other.scale_bias->scale = 3;
  other.fused_activation->attributes[0] = 7;
  EXPECT_EQ(model.Estimate(other, 1000), model.Estimate(scaled, 1000));
  other.fused_activation->op = OpId::ELEMENT_WISE_ROUND;
  EXPECT_EQ(model.Estimate(other, 1000), std::nullopt);
  EXPECT_EQ(model.Estimate(kLane, 1000), std::nullopt);
}

TEST(CostModelTest, CopiesTakeWhatBytesTakeInRounding) {
  const LaneKey round = {.op = OpId::ELEMENT_WISE_ROUND,
                         .lane_type = DataType::kFloat32,
                         .output_type = DataType::kFloat32,
                         .is_packed = true};
  LaneKey other = round;
  other.is_packed = false;
  CostModel model;
  for (const uint64_t bytes : {4096, 1 << 20}) model.Observe(other, bytes, TimeOf(bytes, 3));
  EXPECT_EQ(model.EstimateCopy(1 << 20), Clock::Duration::zero());
  for (const uint64_t bytes : {4096, 1 << 20}) model.Observe(round, bytes, TimeOf(bytes));
  const auto want = static_cast<double>((TimeOf(3 << 20) - TimeOf(0)).count());
  EXPECT_NEAR(static_cast<double>(model.EstimateCopy(3 << 20).count()), want, want / 100);
  model.Clear();
  EXPECT_EQ(model.EstimateCopy(1 << 20), Clock::Duration::zero());
}

TEST(CostModelTest, FollowsADeviceThatBecomesSlower) {
  CostModel model;
  for (int i = 0; i < 50; ++i) {
    model.Observe(kLane, 4096, TimeOf(4096));
    model.Observe(kLane, 1 << 20, TimeOf(1 << 20));
  }
  for (int i = 0; i < 100; ++i) {
    model.Observe(kLane, 4096, TimeOf(4096, 5));
    model.Observe(kLane, 1 << 20, TimeOf(1 << 20, 5));
  }
  ExpectNear(model, 4096, TimeOf(4096, 5));
  ExpectNear(model, 1 << 20, TimeOf(1 << 20, 5));
}

TEST(CostModelTest, BelievesADeviceThatBecomesFaster) {
  CostModel model;
  for (int i = 0; i < 100; ++i) model.Observe(kLane, 4096, TimeOf(4096, 10));
  // Runs that are slow for once change little.
  model.Observe(kLane, 4096, TimeOf(4096, 20));
  EXPECT_LT(*model.Estimate(kLane, 4096), TimeOf(4096, 11));
  for (int i = 0; i < 4; ++i) model.Observe(kLane, 4096, TimeOf(4096));
  EXPECT_LT(*model.Estimate(kLane, 4096), TimeOf(4096, 4));
  // What is expected of lanes that nobody knows is of all kernels, of which some are faster.
  LaneKey other = kLane;
  other.op = OpId::ELEMENT_WISE_ABS;
  EXPECT_GT(*model.EstimateLike(other, 4096), TimeOf(4096, 7));
}

// Requests of one size, with noise: what is known of other sizes must not be forgotten.
TEST(CostModelTest, KeepsTheSlopeWhileSizesTellNothingOfIt) {
  CostModel model;
  model.Observe(kLane, 4096, TimeOf(4096));
  model.Observe(kLane, 1 << 20, TimeOf(1 << 20));
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t bytes = 4000 + i % 7 * 30;
    model.Observe(kLane, bytes, TimeOf(bytes) + microseconds(i * 31 % 11) - microseconds(5));
  }
  const double estimate = static_cast<double>(model.Estimate(kLane, 1 << 20)->count());
  EXPECT_NEAR(estimate, static_cast<double>(TimeOf(1 << 20).count()), estimate / 10);
}

TEST(CostModelTest, CoefficientsAreNeverNegative) {
  CostLine falling;
  falling.Observe(1000, 5000);
  falling.Observe(100'000, 1000);
  EXPECT_EQ(falling.per_byte_ns(), 0);
  EXPECT_GT(falling.fixed_ns(), 0);

  CostLine below_zero;
  below_zero.Observe(1000, 1);
  below_zero.Observe(100'000, 100'000);
  EXPECT_GT(below_zero.per_byte_ns(), 0);
  EXPECT_GE(below_zero.fixed_ns(), 0);
}

TEST(CostModelTest, ZeroTimesAndSizesAreHarmless) {
  CostModel model;
  model.Observe(kLane, 0, Clock::Duration::zero());
  model.Observe(kLane, 0, Clock::Duration::zero());
  EXPECT_EQ(model.Estimate(kLane, UINT64_MAX), Clock::Duration::zero());
}

}  // namespace
}  // namespace opserve::testing
