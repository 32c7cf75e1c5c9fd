#include "server/access/token_list.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string TokenErrorOf(const std::string& text) {
  return std::string(TokenList::Parse(text, "tokens").status().message());
}

TEST(TokenListTest, TokensAreLongAndKnownByTheirPrefix) {
  const std::string token = MakeToken();
  EXPECT_THAT(token, StartsWith("opserve_"));
  // 256 bits as hexadecimal digits.
  EXPECT_EQ(token.size(), std::string(kTokenPrefix).size() + 64);
  EXPECT_NE(MakeToken(), token);
}

TEST(TokenListTest, KeepsHashesAlone) {
  TokenList list;
  const std::string ci = MakeToken();
  const std::string lab = MakeToken();
  const absl::Time expires = absl::FromUnixSeconds(1'800'000'000);
  ASSERT_TRUE(list.Add("ci", ci, absl::InfiniteFuture()).ok());
  ASSERT_TRUE(list.Add("lab", lab, expires).ok());
  const std::string text = list.ToText();
  EXPECT_THAT(text, Not(HasSubstr(ci)));
  EXPECT_THAT(text, Not(HasSubstr(ci.substr(8))));
  EXPECT_THAT(text, HasSubstr(" 2027-01-15T08:00:00Z\n"));
  const auto read = TokenList::Parse(text, "tokens");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_NE(read->Find(ci), nullptr);
  EXPECT_EQ(read->Find(ci)->name, "ci");
  EXPECT_EQ(read->Find(ci)->expires, absl::InfiniteFuture());
  EXPECT_EQ(read->Find(lab)->expires, expires);
  EXPECT_EQ(read->Find(MakeToken()), nullptr);
  EXPECT_EQ(read->Find(""), nullptr);
  EXPECT_EQ(read->Find(ci.substr(0, ci.size() - 1)), nullptr);
}

TEST(TokenListTest, NamesAreThereOnce) {
  TokenList list;
  ASSERT_TRUE(list.Add("ci", MakeToken(), absl::InfiniteFuture()).ok());
  EXPECT_EQ(list.Add("ci", MakeToken(), absl::InfiniteFuture()).code(),
            absl::StatusCode::kAlreadyExists);
  for (const char* name : {"", "a b", "a/b", "#a", "ci-*"}) {
    EXPECT_EQ(list.Add(name, MakeToken(), absl::InfiniteFuture()).code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_TRUE(list.Remove("ci"));
  EXPECT_FALSE(list.Remove("ci"));
}

TEST(TokenListTest, ErrorsNameTheLine) {
  const std::string hash(64, 'a');
  EXPECT_TRUE(TokenList::Parse("# a\n\n  ci " + hash + " \n", "tokens").ok());
  EXPECT_THAT(TokenErrorOf("\nci"), StartsWith("tokens:2: the line has 1 fields"));
  EXPECT_THAT(TokenErrorOf("ci " + hash + " x y"), StartsWith("tokens:1: the line has 4"));
  EXPECT_THAT(TokenErrorOf("ci abc"), StartsWith("tokens:1: the hash must be 64"));
  EXPECT_THAT(TokenErrorOf("ci " + std::string(64, 'x')), StartsWith("tokens:1: the hash"));
  EXPECT_THAT(TokenErrorOf("ci " + hash + " soon"), StartsWith("tokens:1: \"soon\" is no time"));
  EXPECT_THAT(TokenErrorOf("a/b " + hash), StartsWith("tokens:1: \"a/b\" is no name"));
  EXPECT_THAT(TokenErrorOf("ci " + hash + "\nci " + hash),
              StartsWith("tokens:2: there is another token of the name ci"));
}

}  // namespace
}  // namespace opserve::testing
