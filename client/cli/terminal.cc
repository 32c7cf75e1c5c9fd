#include "client/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace opserve::cli {

std::string Terminal::Styled(Style style, absl::string_view text) const {
  if (!out_is_terminal || no_color) return std::string(text);
  constexpr const char* kCodes[] = {"1", "32", "31", "2"};
  return absl::StrCat("\033[", kCodes[static_cast<int>(style)], "m", text, "\033[0m");
}

Terminal StandardTerminal() {
  const char* no_color = std::getenv("NO_COLOR");
  return {std::cout, std::cerr, isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1,
          no_color != nullptr && *no_color != '\0'};
}

void Table::Print(const Terminal& terminal) const {
  std::vector<size_t> widths;
  for (const std::string& cell : header_) widths.push_back(cell.size());
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].text.size());
  }
  const auto line = [&](const std::vector<Cell>& row) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : "  ",
                      row[i].style ? terminal.Styled(*row[i].style, row[i].text) : row[i].text);
      if (i + 1 < row.size()) text.append(widths[i] - row[i].text.size(), ' ');
    }
    return text;
  };
  terminal.out << terminal.Styled(Style::kBold, line({header_.begin(), header_.end()})) << '\n';
  for (const std::vector<Cell>& row : rows_) terminal.out << line(row) << '\n';
}

std::string ShowDuration(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  if (seconds < 1e-6) return absl::StrFormat("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return absl::StrFormat("%.*f us", seconds < 1e-4 ? 1 : 0, seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.*f ms", seconds < 0.1 ? 2 : 0, seconds * 1e3);
  if (seconds < 120) return absl::StrFormat("%.1f s", seconds);
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

std::string ShowBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.4g %s", bytes, kUnits[unit]);
}

std::string ShowCount(uint64_t count) {
  std::string text = absl::StrCat(count);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

}  // namespace opserve::cli
