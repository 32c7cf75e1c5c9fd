// File: client/cli/cell_lines.h
//
// Breaks the text of a table's cell into lines that fit its column. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_CLIENT_CLI_CELL_LINES_H_
#define OPSERVE_CLIENT_CLI_CELL_LINES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace opserve::cli {

// `text`, UTF-8, in lines of at most `width` bytes, which must be at least 4: broken at spaces, and
// within a word where that alone is longer; characters stay whole. At least one line.
std::vector<std::string> LinesOfCell(absl::string_view text, size_t width);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CELL_LINES_H_
