// Who makes what is made when it is needed, and when it goes.

#include "server/base/on_demand.h"

#include <atomic>
#include <latch>
#include <thread>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

// Counts itself.
struct Counted {
  Counted() { ++living; }
  ~Counted() { --living; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  static inline std::atomic<int> living = 0;
  std::atomic<int> uses = 0;
};

TEST(OnDemandTest, IsMadeWhenItIsNeededAndGoesWithItsOwner) {
  {
    OnDemand<Counted> one;
    EXPECT_EQ(one.get(), nullptr);
    EXPECT_EQ(Counted::living, 0);
    Counted* const made = one.Make();
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(one.get(), made);
    EXPECT_EQ(one.Make(), made);
    EXPECT_EQ(Counted::living, 1);
  }
  EXPECT_EQ(Counted::living, 0);
}

TEST(OnDemandTest, ThreadsThatNeedItAtTheSameTimeHaveTheSame) {
  for (int round = 0; round < 1000; ++round) {
    OnDemand<Counted> one;
    std::latch begin(2);
    const auto use = [&] {
      begin.arrive_and_wait();
      ++one.Make()->uses;
    };
    std::thread other(use);
    use();
    other.join();
    ASSERT_EQ(one.get()->uses, 2);
    ASSERT_EQ(Counted::living, 1);
  }
  EXPECT_EQ(Counted::living, 0);
}

}  // namespace
}  // namespace opserve::testing
