#include "client/cli/cell_lines.h"

namespace opserve::cli {
namespace {

// Where the character begins in which byte `at` is.
size_t StartOfCharacter(absl::string_view text, size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace

std::vector<std::string> LinesOfCell(absl::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    const size_t space = text.rfind(' ', width);
    const bool has_space = space != absl::string_view::npos && space > 0;
    size_t end = has_space ? space : StartOfCharacter(text, width);
    if (end == 0) end = width;  // bytes that are no UTF-8
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(has_space ? end + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace opserve::cli
