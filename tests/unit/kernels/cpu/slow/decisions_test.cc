#include "kernels/cpu/slow/decisions.h"

#include <gtest/gtest.h>

#include <limits>

namespace opserve::cpu::slow {
namespace {

constexpr char kOneFunction = 0;
constexpr char kOtherFunction = 0;

TEST(DecisionsTest, AreMadeOnce) {
  int made = 0;
  const auto decide = [&made] { return static_cast<double>(++made); };
  const DecisionKey key = {&kOneFunction, {}, {0.25, 0}};
  const uint64_t before = DecisionCount();
  EXPECT_EQ(Remembered(key, decide), 1);
  EXPECT_EQ(Remembered(key, decide), 1);
  EXPECT_EQ(DecisionCount() - before, 2u);
}

// Whichever share a place.
TEST(DecisionsTest, DependOnAllOfTheirKey) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int round = 0; round < 2; ++round) {
    double result = 0;
    for (const char* function : {&kOneFunction, &kOtherFunction}) {
      for (const double parameter : {0.0, -0.0, 1.0, nan}) {
        for (int i = 0; i < 3000; ++i) {
          const DecisionKey key = {function, {1, parameter}, {0.5 * i, 2}};
          ++result;
          EXPECT_EQ(Remembered(key, [&] { return result; }), result);
        }
      }
    }
  }
}

}  // namespace
}  // namespace opserve::cpu::slow
