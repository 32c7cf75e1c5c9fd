// When a server counts as full, and when it has room again.

#include "server/service/saturation.h"

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

constexpr AdmissionLimits kSmall = {.max_requests = 16, .max_bytes = 1600};

TEST(SaturationTest, IsFullFromTheFirstFullSampleOn) {
  Saturation saturation(kSmall);
  EXPECT_FALSE(saturation.Sample({}));
  EXPECT_FALSE(saturation.Sample({.requests = 14, .bytes = 1499}));
  EXPECT_TRUE(saturation.Sample({.requests = 15, .bytes = 0}));
  Saturation of_bytes(kSmall);
  EXPECT_TRUE(of_bytes.Sample({.requests = 1, .bytes = 1500}));
}

TEST(SaturationTest, HasRoomAfterFourCalmSamplesInARow) {
  Saturation saturation(kSmall);
  EXPECT_TRUE(saturation.Sample({.requests = 16}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(saturation.Sample({.requests = 11}));
  // Three quarters: not calm, so it begins anew.
  EXPECT_TRUE(saturation.Sample({.requests = 12}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(saturation.Sample({.requests = 11}));
  EXPECT_FALSE(saturation.Sample({.requests = 11}));
  EXPECT_FALSE(saturation.Sample({.requests = 14}));
}

TEST(SaturationTest, LoadAroundTheLimitDoesNotFlap) {
  Saturation saturation(kSmall);
  int changes = 0;
  bool was_full = false;
  for (int i = 0; i < 100; ++i) {
    const bool is_full = saturation.Sample({.requests = i % 3 == 0 ? 16u : 4u});
    changes += is_full != was_full;
    was_full = is_full;
  }
  EXPECT_EQ(changes, 1);
}

TEST(SaturationTest, ABudgetOfOneIsFullWhereItIsTaken) {
  Saturation saturation({.max_requests = 1, .max_bytes = 100});
  EXPECT_FALSE(saturation.Sample({}));
  EXPECT_TRUE(saturation.Sample({.requests = 1}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(saturation.Sample({}));
  EXPECT_FALSE(saturation.Sample({}));
}

}  // namespace
}  // namespace opserve::testing
