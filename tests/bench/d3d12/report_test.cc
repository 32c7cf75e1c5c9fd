// The parts of bench_d3d12 that need no device: statistics, tables, the report, facts of a machine.

#include "tests/bench/d3d12/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/d3d12/table.h"
#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Goal kAtLeastHalf = {Goal::Kind::kAtLeast, 0.5};
constexpr Goal kAtMostHalf = {Goal::Kind::kAtMost, 0.5};

// A row of the longest names and numbers that there may be.
Row WidestRow() {
  return {.name = std::string(kMaxRowName, 'n'),
          .bytes = 1023 * kKiB,
          .unit = "GB/s",
          .value = 9999999.4,
          .ceiling = 0.000123456,
          .against = std::string(kMaxCeilingName, 'a')};
}

size_t LongestLine(const std::string& text) {
  size_t longest = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    longest = std::max(longest, line.size());
  }
  return longest;
}

TEST(Statistics, PercentilesAreValuesThatWereSeen) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Percentile(values, 0), 1);
  EXPECT_EQ(Percentile(values, 0.5), 50);
  EXPECT_EQ(Percentile(values, 0.99), 99);
  EXPECT_EQ(Percentile(values, 0.991), 100);
  EXPECT_EQ(Percentile(values, 1), 100);
  EXPECT_EQ(Percentile({7}, 0.01), 7);
}

TEST(Statistics, MediansAreTheHigherOfTwo) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 3);
  EXPECT_EQ(Median({5}), 5);
}

TEST(Rows, RatiosAndGoals) {
  EXPECT_EQ((Row{.value = 3, .ceiling = 4}).ratio(), 0.75);
  EXPECT_EQ((Row{.value = 3}).ratio(), 0);
  EXPECT_TRUE((Row{.value = 3, .ceiling = 4, .goal = kAtLeastHalf}).IsMet());
  EXPECT_FALSE((Row{.value = 1, .ceiling = 4, .goal = kAtLeastHalf}).IsMet());
  EXPECT_FALSE((Row{.value = 3, .ceiling = 4, .goal = kAtMostHalf}).IsMet());
  EXPECT_TRUE((Row{.value = 1, .ceiling = 4, .goal = kAtMostHalf}).IsMet());
}

TEST(Table, SizesAndNumbers) {
  EXPECT_EQ(SizeText(0), "");
  EXPECT_EQ(SizeText(100), "100 B");
  EXPECT_EQ(SizeText(4096), "4 KiB");
  EXPECT_EQ(SizeText(1536 * kKiB), "1536 KiB");
  EXPECT_EQ(SizeText(64 * kMiB), "64 MiB");
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(0.012346), "0.01235");
  EXPECT_EQ(NumberText(0.5), "0.5000");
  EXPECT_EQ(NumberText(12.3456), "12.35");
  EXPECT_EQ(NumberText(123456.7), "123457");
}

TEST(Table, LinesAreOfOneWidthAtMost) {
  Row slow = WidestRow();
  std::swap(slow.value, slow.ceiling);
  EXPECT_LE(LongestLine(TableText({WidestRow(), slow})), kLineWidth);
  Row goal = {.name = std::string(kMaxRowName, 'n'),
              .bytes = kMiB,
              .value = 1,
              .ceiling = 1e9,
              .goal = kAtLeastHalf};
  EXPECT_LE(LongestLine(GoalsText({{.name = "oversubscription", .rows = {goal}}})), kLineWidth);
}

TEST(Table, SaysWhatIsMeasuredAgainstWhat) {
  const std::string text = TableText(
      {{.name = "up", .bytes = kMiB, .unit = "GB/s", .value = 6, .ceiling = 8, .against = "bus"}});
  EXPECT_EQ(text,
            "                               size     value        ceiling  ratio  against\n"
            "up                            1 MiB     6.000 GB/s     8.000   0.75  bus\n");
}

