// File: client/cli/terminal.h
//
// Where a command prints, and text for people: colours, tables, units. Not thread-safe.

#ifndef OPSERVE_CLIENT_CLI_TERMINAL_H_
#define OPSERVE_CLIENT_CLI_TERMINAL_H_

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace opserve::cli {

enum class Style { kBold, kGreen, kRed, kDim };

// The streams of a command. Borrows them.
struct Terminal {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool no_color = false;  // see no-color.org

  // `text` in a style where `out` is a terminal that takes colours; else unchanged.
  std::string Styled(Style style, absl::string_view text) const;
};

// Standard output and error, with NO_COLOR honoured.
Terminal StandardTerminal();

// What stands in a table: plain text in UTF-8, and its style on terminals. Text converts to it.
struct Cell {
  Cell(const char* content) : text(content) {}             // NOLINT(google-explicit-constructor)
  Cell(std::string content) : text(std::move(content)) {}  // NOLINT(google-explicit-constructor)
  Cell(std::string content, Style look) : text(std::move(content)), style(look) {}

  std::string text;
  std::optional<Style> style;
};

// Rows of cells below a header, as aligned columns, in all at most 80 wide: where they would be
// wider, the widest ones but the first are narrowed, and their cells take several lines.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void AddRow(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  void Print(const Terminal& terminal) const;

 private:
  std::vector<size_t> Widths() const;
  // The lines that a row takes in columns of these widths.
  static std::vector<std::string> LinesOf(const std::vector<Cell>& row,
                                          const std::vector<size_t>& widths,
                                          const Terminal& terminal);

  std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

// "1.50 ms": three significant digits in a fitting unit.
std::string ShowDuration(absl::Duration duration);
// "4 MiB", "1.5 GiB".
std::string ShowBytes(double bytes);
// "1,234,567".
std::string ShowCount(uint64_t count);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TERMINAL_H_
