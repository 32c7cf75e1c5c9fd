#include "server/journal/line_text.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace opserve {
namespace {

constexpr uint32_t kFractionDigits = 6;
constexpr int64_t kMicrosPerSecond = 1'000'000;

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
  const int64_t micros = absl::ToUnixMicros(time);
  int64_t second = micros / kMicrosPerSecond;
  int64_t fraction = micros % kMicrosPerSecond;
  if (fraction < 0) {
    --second;
    fraction += kMicrosPerSecond;
  }
  if (second != last.second) {
    // Where there is no memory for the text, the old one must not pass for that of this second.
    last.second = std::numeric_limits<int64_t>::min();
    last.text = absl::FormatTime("%Y-%m-%dT%H:%M:%S.000000Z", absl::FromUnixSeconds(second),
                                 absl::UTCTimeZone());
    last.second = second;
  }
  char* digit = &last.text[last.text.size() - 1];
  for (auto left = static_cast<uint32_t>(fraction), i = 0u; i < kFractionDigits; ++i, left /= 10) {
    *--digit = static_cast<char>('0' + left % 10);
  }
  return last.text;
}

}  // namespace opserve
