// Tokens are found the first time by their hashes, and then by themselves.

#include "server/access/token_lookup.h"

#include <string>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

TEST(TokenLookupTest, FindsWhatTheListHasAndNothingElse) {
  const std::string ci = MakeToken();
  const std::string lab = MakeToken();
  TokenList list;
  ASSERT_TRUE(list.Add("ci", ci, absl::InfiniteFuture()).ok());
  ASSERT_TRUE(list.Add("lab", lab, absl::FromUnixSeconds(1)).ok());
  const TokenLookup lookup(std::move(list));
  // Once by hash, once more as it is known.
  for (int time = 0; time < 2; ++time) {
    ASSERT_NE(lookup.Find(ci), nullptr);
    EXPECT_EQ(lookup.Find(ci)->name, "ci");
    ASSERT_NE(lookup.Find(lab), nullptr);
    EXPECT_EQ(lookup.Find(lab)->expires, absl::FromUnixSeconds(1));
    EXPECT_EQ(lookup.Find(ci.substr(0, ci.size() - 1)), nullptr);
    EXPECT_EQ(lookup.Find(""), nullptr);
    EXPECT_EQ(lookup.Find(MakeToken()), nullptr);
  }
}

}  // namespace
}  // namespace opserve::testing
