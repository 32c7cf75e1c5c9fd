#include "client/cli/junit_report.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace opserve::cli {
namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";

// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none that XML takes.
size_t LengthOfCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(text[i])}; };
  if (byte(0) < 0x80) {
    const bool is_text = byte(0) >= 0x20 || text[0] == '\n' || text[0] == '\t';
    return is_text && byte(0) != 0x7f ? 1 : 0;
  }
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  uint32_t code = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_no_character = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return is_overlong || is_surrogate || is_no_character ? 0 : length;
}

std::string Seconds(absl::Duration time) {
  return absl::StrFormat("%.6f", absl::ToDoubleSeconds(time));
}

size_t CountOf(const ComparisonReport& report, Verdict verdict) {
  return static_cast<size_t>(
      std::count_if(report.results.begin(), report.results.end(),
                    [&](const ComparedResult& result) { return result.verdict == verdict; }));
}

// The counts of the suite, which are those of the file as well.
std::string Totals(const ComparisonReport& report) {
  absl::Duration time;
  for (const ComparedResult& result : report.results) time += result.time;
  return absl::StrCat(" tests=\"", report.results.size(), "\" failures=\"",
                      CountOf(report, Verdict::kFail), "\" errors=\"",
                      CountOf(report, Verdict::kError), "\" skipped=\"",
                      CountOf(report, Verdict::kSkipped), "\" time=\"", Seconds(time), "\"");
}

std::string WorstAsText(const Comparison& comparison) {
  std::ostringstream text;
  PrintWorst(comparison, Terminal{.out = text, .err = text});
  return text.str();
}

// What a test case holds.
std::string Outcome(const ComparedResult& result) {
  const std::string message = absl::StrCat(" message=\"", EscapeXml(Summarize(result)), "\"");
  switch (result.verdict) {
    case Verdict::kPass:
      return "";
    case Verdict::kFail:
      return absl::StrCat("      <failure type=\"beyond tolerance\"", message, ">\n",
                          EscapeXml(WorstAsText(*result.comparison)), "</failure>\n");
    case Verdict::kSkipped:
      return absl::StrCat("      <skipped", message, "/>\n");
    case Verdict::kError:
      break;
  }
  return absl::StrCat("      <error type=\"no result\"", message, "/>\n");
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t length = LengthOfCharacter(text);
    switch (length == 0 ? '\0' : text[0]) {
      case '\0':
        absl::StrAppend(&escaped, kReplacement);
        break;
      case '&':
        absl::StrAppend(&escaped, "&amp;");
        break;
      case '<':
        absl::StrAppend(&escaped, "&lt;");
        break;
      case '>':
        absl::StrAppend(&escaped, "&gt;");
        break;
      case '"':
        absl::StrAppend(&escaped, "&quot;");
        break;
      default:
        absl::StrAppend(&escaped, text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return escaped;
}

std::string RenderJunit(const ComparisonReport& report) {
  const std::string name = EscapeXml(report.operator_name);
  const std::string totals = Totals(report);
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"opserve compare\"", totals,
      ">\n  <testsuite name=\"", name, "\"", totals, ">\n");
  for (const ComparedResult& result : report.results) {
    const std::string outcome = Outcome(result);
    absl::StrAppend(&xml, "    <testcase classname=\"", name, "\" name=\"",
                    EscapeXml(absl::StrCat(result.name, " against ", report.info.device)),
                    "\" time=\"", Seconds(result.time), "\"",
                    outcome.empty() ? "/>\n" : absl::StrCat(">\n", outcome, "    </testcase>\n"));
  }
  return absl::StrCat(xml, "  </testsuite>\n</testsuites>\n");
}

}  // namespace opserve::cli
