#include "server/base/log.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/log_escape.h"

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

TEST(LogTest, PlainTextIsWhatIsWrittenAsItIs) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = {'a', static_cast<char>(byte), 'z'};
    std::string quoted;
    AppendQuoted(quoted, text);
    EXPECT_EQ(IsPlainText(text), quoted == absl::StrCat("\"", text, "\"")) << byte;
  }
  EXPECT_TRUE(IsPlainText(""));
}

// One after the other as bytes, and what a line shows of them.
TEST(LogTest, NothingShowsAsSomethingElse) {
  struct Case {
    const char* text;
    const char* shown;
  };
  const Case cases[] = {
      {"\xc2\x80\xc2\x9b\xc2\x9f", R"("\u0080\u009b\u009f")"},
      {"\xc2\xa0\xc3\xa9", "\"\xc2\xa0\xc3\xa9\""},
      {"\xe2\x80\x8e\xe2\x80\x8f", R"("\u200e\u200f")"},
      {"\xe2\x80\xaa\xe2\x80\xae", R"("\u202a\u202e")"},
      {"\xe2\x81\xa6\xe2\x81\xa9", R"("\u2066\u2069")"},
      {"\xe2\x80\xa8\xe2\x80\xa9", R"("\u2028\u2029")"},
      {"\x7f", R"("\u007f")"},
      {"\xf0\x9f\x99\x82", "\"\xf0\x9f\x99\x82\""},
      // Alone, cut off, too long, half of a pair, too large.
      {"a\x80z", R"("a\ufffdz")"},
      {"\xe2\x80", R"("\ufffd\ufffd")"},
      {"\xc0\xaf", R"("\ufffd\ufffd")"},
      {"\xe0\x80\xaf", R"("\ufffd\ufffd\ufffd")"},
      {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")"},
      {"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"\xff\"", R"("\ufffd\"")"},
  };
  for (const Case& tried : cases) {
    EXPECT_EQ(FormatText("e", {{"k", tried.text}}), absl::StrCat("e k=", tried.shown));
    EXPECT_EQ(FormatJson("e", {{"k", tried.text}}),
              absl::StrCat("\"event\":\"e\",\"k\":", tried.shown));
  }
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
