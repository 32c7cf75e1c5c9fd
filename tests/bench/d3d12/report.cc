#include "tests/bench/d3d12/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/bench/d3d12/table.h"

namespace opserve::bench {
namespace {

using Json = nlohmann::ordered_json;

std::string Fenced(const std::string& text) { return absl::StrCat("```text\n", text, "```\n"); }

Json RowJson(const Row& row) {
  Json json = {{"name", row.name},    {"bytes", row.bytes},     {"unit", row.unit},
               {"value", row.value},  {"ceiling", row.ceiling}, {"against", row.against},
               {"ratio", row.ratio()}};
  if (row.goal.kind != Goal::Kind::kNone) {
    json[row.goal.kind == Goal::Kind::kAtLeast ? "goal_at_least" : "goal_at_most"] = row.goal.ratio;
  }
  return json;
}

Json SectionJson(const SectionResult& section) {
  Json rows = Json::array();
  for (const Row& row : section.rows) rows.push_back(RowJson(row));
  return {{"name", section.name},
          {"title", section.title},
          {"failure", section.status.ok() ? "" : section.status.ToString()},
          {"notes", section.notes},
          {"seconds", section.seconds},
          {"rows", std::move(rows)}};
}

}  // namespace

std::string HeadText(const ReportHead& head) {
  std::string facts;
  for (const auto& [name, value] : head.facts) {
    absl::StrAppendFormat(&facts, "%-15s %s\n", name, value);
  }
  std::string text = absl::StrCat("## Machine and adapter\n\n", Fenced(facts));
  if (head.is_software) {
    absl::StrAppend(&text, "\nThis is a SOFTWARE adapter: the processor does its work.\n");
  }
  if (head.is_quick) {
    absl::StrAppend(&text, "\n",
                    WrappedText("Measured with --quick: small sizes, few repetitions. It shows "
                                "that everything runs; the numbers tell little."));
  }
  return text;
}

std::string SectionText(const SectionResult& section) {
  std::string text = absl::StrCat("\n## ", section.name, "\n\n", WrappedText(section.title));
  if (!section.rows.empty()) absl::StrAppend(&text, "\n", Fenced(TableText(section.rows)));
  for (const std::string& note : section.notes) absl::StrAppend(&text, "\n", WrappedText(note));
  if (!section.status.ok()) {
    absl::StrAppend(&text, "\n", WrappedText(absl::StrCat("FAILED: ", section.status.ToString())));
  }
  return text;
}

std::string EndText(const ReportHead& head, const std::vector<SectionResult>& sections) {
  std::string text;
  const std::string goals = GoalsText(sections);
  if (!goals.empty() && !head.is_software && !head.is_quick) {
    absl::StrAppend(&text, "\n## Goals\n\n", Fenced(goals));
  }
  for (const SectionResult& section : sections) {
    if (section.status.ok()) continue;
    absl::StrAppend(&text, "\n", WrappedText(absl::StrCat("Section ", section.name, " FAILED.")));
  }
  return text;
}

std::string JsonText(const ReportHead& head, const std::vector<SectionResult>& sections) {
  Json facts = Json::object();
  for (const auto& [name, value] : head.facts) facts[name] = value;
  Json parts = Json::array();
  for (const SectionResult& section : sections) parts.push_back(SectionJson(section));
  const Json json = {{"facts", std::move(facts)},
                     {"software", head.is_software},
                     {"quick", head.is_quick},
                     {"sections", std::move(parts)}};
  // What drivers call themselves may be no UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace opserve::bench
