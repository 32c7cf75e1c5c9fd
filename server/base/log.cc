#include "server/base/log.h"

#include <memory>

#include "server/base/log_escape.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"

namespace opserve {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

bool NeedsQuotes(absl::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '\\' || c == '=') return true;
  }
  return text.empty();
}

// Numbers that JSON does not know.
bool IsFinite(absl::string_view number) {
  return number.find_first_of("in") == absl::string_view::npos;
}

}  // namespace

std::string FormatText(absl::string_view event, std::initializer_list<LogField> fields) {
  std::string line(event);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    if (field.is_text && NeedsQuotes(field.value)) {
      AppendQuoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  return line;
}

std::string FormatJson(absl::string_view event, std::initializer_list<LogField> fields) {
  std::string line = "\"event\":";
  AppendQuoted(line, event);
  for (const LogField& field : fields) {
    line += ',';
    AppendQuoted(line, field.key);
    line += ':';
    if (field.is_text || !IsFinite(field.value)) {
      AppendQuoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  return line;
}

Logger::Logger(LogFormat format, LogLevel level)
    : format_(format),
      logger_(std::make_unique<spdlog::logger>(
          "opserve", std::make_shared<spdlog::sinks::stderr_color_sink_mt>())) {
  const char* const pattern = format == LogFormat::kJson
                                  ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",\"level\":\"%l\",%v}"
                                  : "%Y-%m-%dT%H:%M:%S.%eZ %^%-7l%$ %v";
  logger_->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc));
  logger_->set_level(LevelOf(level));
}

Logger::~Logger() = default;

bool Logger::enabled(LogLevel level) const { return logger_->should_log(LevelOf(level)); }

void Logger::Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  const std::string line =
      format_ == LogFormat::kJson ? FormatJson(event, fields) : FormatText(event, fields);
  logger_->log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace opserve
