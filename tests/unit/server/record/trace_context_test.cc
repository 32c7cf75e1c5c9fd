// What is a valid traceparent.

#include "server/record/trace_context.h"

#include <string>

#include "gtest/gtest.h"

namespace opserve {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kTraceParent[] = "00f067aa0ba902b7";

std::string ParentOf(const std::string& version, const std::string& flags) {
  return version + "-" + kTrace + "-" + kTraceParent + "-" + flags;
}

TEST(TraceParent, IsReadWithItsFlag) {
  const auto sampled = ParseTraceParent(ParentOf("00", "01"));
  ASSERT_TRUE(sampled.has_value());
  EXPECT_EQ(sampled->trace_id, kTrace);
  EXPECT_EQ(sampled->parent_id, kTraceParent);
  EXPECT_TRUE(sampled->is_sampled);
  EXPECT_FALSE(ParseTraceParent(ParentOf("00", "00"))->is_sampled);
  // Flags that this version does not know.
  EXPECT_FALSE(ParseTraceParent(ParentOf("00", "fe"))->is_sampled);
  EXPECT_TRUE(ParseTraceParent(ParentOf("00", "ff"))->is_sampled);
}

TEST(TraceParent, OfLaterVersionsIsReadAsFarAsItIsKnown) {
  EXPECT_TRUE(ParseTraceParent(ParentOf("01", "01")).has_value());
  EXPECT_TRUE(ParseTraceParent(ParentOf("cc", "01-what-comes-then")).has_value());
  EXPECT_FALSE(ParseTraceParent(ParentOf("cc", "01what-comes-then")).has_value());
}

TEST(TraceParent, IsNothingElse) {
  const std::string valid = ParentOf("00", "01");
  EXPECT_FALSE(ParseTraceParent("").has_value());
  EXPECT_FALSE(ParseTraceParent(ParentOf("ff", "01")).has_value());
  EXPECT_FALSE(ParseTraceParent(ParentOf("00", "01-more")).has_value());
  EXPECT_FALSE(ParseTraceParent(ParentOf("00", "01-")).has_value());
  EXPECT_FALSE(ParseTraceParent(" " + valid).has_value());
  const std::string zero_trace = "00-" + std::string(32, '0') + "-" + kTraceParent + "-01";
  EXPECT_FALSE(ParseTraceParent(zero_trace).has_value());
  const std::string zero_parent = std::string("00-") + kTrace + "-" + std::string(16, '0') + "-01";
  EXPECT_FALSE(ParseTraceParent(zero_parent).has_value());
  // Every place holds a digit or a hyphen, and nothing but that.
  for (size_t i = 0; i < valid.size(); ++i) {
    for (const char c : {'A', 'g', '_', '\0', '"', '\n'}) {
      std::string wrong = valid;
      wrong[i] = c;
      EXPECT_FALSE(ParseTraceParent(wrong).has_value()) << wrong;
    }
    EXPECT_FALSE(ParseTraceParent(valid.substr(0, i)).has_value());
  }
}

}  // namespace
}  // namespace opserve
