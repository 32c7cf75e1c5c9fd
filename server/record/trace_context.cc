#include "server/record/trace_context.h"

#include <algorithm>
#include <cstddef>

namespace opserve {
namespace {

constexpr size_t kTraceAt = 3;
constexpr size_t kTraceDigits = 32;
constexpr size_t kParentAt = 36;
constexpr size_t kParentDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kFlagsDigits = 2;
constexpr size_t kLength = 55;

bool IsHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

int ValueOf(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

}  // namespace

std::optional<TraceContext> ParseTraceParent(absl::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(kTraceAt, kTraceDigits);
  const absl::string_view parent = text.substr(kParentAt, kParentDigits);
  const absl::string_view flags = text.substr(kFlagsAt, kFlagsDigits);
  if (text[kTraceAt - 1] != '-' || text[kParentAt - 1] != '-' || text[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  if (!IsHex(version) || !IsHex(trace) || !IsHex(parent) || !IsHex(flags)) return std::nullopt;
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  return TraceContext{std::string(trace), std::string(parent), (ValueOf(flags[1]) & 1) != 0};
}

}  // namespace opserve
