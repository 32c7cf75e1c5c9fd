// What `opserve compare` writes: sentences, tables, and JUnit's XML.

#include "client/cli/comparison_report.h"

#include <sstream>

#include "client/cli/junit_report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ComparedResult ResultWith(const std::vector<float>& actual, Tolerance tolerance = {}) {
  const std::vector<float> expected(actual.size(), 1);
  const std::vector<uint32_t> sizes = {static_cast<uint32_t>(actual.size())};
  auto comparison =
      CompareTensors(TensorView::Of<float>(expected, sizes), TensorView::Of<float>(actual, sizes),
                     {}, {.tolerance = tolerance});
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  const Verdict verdict = comparison->within_tolerance() ? Verdict::kPass : Verdict::kFail;
  return {.name = "a.npy", .verdict = verdict, .comparison = *std::move(comparison)};
}

TEST(ComparisonReportTest, OneLineSaysWhatIsWrong) {
  EXPECT_EQ(Summarize(ResultWith({1, 1})), "all 2 elements are equal");
  EXPECT_EQ(Summarize(ResultWith({1, 2, 1}, {.ulp = 5, .absolute = 0.25})),
            "1 of 3 elements differ, 1 by more than 5 ulp or 0.25 absolute; the worst, at {1}: "
            "8,388,608 ulp");
  EXPECT_EQ(Summarize(ResultWith({1, 2}, {.absolute = 1})),
            "1 of 2 elements differ, 0 by more than 1 absolute; the worst, at {1}: 8,388,608 ulp, "
            "within");
  EXPECT_EQ(Summarize({.name = "gpu", .verdict = Verdict::kError, .reason = "it failed"}),
            "it failed");
}

TEST(ComparisonReportTest, PassesWhereSomethingWasCompared) {
  ComparisonReport report{.operator_name = "OP"};
  EXPECT_FALSE(HasPassed(report));
  report.results.push_back({.name = "gpu", .verdict = Verdict::kSkipped});
  EXPECT_FALSE(HasPassed(report));
  report.results.push_back(ResultWith({1}));
  EXPECT_TRUE(HasPassed(report));
  report.results.push_back(ResultWith({2}));
  EXPECT_FALSE(HasPassed(report));
}

TEST(ComparisonReportTest, OneElementAmongManyIsSeenInTheHistogram) {
  std::vector<float> actual(1'000'000, 1);
  actual[7] = 1.0000001f;
  std::ostringstream out;
  ComparisonReport report{.operator_name = "OP"};
  report.results.push_back(ResultWith(actual));
  PrintReport(report, {.out = out, .err = out});
  EXPECT_THAT(out.str(), HasSubstr("0    999,999   #############################\n"
                                   "1    1         #\n"));
}

TEST(ComparisonReportTest, NamesHaveTheRestOfALine) {
  ComparisonReport report{.operator_name = "OP"};
  report.results.push_back(ResultWith({1}));
  report.results.push_back(ResultWith({2}));
  report.results[0].name = "d3d12/llvmpipe (LLVM 15.0.6, 256 bits)";
  report.results[1].name = "/a/folder/that/is/very/long/and/goes/on/and/on/z.npy";
  std::ostringstream out;
  PrintReport(report, {.out = out, .err = out});
  EXPECT_THAT(out.str(), HasSubstr("\nd3d12/llvmpipe (LLVM 15.0.6, 256 bits)   0  "));
  EXPECT_THAT(out.str(), HasSubstr("\n...s/very/long/and/goes/on/and/on/z.npy  1  "));
}

TEST(ComparisonReportTest, ColumnsAreAlignedByCharacters) {
  ComparisonReport report{.operator_name = "OP"};
  report.results.push_back(ResultWith({1}));
  report.results.push_back(ResultWith({1}));
  report.results.push_back(ResultWith({1}));
  report.results[0].name = "\u00fcber.npy";
  report.results[1].name = "abcd.npy";
  report.results[2].name.clear();
  for (int i = 0; i < 50; ++i) report.results[2].name += "\u00fc";
  std::ostringstream out;
  PrintReport(report, {.out = out, .err = out});
  std::string end = "\n...";
  for (int i = 0; i < 36; ++i) end += "\u00fc";
  const std::string spaces(31, ' ');
  EXPECT_THAT(out.str(), HasSubstr("\n\u00fcber.npy" + spaces + "  0  "));
  EXPECT_THAT(out.str(), HasSubstr("\nabcd.npy" + spaces + "  0  "));
  EXPECT_THAT(out.str(), HasSubstr(end + "  0  "));
}

TEST(JunitTest, AnyTextCanStandInXml) {
  EXPECT_EQ(EscapeXml("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;'");
  EXPECT_EQ(EscapeXml("\t\n ~"), "\t\n ~");
  constexpr char kBad[] = "\xef\xbf\xbd";
  const std::string control(1, '\0');
  for (const std::string& text :
       {control, std::string("\x01"), std::string("\x1b"), std::string("\x7f"), std::string("\x80"),
        std::string("\xff"), std::string("\xc3"), std::string("\xef\xbf\xbe")}) {
    EXPECT_THAT(EscapeXml(text), HasSubstr(kBad));
    EXPECT_THAT(EscapeXml(text), Not(HasSubstr(text)));
  }
  // Overlong, a surrogate, and beyond the last character.
  EXPECT_EQ(EscapeXml("\xc0\xaf"), std::string(kBad) + kBad);
  EXPECT_EQ(EscapeXml("\xed\xa0\x80"), std::string(kBad) + kBad + kBad);
  EXPECT_EQ(EscapeXml("\xf4\x90\x80\x80"), std::string(kBad) + kBad + kBad + kBad);
  EXPECT_EQ(EscapeXml("\xe0\x80\x80"), std::string(kBad) + kBad + kBad);
  EXPECT_EQ(EscapeXml("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(JunitTest, EachVerdictHasItsElement) {
  ComparisonReport report{.operator_name = "OP"};
  report.info.device = "cpu/X";
  report.results = {ResultWith({1}),
                    ResultWith({2}),
                    {.name = "g<0>", .verdict = Verdict::kError, .reason = "it failed"},
                    {.name = "g1", .verdict = Verdict::kSkipped, .reason = "no kernel"}};
  const std::string xml = RenderJunit(report);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"OP\" tests=\"4\" failures=\"1\" errors=\"1\" "
                             "skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("name=\"a.npy against cpu/X\" time=\"0.000000\"/>"));
  EXPECT_THAT(xml, HasSubstr("name=\"g&lt;0&gt; against cpu/X\""));
  EXPECT_THAT(xml, HasSubstr("<error type=\"no result\" message=\"it failed\"/>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no kernel\"/>"));
  EXPECT_THAT(xml, HasSubstr("  8,388,608 ulp  actual    0x40000000  2\n"));
}

}  // namespace
}  // namespace opserve::cli
