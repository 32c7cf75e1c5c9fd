#include "kernels/utf8.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) >> 6) == 2; }

// Bytes of the character that begins at text[i]; 0 if it is not all there.
size_t CharacterSize(absl::string_view text, size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  for (size_t k = 1; k < size; ++k) {
    if (i + k >= text.size() || !IsContinuation(text[i + k])) return 0;
  }
  return size;
}

}  // namespace

std::string TruncateUtf8(absl::string_view text, size_t max_bytes) {
  constexpr absl::string_view kEllipsis = "...";
  const bool cut = text.size() > max_bytes;
  if (cut) text = text.substr(0, max_bytes - std::min(max_bytes, kEllipsis.size()));
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t size = CharacterSize(text, i);
    result.append(text.data() + i, size);
    i += std::max(size, size_t{1});
  }
  if (cut) absl::StrAppend(&result, kEllipsis.substr(0, max_bytes));
  return result;
}

}  // namespace opserve
