#include "client/cli/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/cell_lines.h"
#include "client/cli/console.h"

namespace opserve::cli {
namespace {

constexpr size_t kTableWidth = 80;
constexpr size_t kColumnGap = 2;
// Words of headers fit into it.
constexpr size_t kLeastColumnWidth = 10;

}  // namespace

std::string Terminal::Styled(Style style, absl::string_view text) const {
  if (!out_is_terminal || no_color) return std::string(text);
  constexpr const char* kCodes[] = {"1", "32", "31", "2"};
  return absl::StrCat("\033[", kCodes[static_cast<int>(style)], "m", text, "\033[0m");
}

Terminal StandardTerminal() {
  const char* no_color = std::getenv("NO_COLOR");
  return {std::cout, std::cerr, IsConsole(1), IsConsole(2),
          no_color != nullptr && *no_color != '\0'};
}

void Table::Print(const Terminal& terminal) const {
  const std::vector<Cell> header(header_.begin(), header_.end());
  const std::vector<size_t> widths = Widths();
  for (const std::string& line : LinesOf(header, widths, terminal)) {
    terminal.out << terminal.Styled(Style::kBold, line) << '\n';
  }
  for (const std::vector<Cell>& row : rows_) {
    for (const std::string& line : LinesOf(row, widths, terminal)) terminal.out << line << '\n';
  }
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths;
  for (const std::string& cell : header_) widths.push_back(CharacterCount(cell));
  for (const std::vector<Cell>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], CharacterCount(row[i].text));
    }
  }
  const size_t most = kTableWidth - std::min(kTableWidth, kColumnGap * (widths.size() - 1));
  while (std::accumulate(widths.begin(), widths.end(), size_t{0}) > most) {
    // The first column has what a row is known by.
    auto widest = std::max_element(widths.begin() + 1, widths.end());
    if (widest == widths.end() || *widest <= kLeastColumnWidth) widest = widths.begin();
    if (*widest <= kLeastColumnWidth) break;
    --*widest;
  }
  return widths;
}

std::vector<std::string> Table::LinesOf(const std::vector<Cell>& row,
                                        const std::vector<size_t>& widths,
                                        const Terminal& terminal) {
  std::vector<std::string> lines;
  size_t column = 0;         // where the cell begins
  std::vector<size_t> ends;  // columns that each line has filled
  for (size_t i = 0; i < row.size(); ++i) {
    const std::vector<std::string> parts = LinesOfCell(row[i].text, widths[i]);
    lines.resize(std::max(lines.size(), parts.size()));
    ends.resize(lines.size());
    for (size_t part = 0; part < parts.size(); ++part) {
      // A row that goes on has no spaces at its end.
      if (parts[part].empty() && part > 0) continue;
      lines[part].append(column - ends[part], ' ');
      absl::StrAppend(&lines[part],
                      row[i].style ? terminal.Styled(*row[i].style, parts[part]) : parts[part]);
      ends[part] = column + CharacterCount(parts[part]);
    }
    column += widths[i] + kColumnGap;
  }
  return lines;
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
