#include "client/cli/comparison_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/cell_lines.h"
#include "client/cli/run_report.h"
#include "client/cli/tensor_report.h"

namespace opserve::cli {
namespace {

// Columns of a table stay within a line together; kColumnGap is between them.
constexpr size_t kReportWidth = 80;
constexpr size_t kColumnGap = 2;
constexpr size_t kLeastNameWidth = 10;
constexpr size_t kPlaceWidth = 26;
constexpr uint64_t kBarWidth = 30;
// Larger distances are told with three digits.
constexpr uint64_t kMostExactUlp = 999'999'999;

std::string ShowUlp(uint64_t ulp) {
  return ulp <= kMostExactUlp ? ShowCount(ulp) : absl::StrFormat("%.3g", static_cast<double>(ulp));
}

std::string ShowRange(const UlpRange& range) {
  const std::string least = ShowUlp(range.least);
  return range.least == range.most ? least : absl::StrCat(least, " to ", ShowUlp(range.most));
}

// `text`, or dots and its end, where files differ.
std::string EndOf(const std::string& text, size_t width) {
  const size_t length = CharacterCount(text);
  if (length <= width) return text;
  return absl::StrCat("...", text.substr(StartOfCharacter(text, length + 3 - width)));
}

std::string ShowPlace(const std::vector<uint32_t>& coordinates) {
  return absl::StrCat("{", absl::StrJoin(coordinates, ", "), "}");
}

Cell ShowVerdict(Verdict verdict) {
  const std::string name(NameOf(verdict));
  if (verdict == Verdict::kPass) return {name, Style::kGreen};
  if (verdict == Verdict::kSkipped) return {name, Style::kDim};
  return {name, Style::kRed};
}

std::string ShowDistance(const ElementDifference& difference) {
  if (difference.is_nan) return "NaN";
  if (difference.ulp == 0) return "sign of zero";
  return absl::StrCat(ShowUlp(difference.ulp), " ulp",
                      difference.beyond_tolerance ? "" : ", within");
}

// The cells of a result but its name.
std::vector<Cell> VerdictCells(const ComparedResult& result) {
  if (!result.comparison) return {"-", "-", "-", ShowVerdict(result.verdict)};
  const Comparison& comparison = *result.comparison;
  return {ShowCount(comparison.different), ShowCount(comparison.beyond_tolerance),
          ShowUlp(comparison.largest_ulp), ShowVerdict(result.verdict)};
}

void PrintVerdicts(const ComparisonReport& report, const Terminal& terminal) {
  const std::vector<std::string> header = {"DIFFERENT", "BEYOND", "LARGEST ULP", "VERDICT"};
  // Names have what the widest of the others leave.
  size_t name_width = kReportWidth;
  for (size_t i = 0; i < header.size(); ++i) {
    size_t width = header[i].size();
    for (const ComparedResult& result : report.results) {
      width = std::max(width, VerdictCells(result)[i].text.size());
    }
    name_width -= kColumnGap + width;
  }
  Table table({"RESULT", header[0], header[1], header[2], header[3]});
  for (const ComparedResult& result : report.results) {
    std::vector<Cell> row = VerdictCells(result);
    row.insert(row.begin(), EndOf(result.name, std::max(name_width, kLeastNameWidth)));
    table.AddRow(std::move(row));
  }
  table.Print(terminal);
}

// A line for each kind of disagreement that there is.
void PrintDisagreements(const Comparison& comparison, const Terminal& terminal) {
  const auto print = [&](uint64_t count, absl::string_view what) {
    if (count > 0) terminal.out << ShowCount(count) << " disagree in " << what << '\n';
  };
  print(comparison.nan_disagreements, "NaN");
  print(comparison.infinity_disagreements, "infinity");
  print(comparison.sign_disagreements, "sign");
  print(comparison.zero_sign_disagreements, "the sign of zero");
}

void PrintHistogram(const Comparison& comparison, const Terminal& terminal) {
  const auto& counts = comparison.ulp_histogram;
  Table table({"ULP", "ELEMENTS", "SHARE"});
  for (size_t bucket = 0; bucket < counts.size(); ++bucket) {
    if (counts[bucket] == 0) continue;
    // Also one among billions is seen.
    const double share =
        static_cast<double>(counts[bucket]) / static_cast<double>(comparison.elements);
    const auto length = static_cast<size_t>(share * static_cast<double>(kBarWidth));
    table.AddRow({ShowRange(UlpRangeOf(bucket)), ShowCount(counts[bucket]),
                  std::string(std::max<size_t>(length, 1), '#')});
  }
  table.Print(terminal);
}

void PrintDetails(const ComparedResult& result, const Terminal& terminal) {
  const Comparison& comparison = *result.comparison;
  const auto show = [](double number) { return absl::StrFormat("%.3g", number); };
  terminal.out << '\n'
               << terminal.Styled(Style::kBold, result.name) << '\n'
               << ShowCount(comparison.different) << " of " << ShowCount(comparison.elements)
               << " elements differ, " << ShowCount(comparison.beyond_tolerance)
               << " beyond the tolerance\n"
               << "mean " << show(comparison.mean_ulp) << " ulp; largest error "
               << show(comparison.largest_absolute_error) << " absolute, "
               << show(comparison.largest_relative_error) << " relative\n";
  PrintDisagreements(comparison, terminal);
  terminal.out << '\n';
  PrintHistogram(comparison, terminal);
  if (comparison.worst.empty()) return;
  terminal.out << '\n';
  PrintWorst(comparison, terminal);
}

using Json = nlohmann::ordered_json;

Json NumberAsJson(double number) { return ToJson(Element(number)); }

Json AsJson(const ElementValue& element) {
  return {{"value", ToJson(ToElement(element))}, {"bits", ToHex(element)}};
}

Json AsJson(const ElementDifference& difference) {
  Json inputs = Json::array();
  for (const std::optional<ElementValue>& input : difference.inputs) {
    inputs.push_back(input ? AsJson(*input) : Json());
  }
  return {{"index", difference.index},
          {"coordinates", difference.coordinates},
          {"is_nan", difference.is_nan},
          {"ulp", ToJson(Element(difference.ulp))},
          {"beyond_tolerance", difference.beyond_tolerance},
          {"expected", AsJson(difference.expected)},
          {"actual", AsJson(difference.actual)},
          {"inputs", inputs}};
}

Json AsJson(const std::optional<uint64_t>& index) { return index ? Json(*index) : Json(); }

void AddTo(Json& json, const Comparison& comparison) {
  json["elements"] = comparison.elements;
  json["different"] = comparison.different;
  json["beyond_tolerance"] = comparison.beyond_tolerance;
  json["first_different"] = AsJson(comparison.first_different);
  json["largest_ulp"] = ToJson(Element(comparison.largest_ulp));
  json["largest_ulp_index"] = AsJson(comparison.largest_ulp_index);
  json["mean_ulp"] = comparison.mean_ulp;
  json["largest_absolute_error"] = NumberAsJson(comparison.largest_absolute_error);
  json["largest_relative_error"] = NumberAsJson(comparison.largest_relative_error);
  json["nan_disagreements"] = comparison.nan_disagreements;
  json["infinity_disagreements"] = comparison.infinity_disagreements;
  json["sign_disagreements"] = comparison.sign_disagreements;
  json["zero_sign_disagreements"] = comparison.zero_sign_disagreements;
  json["ulp_histogram"] = Json::array();
  for (size_t bucket = 0; bucket < Comparison::kUlpBuckets; ++bucket) {
    const uint64_t count = comparison.ulp_histogram[bucket];
    const UlpRange range = UlpRangeOf(bucket);
    if (count == 0) continue;
    json["ulp_histogram"].push_back({{"least", ToJson(Element(range.least))},
                                     {"most", ToJson(Element(range.most))},
                                     {"elements", count}});
  }
  json["worst"] = Json::array();
  for (const ElementDifference& worst : comparison.worst) json["worst"].push_back(AsJson(worst));
}

}  // namespace

absl::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kSkipped:
      return "SKIPPED";
    case Verdict::kError:
      break;
  }
  return "ERROR";
}

