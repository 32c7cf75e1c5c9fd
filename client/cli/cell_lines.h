// File: client/cli/cell_lines.h
//
// Breaks the text of a table's cell into lines that fit its column. Text is UTF-8, of which each
// character is taken to be one column wide. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_CELL_LINES_H_
#define OPSERVE_CLIENT_CLI_CELL_LINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace opserve::cli {

// How many characters `text` has.
size_t CharacterCount(absl::string_view text);

// Where character number `index`, from 0 on, begins in `text`; its end where there are no more.
size_t StartOfCharacter(absl::string_view text, size_t index);

// `text` in lines of at most `width` characters, which must be at least 1: broken at spaces, and
// within a word where that alone is longer. At least one line.
std::vector<std::string> LinesOfCell(absl::string_view text, size_t width);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CELL_LINES_H_
