// File: server/base/log.h
//
// Structured logs: an event name and named values, as a line of text or of JSON on standard error.

#ifndef OPSERVE_SERVER_BASE_LOG_H_
#define OPSERVE_SERVER_BASE_LOG_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace opserve {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

// A named value of a log line.
struct LogField {
  LogField(absl::string_view key_in, absl::string_view value_in)
      : key(key_in), value(value_in), is_text(true) {}
  template <class T>
  requires std::is_arithmetic_v<T> LogField(absl::string_view key_in, T value_in)
      : key(key_in), value(absl::StrCat(value_in)) {}

  absl::string_view key;
  std::string value;
  bool is_text = false;  // otherwise a number
};

// The values of a line as text: ` key=value key="two words"`. Quotes, backslashes and all
// characters that show something else than what is there are escaped (server/base/log_escape.h), so
// that no value can forge a line.
std::string FormatText(absl::string_view event, std::initializer_list<LogField> fields);

// The same as members of a JSON object, without braces: `"event":"x","key":"value"`.
std::string FormatJson(absl::string_view event, std::initializer_list<LogField> fields);

// Writes log lines to standard error, with colours only on a terminal. Thread-safe.
class Logger {
 public:
  Logger(LogFormat format, LogLevel level);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Whether lines of `level` are written; ask before computing costly values.
  bool enabled(LogLevel level) const;

  // Writes one line: `event` is a short constant such as "request refused".
  void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields = {});

 private:
  const LogFormat format_;
  const std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_LOG_H_
