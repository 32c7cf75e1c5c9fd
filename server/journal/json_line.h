// File: server/journal/json_line.h
//
// A JSON object on one line, member by member.

#ifndef OPSERVE_SERVER_JOURNAL_JSON_LINE_H_
#define OPSERVE_SERVER_JOURNAL_JSON_LINE_H_

#include <cstddef>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/op_table.h"
#include "server/base/log_escape.h"
#include "server/record/request_record.h"

namespace opserve {

// What of an id is written: a valid one has no more, and what is none may have any length.
inline constexpr size_t kMaxLoggedIdBytes = 128;

// Appends an object to a text, which must outlive it. A text that is used again has its room
// already, so that a line allocates nothing. Not thread-safe. Names are constants that need no
// escape.
class JsonLine {
 public:
  explicit JsonLine(std::string& text) : text_(text) { text_ += '{'; }
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  void AddText(absl::string_view name, absl::string_view value) {
    Begin(name);
    AppendQuoted(text_, value);
  }
  template <class T>
  requires std::is_integral_v<T>
  void AddNumber(absl::string_view name, T value) {
    Begin(name);
    absl::StrAppend(&text_, value);
  }

  // Nothing may be added afterwards.
  void End() { text_ += '}'; }

 private:
  void Begin(absl::string_view name) {
    if (!is_empty_) text_ += ',';
    text_ += '"';
    text_.append(name.data(), name.size());
    text_ += "\":";
    is_empty_ = false;
  }

  std::string& text_;
  bool is_empty_ = true;
};

// Adds what the request computes, as far as it is known.
inline void AddWork(const RequestRecord& record, JsonLine& line) {
  if (record.work == WorkKind::kOperator) line.AddText("operator", TraitsOf(record.op).name);
  if (record.work == WorkKind::kSequence) line.AddText("operator", "sequence");
  if (record.type != DataType::kUnknown) line.AddText("type", NameOf(record.type));
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_JSON_LINE_H_
