// File: server/journal/json_line.h
//
// A JSON object on one line, member by member.

#ifndef OPSERVE_SERVER_JOURNAL_JSON_LINE_H_
#define OPSERVE_SERVER_JOURNAL_JSON_LINE_H_

#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/op_table.h"
#include "server/base/log_escape.h"
#include "server/record/request_record.h"

namespace opserve {

// What of an id is written: a valid one has no more, and what is none may have any length.
inline constexpr size_t kMaxLoggedIdBytes = 128;

// Appends an object with at least one member to a text, which must outlive it. A text that is used
// again has its room already, so that a line allocates nothing. Not thread-safe. Names are
// constants that need no escape.
//
// Members gather in an array and go to the text together: for a few bytes, adding to a string costs
// several times what the bytes do.
class JsonLine {
 public:
  explicit JsonLine(std::string& text) : text_(text) {}
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  // A value from anywhere.
  template <size_t kNameSize>
  void AddText(const char (&name)[kNameSize], absl::string_view value) {
    if (IsPlainText(value)) return AddWord(name, value);
    end_ = Begin(name, 0);
    GiveOut();
    AppendQuoted(text_, value);
  }
  // A value that needs no escape either, such as a name of the server's own.
  template <size_t kNameSize>
  void AddWord(const char (&name)[kNameSize], absl::string_view value) {
    if (value.size() > kMostBytes) return AddLongWord(name, value);
    char* end = Begin(name, value.size() + 2);
    *end++ = '"';
    std::memcpy(end, value.data(), value.size());
    end += value.size();
    *end++ = '"';
    end_ = end;
  }
  template <size_t kNameSize, class T>
  requires std::is_integral_v<T>
  void AddNumber(const char (&name)[kNameSize], T value) {
    constexpr size_t kMostDigits = std::numeric_limits<T>::digits10 + 2;
    char* const begin = Begin(name, kMostDigits);
    end_ = std::to_chars(begin, begin + kMostDigits, value).ptr;
  }

  // Nothing may be added afterwards.
  void End() {
    GiveOut();
    text_ += '}';
  }

 private:
  // Most bytes of a value, and of a name, that are gathered.
  static constexpr size_t kMostBytes = 192;

  // Begins a member, and returns where its value goes, for which there is room of `bytes` bytes.
  template <size_t kNameSize>
  char* Begin(const char (&name)[kNameSize], size_t bytes) {
    static_assert(kNameSize <= kMostBytes);
    // In place of the name's final zero there are a separator, two quotes and a colon.
    const size_t most_bytes = bytes + kNameSize + 3;
    if (most_bytes > static_cast<size_t>(gathered_.data() + gathered_.size() - end_)) GiveOut();
    // A variable of its own: any byte that is written might be one of the member `end_`.
    char* end = end_;
    *end++ = std::exchange(separator_, ',');
    *end++ = '"';
    // The size is known to the compiler, so this is no call.
    std::memcpy(end, name, kNameSize - 1);
    end += kNameSize - 1;
    *end++ = '"';
    *end++ = ':';
    return end;
  }
  template <size_t kNameSize>
  void AddLongWord(const char (&name)[kNameSize], absl::string_view value) {
    end_ = Begin(name, 0);
    GiveOut();
    absl::StrAppend(&text_, "\"", value, "\"");
  }
  void GiveOut() {
    text_.append(gathered_.data(), static_cast<size_t>(end_ - gathered_.data()));
    end_ = gathered_.data();
  }

  std::string& text_;
  char separator_ = '{';
  std::array<char, 512> gathered_;
  char* end_ = gathered_.data();
};

// Adds what the request computes, as far as it is known.
inline void AddWork(const RequestRecord& record, JsonLine& line) {
  if (record.work == WorkKind::kOperator) line.AddWord("operator", TraitsOf(record.op).name);
  if (record.work == WorkKind::kSequence) line.AddWord("operator", "sequence");
  if (record.type != DataType::kUnknown) line.AddWord("type", NameOf(record.type));
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_JSON_LINE_H_
