#include "client/cli/cell_lines.h"

namespace opserve::cli {
namespace {

// How many bytes the character has that begins with `byte`.
size_t LengthOf(unsigned char byte) {
  if (byte < 0xc0) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// A byte that goes on with no character is one of its own, as terminals show it.
bool BeginsCharacter(absl::string_view text, size_t at) {
  for (size_t back = 0; back < 4 && back <= at; ++back) {
    const auto byte = static_cast<unsigned char>(text[at - back]);
    if ((byte & 0xc0) != 0x80) return back == 0 || LengthOf(byte) <= back;
  }
  return true;
}

}  // namespace

size_t CharacterCount(absl::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++at) count += BeginsCharacter(text, at) ? 1 : 0;
  return count;
}

size_t StartOfCharacter(absl::string_view text, size_t index) {
  size_t at = 0;
  while (at < text.size() && (!BeginsCharacter(text, at) || index-- > 0)) ++at;
  return at;
}

std::vector<std::string> LinesOfCell(absl::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (size_t most; (most = StartOfCharacter(text, width)) < text.size();) {
    const size_t space = text.rfind(' ', most);
    const bool has_space = space != absl::string_view::npos && space > 0;
    const size_t end = has_space ? space : most;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(has_space ? end + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

}  // namespace opserve::cli