TEST(Table, GoalsAreOfRowsThatHaveOne) {
  EXPECT_EQ(GoalsText({{.name = "a", .rows = {{.name = "free", .value = 1, .ceiling = 1}}}}), "");
  const std::string text = GoalsText(
      {{.name = "a", .rows = {{.name = "x", .value = 1, .ceiling = 1, .goal = kAtLeastHalf}}},
       {.name = "b", .rows = {{.name = "y", .value = 1, .ceiling = 1, .goal = kAtMostHalf}}}});
  EXPECT_THAT(text, HasSubstr(">= 0.5   met"));
  EXPECT_THAT(text, HasSubstr("<= 0.5   MISSED"));
}

TEST(Table, TextIsBrokenBetweenWords) {
  EXPECT_EQ(WrappedText("one two"), "one two\n");
  const std::string wrapped = WrappedText(std::string(79, 'a') + " b c");
  EXPECT_EQ(wrapped, std::string(79, 'a') + "\nb c\n");
  EXPECT_EQ(WrappedText(std::string(78, 'a') + " b c"), std::string(78, 'a') + " b\nc\n");
}

TEST(Report, TellsOfASoftwareAdapterAndOfFailures) {
  const ReportHead head = {.facts = {{"adapter", "X"}}, .is_software = true};
  EXPECT_THAT(HeadText(head), HasSubstr("SOFTWARE"));
  EXPECT_THAT(HeadText({.facts = {{"adapter", "X"}}}), Not(HasSubstr("SOFTWARE")));
  EXPECT_THAT(HeadText({.is_quick = true}), HasSubstr("--quick"));
  const SectionResult failed = {
      .name = "stages", .title = "T", .status = absl::InternalError("it broke")};
  EXPECT_THAT(SectionText(failed), HasSubstr("FAILED: INTERNAL: it broke"));
  EXPECT_THAT(EndText(head, {failed}), HasSubstr("Section stages FAILED."));
}

TEST(Report, GoalsAreForHardwareMeasuredInFull) {
  const SectionResult section = {
      .name = "a", .rows = {{.name = "x", .value = 1, .ceiling = 1, .goal = kAtLeastHalf}}};
  EXPECT_THAT(EndText({}, {section}), HasSubstr("## Goals"));
  EXPECT_EQ(EndText({.is_software = true}, {section}), "");
  EXPECT_EQ(EndText({.is_quick = true}, {section}), "");
}

TEST(Report, JsonHasAllNumbers) {
  const ReportHead head = {.facts = {{"adapter", "Made by \"X\" \xff"}}, .is_software = true};
  const SectionResult section = {.name = "a",
                                 .title = "T",
                                 .rows = {{.name = "x",
                                           .bytes = 4096,
                                           .unit = "us",
                                           .value = 3,
                                           .ceiling = 4,
                                           .against = "y",
                                           .goal = kAtMostHalf}},
                                 .notes = {"N"}};
  const auto json = nlohmann::json::parse(JsonText(head, {section}));
  EXPECT_EQ(json["software"], true);
  EXPECT_EQ(json["facts"]["adapter"], "Made by \"X\" \xef\xbf\xbd");
  const auto& row = json["sections"][0]["rows"][0];
  EXPECT_EQ(row["value"], 3);
  EXPECT_EQ(row["ratio"], 0.75);
  EXPECT_EQ(row["goal_at_most"], 0.5);
  EXPECT_EQ(json["sections"][0]["failure"], "");
  EXPECT_EQ(json["sections"][0]["notes"][0], "N");
}

// Folders as Linux has them for PCI devices.
class PciDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/pci_devices";
    std::filesystem::remove_all(folder_);
  }
  void Add(const std::string& place, const std::string& device, const std::string& speed,
           const std::string& width) {
    const std::string folder = folder_ + "/" + place;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/vendor") << "0x10de\n";
    std::ofstream(folder + "/device") << device << "\n";
    std::ofstream(folder + "/current_link_speed") << speed << "\n";
    std::ofstream(folder + "/current_link_width") << width << "\n";
    std::ofstream(folder + "/max_link_speed") << "32.0 GT/s PCIe\n";
    std::ofstream(folder + "/max_link_width") << "16\n";
  }
  std::optional<PciLink> Find() const { return FindPciLink(folder_, 0x10de, 0x2331); }

  std::string folder_;
};