bool HasVerdict(const ComparisonReport& report, Verdict verdict) {
  return std::any_of(report.results.begin(), report.results.end(),
                     [&](const ComparedResult& result) { return result.verdict == verdict; });
}

bool HasPassed(const ComparisonReport& report) {
  return HasVerdict(report, Verdict::kPass) && !HasVerdict(report, Verdict::kFail) &&
         !HasVerdict(report, Verdict::kError);
}

std::string ShowTolerance(const Tolerance& tolerance) {
  std::string text;
  if (tolerance.ulp > 0 || tolerance.absolute == 0) absl::StrAppend(&text, tolerance.ulp, " ulp");
  if (tolerance.absolute > 0) {
    absl::StrAppend(&text, text.empty() ? "" : " or ", tolerance.absolute, " absolute");
  }
  return text;
}

std::string Summarize(const ComparedResult& result) {
  if (!result.comparison) return result.reason;
  const Comparison& comparison = *result.comparison;
  if (comparison.different == 0) {
    return absl::StrCat("all ", ShowCount(comparison.elements), " elements are equal");
  }
  std::string text =
      absl::StrCat(ShowCount(comparison.different), " of ", ShowCount(comparison.elements),
                   " elements differ, ", ShowCount(comparison.beyond_tolerance), " by more than ",
                   ShowTolerance(comparison.tolerance));
  if (!comparison.worst.empty()) {
    absl::StrAppend(&text, "; the worst, at ", ShowPlace(comparison.worst[0].coordinates), ": ",
                    ShowDistance(comparison.worst[0]));
  }
  return text;
}

