// Measures a Direct3D 12 device in sections, and writes one report of it all.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/bench/d3d12/bench_context.h"
#include "tests/bench/d3d12/report.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/d3d12/table.h"

namespace opserve::bench {
namespace {

enum ExitCode { kMeasured = 0, kFailed = 1, kBadUsage = 2, kNoHardware = 3 };

constexpr char kHelp[] =
    "Measures a Direct3D 12 device, and writes a report of it in Markdown to standard\n"
    "output. Progress goes to standard error. Each number is held against a ceiling\n"
    "of the same run.\n"
    "\n"
    "Exit codes: 0 a hardware adapter was measured; 1 something failed, the report\n"
    "says what; 2 the command line is wrong; 3 there is no hardware adapter: a\n"
    "software adapter was measured in its place, if there is one.";

struct CommandLine {
  BenchOptions bench;
  std::vector<std::string> sections;
  std::string json_path;
  std::string report_path;
};

// The report on its way to standard output and a file.
class ReportWriter {
 public:
  void Write(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
    text_ += text;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The sections, in their order, with what they measure.
std::string SectionsHelp() {
  std::string text = "Sections:\n";
  for (const BenchSection& section : AllSections()) {
    absl::StrAppend(&text, "\n", WrappedText(absl::StrCat(section.name, ": ", section.title)));
  }
  return text;
}

std::set<std::string> SectionNames() {
  std::set<std::string> names;
  for (const BenchSection& section : AllSections()) names.insert(section.name);
  return names;
}

void AddOptions(CLI::App& app, CommandLine& line) {
  app.add_flag("--quick", line.bench.is_quick, "Small and short: does everything run?");
  app.add_option("--section", line.sections, "Only this one; may be given several times")
      ->type_name("NAME")
      ->check(CLI::IsMember(SectionNames()).description(""));
  app.add_option("--report", line.report_path, "Also write the report to this file")
      ->type_name("FILE");
  app.add_option("--json", line.json_path, "Also write the numbers to this file")
      ->type_name("FILE");
  app.add_option("--seconds", line.bench.seconds, "How long to measure a row, about")
      ->type_name("S")
      ->check(CLI::Range(0.0, 60.0).description(""))
      ->capture_default_str();
  app.add_option("--adapter", line.bench.adapter,
                 "Its position (default: hardware, if there is any)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 20).description(""));
  app.add_option_function<double>(
         "--memory-bandwidth",
         [&line](double gigabytes) { line.bench.memory_bandwidth = gigabytes * 1e9; },
         "Of the adapter, by its data sheet")
      ->type_name("GB/S")
      ->check(CLI::Range(1e-3, 1e6).description(""));
  app.footer(SectionsHelp());
}

bool IsWanted(const CommandLine& line, const BenchSection& section) {
  return line.sections.empty() ||
         std::find(line.sections.begin(), line.sections.end(), section.name) != line.sections.end();
}

std::vector<SectionResult> RunSections(const CommandLine& line, BenchContext& context,
                                       ReportWriter& report) {
  std::vector<SectionResult> results;
  for (const BenchSection& section : AllSections()) {
    if (!IsWanted(line, section)) continue;
    absl::FPrintF(stderr, "bench_d3d12: %s ...\n", section.name);
    results.push_back(RunSection(section, context));
    absl::FPrintF(stderr, "bench_d3d12: %s: %.1f s%s\n", section.name, results.back().seconds,
                  results.back().status.ok() ? "" : ", FAILED");
    report.Write(SectionText(results.back()));
    if (!results.back().status.ok()) context.AbandonDevices();
  }
  return results;
}

bool WriteFile(const std::string& path, const std::string& text) {
  if (path.empty()) return true;
  std::ofstream file(path);
  file << text;
  file.close();
  if (file.good()) return true;
  absl::FPrintF(stderr, "bench_d3d12: cannot write %s\n", path);
  return false;
}

ReportHead HeadOf(const CommandLine& line, BenchContext& context) {
  ReportHead head{.facts = MachineFacts(),
                  .is_software = context.adapter().is_software,
                  .is_quick = line.bench.is_quick};
  for (auto& fact : AdapterFacts(context.adapter(), context.Link())) {
    head.facts.push_back(std::move(fact));
  }
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  head.facts.emplace_back("feature level", device.ok() ? (*device)->profile().feature_level
                                                       : device.status().ToString());
  return head;
}

// Tells why there is no adapter to measure.
int ReportNoAdapter(const CommandLine& line, const absl::Status& status) {
  absl::FPrintF(stderr, "bench_d3d12: %s\n", status.message());
  if (!absl::IsNotFound(status)) return absl::IsOutOfRange(status) ? kBadUsage : kFailed;
  ReportWriter report;
  report.Write(HeadText({.facts = MachineFacts()}));
  report.Write(absl::StrFormat("\nThere is no adapter to measure: %s\n", status.message()));
  return WriteFile(line.report_path, report.text()) ? kNoHardware : kFailed;
}

int RunBench(const CommandLine& line) {
  const absl::StatusOr<std::unique_ptr<BenchContext>> context = BenchContext::Create(line.bench);
  if (!context.ok()) return ReportNoAdapter(line, context.status());
  const ReportHead head = HeadOf(line, **context);
  ReportWriter report;
  report.Write(HeadText(head));
  const std::vector<SectionResult> results = RunSections(line, **context, report);
  report.Write(EndText(head, results));
  const bool is_report_written = WriteFile(line.report_path, report.text());
  const bool is_json_written = WriteFile(line.json_path, JsonText(head, results));
  const bool has_failed = std::any_of(results.begin(), results.end(),
                                      [](const auto& result) { return !result.status.ok(); });
  if (!is_report_written || !is_json_written || has_failed) return kFailed;
  return head.is_software ? kNoHardware : kMeasured;
}

}  // namespace
}  // namespace opserve::bench

int main(int argc, char** argv) {
  opserve::bench::CommandLine line;
  CLI::App app(opserve::bench::kHelp);
  opserve::bench::AddOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : opserve::bench::kBadUsage;
  }
  // Enough to see each row.
  if (line.bench.is_quick && app.count("--seconds") == 0) line.bench.seconds = 0.02;
  return opserve::bench::RunBench(line);
}
