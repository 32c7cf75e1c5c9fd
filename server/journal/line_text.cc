#include "server/journal/line_text.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace opserve {
namespace {

constexpr int kFractionDigits = 6;

// A second since 1970, and its text with the fraction of the last time in it.
struct FormattedSecond {
  int64_t second = std::numeric_limits<int64_t>::min();
  std::string text = {};
};

}  // namespace

std::string& LineOfThread() {
  thread_local std::string line;
  line.clear();
  return line;
}

absl::string_view UtcText(absl::Time time) {
  thread_local FormattedSecond last;
  const int64_t second = absl::ToUnixSeconds(time);
  if (second != last.second) {
    // Where there is no memory for the text, the old one must not pass for that of this second.
    last.second = std::numeric_limits<int64_t>::min();
    last.text = absl::FormatTime("%Y-%m-%dT%H:%M:%S.000000Z", absl::FromUnixSeconds(second),
                                 absl::UTCTimeZone());
    last.second = second;
  }
  int64_t micros = absl::ToInt64Microseconds(time - absl::FromUnixSeconds(second));
  const size_t end = last.text.size() - 1;
  for (size_t i = 1; i <= kFractionDigits; ++i, micros /= 10) {
    last.text[end - i] = static_cast<char>('0' + micros % 10);
  }
  return last.text;
}

}  // namespace opserve
