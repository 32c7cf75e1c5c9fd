#include "server/base/log.h"

#include <limits>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

TEST(LogTest, TextQuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(
      FormatText(
          "serving",
          {{"address", "127.0.0.1:1"}, {"threads", 4}, {"device", "two words"}, {"empty", ""}}),
      "serving address=127.0.0.1:1 threads=4 device=\"two words\" empty=\"\"");
}

TEST(LogTest, NoValueCanForgeALine) {
  EXPECT_EQ(FormatText("e", {{"k", "a\nb=\"c\"\x1b[31m"}}), R"(e k="a\nb=\"c\"\u001b[31m")");
  EXPECT_EQ(FormatText("e", {{"k", "a=b"}}), "e k=\"a=b\"");
}

TEST(LogTest, JsonKeepsNumbersAndEscapesText) {
  EXPECT_EQ(FormatJson("request refused", {{"count", uint64_t{18446744073709551615u}},
                                           {"ratio", 0.5},
                                           {"text", "\"\\\n\t\x01"},
                                           {"utf8", "é"}}),
            R"("event":"request refused","count":18446744073709551615,"ratio":0.5,)"
            R"("text":"\"\\\n\u0009\u0001","utf8":"é")");
}

TEST(LogTest, JsonHasNoInfinities) {
  EXPECT_EQ(FormatJson("e", {{"a", std::numeric_limits<double>::infinity()},
                             {"b", std::numeric_limits<double>::quiet_NaN()}}),
            R"("event":"e","a":"inf","b":"nan")");
}

TEST(LogTest, LevelsFilter) {
  const Logger logger(LogFormat::kText, LogLevel::kWarn);
  EXPECT_FALSE(logger.enabled(LogLevel::kDebug));
  EXPECT_FALSE(logger.enabled(LogLevel::kInfo));
  EXPECT_TRUE(logger.enabled(LogLevel::kWarn));
  EXPECT_TRUE(logger.enabled(LogLevel::kError));
  const Logger silent(LogFormat::kText, LogLevel::kOff);
  EXPECT_FALSE(silent.enabled(LogLevel::kError));
}

}  // namespace
}  // namespace opserve::testing
