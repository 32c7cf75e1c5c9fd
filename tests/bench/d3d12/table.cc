#include "tests/bench/d3d12/table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace opserve::bench {
namespace {

// Of what has at most six characters.
std::string RatioText(const Row& row) {
  if (row.ceiling == 0) return "";
  if (row.ratio() >= 99999.5) return absl::StrFormat("%.0e", row.ratio());
  const int decimals = row.ratio() < 0.095 ? 4 : row.ratio() < 99.5 ? 2 : 0;
  return absl::StrFormat("%.*f", decimals, row.ratio());
}

}  // namespace

std::string SizeText(uint64_t bytes) {
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kMiB = kKiB * kKiB;
  if (bytes == 0) return "";
  if (bytes % kMiB == 0) return absl::StrCat(bytes / kMiB, " MiB");
  if (bytes % kKiB == 0) return absl::StrCat(bytes / kKiB, " KiB");
  return absl::StrCat(bytes, " B");
}

std::string NumberText(double value) {
  constexpr int kDigits = 4;
  if (value == 0) return "0";
  const int before_point = 1 + static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return absl::StrFormat("%.*f", std::clamp(kDigits - before_point, 0, kDigits + 1), value);
}

std::string TableText(const std::vector<Row>& rows) {
  constexpr auto kFormat = "%-26s %8s %9s %-4s %9s %6s  %s\n";
  std::string text =
      absl::StrFormat(kFormat, "", "size", "value", "", "ceiling", "ratio", "against");
  for (const Row& row : rows) {
    absl::StrAppendFormat(&text, kFormat, row.name, SizeText(row.bytes), NumberText(row.value),
                          row.unit, row.ceiling == 0 ? "" : NumberText(row.ceiling), RatioText(row),
                          row.against);
  }
  return text;
}

std::string GoalsText(const std::vector<SectionResult>& sections) {
  constexpr auto kFormat = "%-17s %-26s %8s %6s  %-8s %s\n";
  std::string text;
  for (const SectionResult& section : sections) {
    for (const Row& row : section.rows) {
      if (row.goal.kind == Goal::Kind::kNone) continue;
      const char* const relation = row.goal.kind == Goal::Kind::kAtLeast ? ">=" : "<=";
      absl::StrAppendFormat(&text, kFormat, section.name, row.name, SizeText(row.bytes),
                            RatioText(row), absl::StrFormat("%s %g", relation, row.goal.ratio),
                            row.IsMet() ? "met" : "MISSED");
    }
  }
  if (text.empty()) return text;
  return absl::StrCat(absl::StrFormat(kFormat, "section", "row", "size", "ratio", "goal", ""),
                      text);
}

std::string WrappedText(absl::string_view text) {
  std::string wrapped;
  size_t width = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (width > 0 && width + 1 + word.size() > kLineWidth) {
      wrapped += '\n';
      width = 0;
    }
    if (width > 0) wrapped += ' ';
    absl::StrAppend(&wrapped, word);
    width += word.size() + (width > 0 ? 1 : 0);
  }
  return wrapped + '\n';
}

}  // namespace opserve::bench