void PrintWorst(const Comparison& comparison, const Terminal& terminal) {
  Table table({"AT", "TENSOR", "BITS", "VALUE"});
  for (const ElementDifference& worst : comparison.worst) {
    const std::string place = ShowPlace(worst.coordinates);
    table.AddRow({place.size() <= kPlaceWidth ? place : absl::StrCat("element ", worst.index),
                  "expected", ToHex(worst.expected), ToString(worst.expected)});
    table.AddRow({absl::StrCat("  ", ShowDistance(worst)), "actual", ToHex(worst.actual),
                  ToString(worst.actual)});
    for (size_t i = 0; i < worst.inputs.size(); ++i) {
      if (!worst.inputs[i]) continue;
      table.AddRow(
          {"", absl::StrCat("input ", i), ToHex(*worst.inputs[i]), ToString(*worst.inputs[i])});
    }
  }
  table.Print(terminal);
}

void PrintReport(const ComparisonReport& report, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, report.operator_name) << ' '
               << ShowTimes(report.info, report.round_trip) << '\n'
               << ShowExecution(report.info) << '\n';
  PrintSpec(report.spec, terminal);
  terminal.out << "tolerance: " << ShowTolerance(report.tolerance) << "\n\n";
  PrintVerdicts(report, terminal);
  for (const ComparedResult& result : report.results) {
    if (!result.comparison) {
      terminal.out << '\n'
                   << terminal.Styled(Style::kBold, result.name) << '\n'
                   << result.reason << '\n';
    } else if (result.comparison->different > 0) {
      PrintDetails(result, terminal);
    }
  }
}

Json ToJson(const ComparisonReport& report) {
  Json json = {
      {"operator", report.operator_name},
      {"expected", ToJson(report.info, report.round_trip)},
      {"tolerance",
       {{"ulp", ToJson(Element(report.tolerance.ulp))}, {"absolute", report.tolerance.absolute}}},
      {"passed", HasPassed(report)},
      {"results", Json::array()}};
  json["expected"]["output"] = ToJson(report.spec);
  for (const ComparedResult& result : report.results) {
    Json entry = {{"result", result.name},
                  {"verdict", std::string(NameOf(result.verdict))},
                  {"time_ns", absl::ToInt64Nanoseconds(result.time)}};
    if (result.comparison) {
      AddTo(entry, *result.comparison);
    } else {
      entry["reason"] = result.reason;
    }
    json["results"].push_back(entry);
  }
  return json;
}

}  // namespace opserve::cli
