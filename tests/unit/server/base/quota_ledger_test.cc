// Charges against quotas: of a holder, and of all.

#include "server/base/quota_ledger.h"

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using Holders = std::vector<std::pair<std::string, uint64_t>>;

TEST(QuotaLedgerTest, ChargesLastAsLongAsTheyLive) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 15});
  QuotaTaking first = ledger.Take("a", 6);
  ASSERT_TRUE(first.charge.is_set());
  EXPECT_EQ(first.charge.bytes(), 6);
  EXPECT_EQ(ledger.UsedBy("a"), 6);
  EXPECT_EQ(ledger.used(), 6);
  first.charge = {};
  EXPECT_EQ(ledger.UsedBy("a"), 0);
  EXPECT_EQ(ledger.used(), 0);
}

TEST(QuotaLedgerTest, TellsWhatIsShort) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 15});
  const QuotaTaking a = ledger.Take("a", 6);
  const QuotaTaking too_much = ledger.Take("a", 5);
  ASSERT_TRUE(too_much.shortage);
  EXPECT_FALSE(too_much.charge.is_set());
  EXPECT_FALSE(too_much.shortage->is_of_all);
  EXPECT_EQ(too_much.shortage->used, 6);
  EXPECT_EQ(too_much.shortage->asked, 5);
  EXPECT_EQ(too_much.shortage->limit, 10);
  const QuotaTaking b = ledger.Take("b", 10);
  ASSERT_TRUE(b.shortage);
  EXPECT_TRUE(b.shortage->is_of_all);
  EXPECT_EQ(b.shortage->limit, 15);
  EXPECT_TRUE(ledger.Take("b", UINT64_MAX).shortage);
  EXPECT_TRUE(ledger.Take("b", 9).charge.is_set());
  EXPECT_EQ(ledger.used(), 6);
}

TEST(QuotaLedgerTest, TheSameAgainIsOfTheSameHolder) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 100});
  QuotaTaking first = ledger.Take("a", 4);
  QuotaTaking second = first.charge.TakeSame();
  EXPECT_EQ(ledger.UsedBy("a"), 8);
  EXPECT_TRUE(second.charge.TakeSame().shortage);
  first.charge = {};
  EXPECT_TRUE(second.charge.TakeSame().charge.is_set());
  EXPECT_EQ(ledger.UsedBy("a"), 4);
}

TEST(QuotaLedgerTest, AGroupHasItsLimitTogether) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 100});
  // More than each holder may have by itself, and less than two of them.
  const QuotaGroup group = {"g", 15};
  QuotaTaking a = ledger.Take("g/a", 12, group);
  ASSERT_TRUE(a.charge.is_set());
  const QuotaTaking b = ledger.Take("g/b", 4, group);
  ASSERT_TRUE(b.shortage);
  EXPECT_FALSE(b.shortage->is_of_all);
  EXPECT_EQ(b.shortage->used, 12);
  EXPECT_EQ(b.shortage->limit, 15);
  const QuotaTaking c = ledger.Take("g/b", 3, group);
  EXPECT_TRUE(c.charge.is_set());
  EXPECT_TRUE(c.charge.TakeSame().shortage);
  EXPECT_TRUE(ledger.Take("other", 10).charge.is_set());
  a.charge = {};
  EXPECT_TRUE(c.charge.TakeSame().charge.is_set());
  EXPECT_TRUE(ledger.Take("g/a", 12, group).charge.is_set());
}

TEST(QuotaLedgerTest, ALimitOfAGroupMayComeAndGo) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 100});
  const QuotaTaking a = ledger.Take("g/a", 8, {"g", std::nullopt});
  const QuotaTaking b = ledger.Take("g/b", 8, {"g", std::nullopt});
  // What was charged before counts, and may be more than the limit.
  const QuotaTaking limited = ledger.Take("g/a", 1, {"g", 9});
  ASSERT_TRUE(limited.shortage);
  EXPECT_EQ(limited.shortage->used, 16);
  EXPECT_EQ(limited.shortage->limit, 9);
  EXPECT_TRUE(a.charge.TakeSame().shortage);
  EXPECT_TRUE(ledger.Take("g/a", 1, {"g", 17}).charge.is_set());
  EXPECT_TRUE(ledger.Take("g/a", 2, {"g", std::nullopt}).charge.is_set());
}

TEST(QuotaLedgerTest, TheLatestLimitOfAGroupHoldsForWhatIsTakenAgain) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 100});
  const QuotaTaking first = ledger.Take("g/a", 4, {"g", 20});
  EXPECT_TRUE(first.charge.TakeSame().charge.is_set());
  EXPECT_TRUE(ledger.Take("g/a", 1, {"g", 6}).charge.is_set());
  EXPECT_TRUE(first.charge.TakeSame().shortage);
}

TEST(QuotaLedgerTest, TellsWhoHoldsMost) {
  QuotaLedger ledger({.per_holder = 10, .of_all = 100});
  {
    const QuotaTaking a = ledger.Take("g/a", 5, {"g", std::nullopt});
    const QuotaTaking b = ledger.Take("g/b", 2, {"g", std::nullopt});
    const QuotaTaking c = ledger.Take("h/c", 6, {"h", std::nullopt});
    const QuotaHoldings holders = ledger.Largest(2);
    EXPECT_EQ(holders.largest, (Holders{{"h/c", 6}, {"g/a", 5}}));
    EXPECT_EQ(holders.others, 2);
    const QuotaHoldings groups = ledger.LargestGroups(1);
    EXPECT_EQ(groups.largest, (Holders{{"g", 7}}));
    EXPECT_EQ(groups.others, 6);
  }
  EXPECT_EQ(ledger.Largest(9).largest, Holders());
  EXPECT_EQ(ledger.LargestGroups(9).largest, Holders());
}

TEST(QuotaLedgerTest, ChargesOutliveTheLedger) {
  QuotaTaking left;
  {
    QuotaLedger ledger({.per_holder = 10, .of_all = 100});
    left = ledger.Take("a", 4);
  }
  EXPECT_EQ(left.charge.TakeSame().charge.bytes(), 4);
}

TEST(QuotaLedgerTest, ManyThreadsLeaveNothingBehind) {
  QuotaLedger ledger({.per_holder = 3, .of_all = 4});
  std::vector<std::thread> threads;
  for (const char* holder : {"a", "a", "b", "b"}) {
    threads.emplace_back([&ledger, holder] {
      for (int i = 0; i < 1000; ++i) {
        const QuotaTaking one = ledger.Take(holder, 2);
        EXPECT_TRUE(!one.charge.is_set() || one.charge.TakeSame().shortage);
        EXPECT_LE(ledger.used(), 4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.used(), 0);
}

}  // namespace
}  // namespace opserve::testing