TEST_F(PciDevices, LinksAreFoundByTheIds) {
  Add("0000:01:00.0", "0x2330", "2.5 GT/s PCIe", "1");
  Add("0000:02:00.0", "0x2331", "16.0 GT/s PCIe", "16");
  const std::optional<PciLink> link = Find();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->speed, "16.0 GT/s PCIe");
  EXPECT_EQ(link->width, 16);
  EXPECT_NEAR(link->bytes_per_second, 31.5e9, 0.02e9);
  EXPECT_EQ(AdapterFacts({}, link).back().second,
            "16.0 GT/s PCIe x16 now, at most 32.0 GT/s PCIe x16");
  EXPECT_EQ(AdapterFacts({}, std::nullopt).back().second, "unknown");
}

TEST_F(PciDevices, SpeedsOfAllGenerations) {
  Add("0", "0x2331", "5.0 GT/s PCIe", "8");
  EXPECT_NEAR(Find()->bytes_per_second, 4e9, 1);
  Add("0", "0x2331", "64.0 GT/s PCIe", "16");
  EXPECT_NEAR(Find()->bytes_per_second, 121e9, 1);
  Add("0", "0x2331", "Unknown", "16");
  EXPECT_EQ(Find()->bytes_per_second, 0);
}

TEST_F(PciDevices, WhatCannotBeToldIsNotGuessed) {
  EXPECT_FALSE(Find().has_value());
  Add("0", "0x2331", "16.0 GT/s PCIe", "0");
  EXPECT_FALSE(Find().has_value());
  Add("0", "0x2331", "16.0 GT/s PCIe", "16");
  Add("1", "0x2331", "16.0 GT/s PCIe", "8");
  EXPECT_FALSE(Find().has_value());
}

TEST(MachineFactsTest, ValuesOfFiles) {
  const std::string path = ::testing::TempDir() + "/facts";
  std::ofstream(path) << "model name\t: A: B\nMemTotal:  12 kB\n";
  EXPECT_EQ(ValueInFile(path, "model name"), "A: B");
  EXPECT_EQ(ValueInFile(path, "MemTotal"), "12 kB");
  EXPECT_EQ(ValueInFile(path, "none"), "unknown");
  EXPECT_EQ(ValueInFile(path + ".none", "MemTotal"), "unknown");
  for (const auto& [name, value] : MachineFacts()) EXPECT_NE(value, "") << name;
}

TEST(ChooseAdapterTest, HardwareGoesBeforeSoftware) {
  std::vector<d3d12::AdapterInfo> adapters(2);
  adapters[0].is_software = true;
  adapters[1].index = 1;
  EXPECT_EQ(ChooseAdapter(adapters, std::nullopt)->index, 1);
  EXPECT_EQ(ChooseAdapter({adapters[0]}, std::nullopt)->index, 0);
  EXPECT_EQ(ChooseAdapter(adapters, 0)->index, 0);
  EXPECT_EQ(ChooseAdapter(adapters, 2).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ChooseAdapter({}, std::nullopt).status().code(), absl::StatusCode::kNotFound);
}

TEST(Sections, NamesFitTheGoalsAndAreUnique) {
  std::set<std::string> names;
  for (const BenchSection& section : AllSections()) {
    EXPECT_LE(absl::string_view(section.name).size(), 17u) << section.name;
    EXPECT_TRUE(names.insert(section.name).second) << section.name;
  }
  // It gives up the run time.
  EXPECT_STREQ(AllSections().back().name, "loss");
}

}  // namespace
}  // namespace opserve::bench
