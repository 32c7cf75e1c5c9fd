// Who holds most, of those that metrics name.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/admission/admission.h"
#include "server/base/quota_ledger.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Holdings, AreOfTheLargestAndOfAllOthersTogether) {
  QuotaLedger ledger({.per_holder = 1000, .of_all = 10000});
  EXPECT_THAT(ledger.Largest(2).largest, IsEmpty());
  std::vector<QuotaTaking> taken;
  for (const uint64_t bytes : {10, 300, 20, 200, 30}) {
    taken.push_back(ledger.Take(absl::StrCat("holder", bytes), bytes));
  }
  const QuotaHoldings two = ledger.Largest(2);
  EXPECT_THAT(two.largest, ElementsAre(Pair("holder300", 300), Pair("holder200", 200)));
  EXPECT_EQ(two.others, 60u);
  EXPECT_EQ(ledger.Largest(5).others, 0u);
  EXPECT_EQ(ledger.Largest(100).largest.size(), 5u);
}

TEST(Holdings, OfGroupsAreThoseOfAllTheirHolders) {
  QuotaLedger ledger({.per_holder = 1000, .of_all = 10000});
  std::vector<QuotaTaking> taken;
  for (const auto& [holder, group, bytes] :
       {std::tuple("a/1", "a", 300), std::tuple("b/1", "b", 400), std::tuple("a/2", "a", 200),
        std::tuple("a/1", "a", 10), std::tuple("c", "c", 20), std::tuple("alone", "", 1000)}) {
    taken.push_back(ledger.Take(holder, static_cast<uint64_t>(bytes), {.name = group}));
  }
  const QuotaHoldings two = ledger.LargestGroups(2);
  EXPECT_THAT(two.largest, ElementsAre(Pair("a", 510), Pair("b", 400)));
  EXPECT_EQ(two.others, 1020u);
  EXPECT_EQ(ledger.LargestGroups(100).largest.size(), 3u);
}

TEST(Holdings, OfRequestsAreByIdentity) {
  Admission admission({});
  std::vector<Admission::Permit> permits;
  for (const auto& [client, bytes] : {std::pair("10.0.0.1", 5), std::pair("10.0.0.1", 6),
                                      std::pair("10.0.0.2", 100), std::pair("uid:7", 1)}) {
    permits.push_back(*admission.Admit(client, static_cast<uint64_t>(bytes)));
  }
  const Admission::ClientUsage two = admission.LargestClients(2);
  EXPECT_THAT(two.largest, ElementsAre(Pair("10.0.0.2", Admission::Usage{1, 100}),
                                       Pair("10.0.0.1", Admission::Usage{2, 11})));
  EXPECT_EQ(two.others, (Admission::Usage{1, 1}));
}

}  // namespace
}  // namespace opserve
