#include "server/base/log_escape.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace opserve {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// A character at the begin of a text.
struct Character {
  uint32_t code = kReplacement;
  // How many bytes of the text it takes.
  size_t bytes = 1;
  bool is_valid = false;
};

// How many bytes follow a first one; -1 where none begins with it.
int FollowersOf(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first <= 0xdf) return 1;
  if (first >= 0xe0 && first <= 0xef) return 2;
  if (first >= 0xf0 && first <= 0xf4) return 3;
  return -1;
}

// `text` is not empty.
Character FirstOf(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const int followers = FollowersOf(byte(0));
  if (followers < 0 || text.size() <= static_cast<size_t>(followers)) return {};
  // Of the first byte of two, three and four, these bits are of the number.
  constexpr uint32_t kFirstBits[] = {0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = byte(0) & kFirstBits[followers];
  for (size_t i = 1; i <= static_cast<size_t>(followers); ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  // Shorter ones would do, half of a pair of UTF-16, or beyond the last.
  const bool is_too_long = (followers == 2 && code < 0x800) || (followers == 3 && code < 0x10000);
  if (is_too_long || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) return {};
  return {code, static_cast<size_t>(followers) + 1, true};
}

// Whether a byte is a character of its own that is written as it is, as nearly all are.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> is_plain = {};
  for (int byte = ' '; byte <= '~'; ++byte) is_plain[byte] = byte != '"' && byte != '\\';
  return is_plain;
}();

bool IsMisleading(uint32_t code) {
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  constexpr Range kRanges[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},      // control characters
      {0x61c, 0x61c},   {0x200e, 0x200f},  // marks of the direction of writing
      {0x2028, 0x2029},                    // ends of lines and paragraphs
      {0x202a, 0x202e}, {0x2066, 0x2069},  // embedded, overridden and isolated directions
      {0xfeff, 0xfeff},                    // invisible
  };
  for (const Range& range : kRanges) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

void AppendEscape(std::string& out, uint32_t code) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
}

// How many of them `text` begins with.
size_t PlainBytesOf(absl::string_view text) {
  size_t plain = 0;
  while (plain < text.size() && kIsPlain[static_cast<unsigned char>(text[plain])]) ++plain;
  return plain;
}

}  // namespace

bool IsPlainText(absl::string_view text) { return PlainBytesOf(text) == text.size(); }

void AppendQuoted(std::string& out, absl::string_view text) {
  out += '"';
  while (true) {
    const size_t plain = PlainBytesOf(text);
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character character = FirstOf(text);
    if (character.code == '"' || character.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (character.code == '\n') {
      out += "\\n";
    } else if (!character.is_valid || IsMisleading(character.code)) {
      AppendEscape(out, character.code);
    } else {
      out.append(text.data(), character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  out += '"';
}

}  // namespace opserve
