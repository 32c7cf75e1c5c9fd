#include "server/pool/probe_budget.h"

#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST(ProbeBudgetTest, IsAHundredthOfWhatRequestsTake) {
  ProbeBudget budget;
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < 50; ++i) EXPECT_FALSE(budget.Spend(microseconds(100), microseconds(50)));
    EXPECT_TRUE(budget.Spend(microseconds(100), microseconds(50)));
  }
}

TEST(ProbeBudgetTest, IsSpentAtOnce) {
  ProbeBudget budget;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(budget.Spend(microseconds(100), microseconds(5000)));
  EXPECT_TRUE(budget.Spend(microseconds(100), microseconds(1)));
  EXPECT_FALSE(budget.Spend(microseconds(100), microseconds(2)));
}

TEST(ProbeBudgetTest, GrowsByTheShortestRequests) {
  ProbeBudget budget;
  for (int i = 1; i < 40; ++i) EXPECT_FALSE(budget.Spend(nanoseconds(1), nanoseconds(40)));
  EXPECT_TRUE(budget.Spend(nanoseconds(1), nanoseconds(40)));
}

TEST(ProbeBudgetTest, ThreadsSpendNothingTwice) {
  constexpr int kThreads = 4;
  constexpr int kRequests = 10000;
  ProbeBudget budget;
  std::vector<int> probes(kThreads);
  std::vector<std::thread> threads;
  for (int& count : probes) {
    threads.emplace_back([&budget, &count] {
      for (int i = 0; i < kRequests; ++i) {
        if (budget.Spend(microseconds(100), microseconds(50))) ++count;
      }
    });
  }
  int sum = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads[t].join();
    sum += probes[t];
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, kThreads * kRequests / 50);
}

}  // namespace
}  // namespace opserve::testing
