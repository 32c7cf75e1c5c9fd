// Charges against quotas: of a holder, and of all.

#include "server/base/quota_ledger.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

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
