// Tensors as NumPy prints them. The expected texts are what numpy.array2string gives.

#include "client/cli/summary.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "client/cli/cell_lines.h"
#include "client/cli/decimal.h"
#include "client/cli/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::ElementsAre;

template <class T>
Tensor Make(const std::vector<T>& values, std::vector<uint32_t> sizes,
            std::vector<uint32_t> strides = {}) {
  return *Tensor::FromBytes(
      {kDataTypeOf<T>, std::move(sizes), std::move(strides)},
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

TEST(SummaryTest, AlignsFloatsAtThePoint) {
  EXPECT_EQ(Summarize(Make<float>({1.5f, -20, 3.25f}, {3})), "[  1.5  -20.     3.25]");
  EXPECT_EQ(Summarize(Make<float>({1, 2}, {2})), "[1. 2.]");
  EXPECT_EQ(Summarize(Make<float>({0.1f, -0.0f}, {2})), "[ 0.1 -0. ]");
}

TEST(SummaryTest, ShowsSpecialValues) {
  EXPECT_EQ(Summarize(Make<float>({NAN, INFINITY, -INFINITY, 0.5f}, {4})), "[ nan  inf -inf  0.5]");
  EXPECT_EQ(Summarize(Make<float>({NAN}, {1})), "[nan]");
}

TEST(SummaryTest, UsesExponentsWhereTheRangeIsWide) {
  EXPECT_EQ(Summarize(Make<float>({1e30f, 1.5f}, {2})), "[1.0e+30 1.5e+00]");
  EXPECT_EQ(Summarize(Make<double>({1e-5}, {1})), "[1.e-05]");
  EXPECT_EQ(Summarize(Make<double>({1e8}, {1})), "[1.e+08]");
  EXPECT_EQ(Summarize(Make<double>({99999999.0}, {1})), "[99999999.]");
  EXPECT_EQ(Summarize(Make<double>({0.001, 1.5}, {2})), "[1.0e-03 1.5e+00]");
}

TEST(SummaryTest, ShowsAtMostEightDigitsAfterThePoint) {
  EXPECT_EQ(Summarize(Make<double>({1.0 / 3}, {1})), "[0.33333333]");
  EXPECT_EQ(Summarize(Make<float>({1.0f / 3}, {1})), "[0.33333334]");
  EXPECT_EQ(Summarize(Make<double>({2e-9 / 3}, {1})), "[6.66666667e-10]");
}

TEST(SummaryTest, ShowsHalvesWithTheFewestDigits) {
  EXPECT_EQ(Summarize(Make<Half>({Half(0.1f), Half(65504.0f), Half(2.5f)}, {3})),
            "[1.00e-01 6.55e+04 2.50e+00]");
}

TEST(SummaryTest, AlignsIntegersRight) {
  EXPECT_EQ(Summarize(Make<int8_t>({-128, 5, 127}, {3})), "[-128    5  127]");
  EXPECT_EQ(Summarize(Make<uint64_t>({UINT64_MAX}, {1})), "[18446744073709551615]");
  EXPECT_EQ(Summarize(Make<int64_t>({INT64_MIN}, {1})), "[-9223372036854775808]");
}

TEST(SummaryTest, NestsDimensions) {
  EXPECT_EQ(Summarize(Make<uint8_t>({1, 2, 3, 4}, {2, 2})), "[[1 2]\n [3 4]]");
  EXPECT_EQ(Summarize(Make<uint8_t>({1, 2, 3, 4}, {2, 1, 2})), "[[[1 2]]\n\n [[3 4]]]");
  EXPECT_EQ(Summarize(Make<uint8_t>({7}, {1, 1, 1, 1, 1, 1, 1, 1})), "[[[[[[[[7]]]]]]]]");
}

TEST(SummaryTest, FollowsStrides) {
  EXPECT_EQ(Summarize(Make<uint8_t>({1, 2, 3, 4}, {2, 2}, {1, 2})), "[[1 3]\n [2 4]]");
}

TEST(SummaryTest, ShowsWhatWouldBeTooLargeToBePacked) {
  EXPECT_EQ(Summarize(Make<float>({1.5f, 2}, {1u << 31, 1u << 31, 2}, {0, 0, 1})).substr(0, 28),
            "[[[1.5 2. ]\n  [1.5 2. ]\n  [1");
}

TEST(SummaryTest, LeavesOutTheMiddleOfLargeTensors) {
  std::vector<uint16_t> values(1001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i);
  EXPECT_EQ(Summarize(Make(values, {1001})), "[   0    1    2 ...  998  999 1000]");
  values.resize(1000);
  EXPECT_EQ(Summarize(Make(values, {1000})).find("..."), std::string::npos);
  values.resize(1010);
  EXPECT_EQ(Summarize(Make(values, {505, 2})),
            "[[0 1]\n [2 3]\n [4 5]\n ...\n [0 0]\n [0 0]\n [0 0]]");
}

TEST(SummaryTest, BreaksLongRows) {
  const std::vector<uint32_t> values(20, 1000000);
  EXPECT_EQ(Summarize(Make(values, {20})),
            "[1000000 1000000 1000000 1000000 1000000 1000000 1000000 1000000 1000000\n"
            " 1000000 1000000 1000000 1000000 1000000 1000000 1000000 1000000 1000000\n"
            " 1000000 1000000]");
}

TEST(SummaryTest, NoTensorIsAnEmptyList) { EXPECT_EQ(Summarize(Tensor()), "[]"); }

TEST(DecimalTest, AFloatIsTheDoubleWithTheSameShortestText) {
  EXPECT_EQ(std::get<double>(ElementAt(Make<float>({0.1f}, {1}), 0)), 0.1);
  EXPECT_EQ(std::get<double>(ElementAt(Make<Half>({Half(0.1f)}, {1}), 0)), 0.1);
  EXPECT_EQ(std::get<int64_t>(ElementAt(Make<int32_t>({1, -5}, {2}), 1)), -5);
  EXPECT_EQ(std::get<uint64_t>(ElementAt(Make<uint8_t>({200}, {1}), 0)), 200u);
}

TEST(UnitsTest, DurationsBytesAndCounts) {
  EXPECT_EQ(ShowDuration(absl::Nanoseconds(7)), "7 ns");
  EXPECT_EQ(ShowDuration(absl::Nanoseconds(1500)), "1.5 us");
  EXPECT_EQ(ShowDuration(absl::Microseconds(150)), "150 us");
  EXPECT_EQ(ShowDuration(absl::Microseconds(1500)), "1.50 ms");
  EXPECT_EQ(ShowDuration(absl::Seconds(90)), "90.0 s");
  EXPECT_EQ(ShowDuration(absl::Seconds(150)), "2m30s");
  EXPECT_EQ(ShowBytes(24), "24 B");
  EXPECT_EQ(ShowBytes(1536), "1.5 KiB");
  EXPECT_EQ(ShowBytes(256.0 * 1024 * 1024), "256 MiB");
  EXPECT_EQ(ShowCount(0), "0");
  EXPECT_EQ(ShowCount(999), "999");
  EXPECT_EQ(ShowCount(1234567), "1,234,567");
}

TEST(TerminalTest, StylesOnlyWhereColoursBelong) {
  std::ostringstream out;
  EXPECT_EQ((Terminal{out, out, true, true, false}.Styled(Style::kRed, "x")), "\033[31mx\033[0m");
  EXPECT_EQ((Terminal{out, out, false, true, false}.Styled(Style::kRed, "x")), "x");
  EXPECT_EQ((Terminal{out, out, true, true, true}.Styled(Style::kRed, "x")), "x");
}

TEST(TableTest, AlignsColumns) {
  std::ostringstream out;
  Table table({"a", "long header"});
  table.AddRow({"longer", "x"});
  table.Print({out, out});
  EXPECT_EQ(out.str(), "a       long header\nlonger  x\n");
}

TEST(TableTest, WideCellsTakeSeveralLines) {
  std::ostringstream out;
  Table table({"NAME", "WHAT IT IS", "N"});
  table.AddRow({"first", "words " + std::string(30, 'a') + ' ' + std::string(40, 'b'), "1"});
  table.AddRow({"second", std::string(80, 'c'), "2"});
  table.AddRow({"third", "short", "3"});
  table.Print({out, out});
  EXPECT_EQ(out.str(), "NAME    WHAT IT IS" + std::string(61, ' ') +
                           "N\n"
                           "first   words " +
                           std::string(30, 'a') + std::string(35, ' ') +
                           "1\n"
                           "        " +
                           std::string(40, 'b') +
                           "\n"
                           "second  " +
                           std::string(69, 'c') +
                           "  2\n"
                           "        " +
                           std::string(11, 'c') + "\nthird   short" + std::string(66, ' ') + "3\n");
}

TEST(TableTest, ManyWideColumnsFit) {
  std::ostringstream out;
  Table table({"a", "b", "c", "d", "e", "f"});
  const std::string wide(60, 'x');
  table.AddRow({wide, wide, wide, wide, wide, wide});
  table.Print({out, out});
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(std::ranges::count(out.str(), 'x'), 360);
}

TEST(CellLinesTest, CharactersStayWhole) {
  EXPECT_THAT(LinesOfCell("", 4), ElementsAre(""));
  EXPECT_THAT(LinesOfCell("a bc def ghijklm", 4), ElementsAre("a bc", "def", "ghij", "klm"));
  EXPECT_THAT(LinesOfCell("\u00fc\u00fc\u00fc", 3), ElementsAre("\u00fc\u00fc\u00fc"));
  EXPECT_THAT(LinesOfCell("\u00fc\u20ac\u00fc x", 2), ElementsAre("\u00fc\u20ac", "\u00fc", "x"));
  EXPECT_THAT(LinesOfCell("\x80\x80\x80\x80\x80\x80", 4),
              ElementsAre("\x80\x80\x80\x80", "\x80\x80"));
}

}  // namespace
}  // namespace opserve::cli
