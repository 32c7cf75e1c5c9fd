#include "server/journal/audit_log.h"

#include <exception>
#include <utility>

#include "absl/time/clock.h"
#include "server/journal/json_line.h"
#include "server/journal/line_text.h"

namespace opserve {

std::string AuditLine(const AuditEntry& entry, absl::Time time) {
  std::string text;
  JsonLine line(text);
  line.AddWord("time", UtcText(time));
  line.AddText("client", entry.client);
  line.AddWord("method", entry.method);
  if (!entry.device.empty()) line.AddText("device", entry.device);
  if (entry.lease) line.AddNumber("lease", *entry.lease);
  if (!entry.note.empty()) line.AddText("note", entry.note);
  line.AddWord("code", absl::StatusCodeToString(entry.code));
  if (entry.reason) line.AddWord("reason", NameOf(*entry.reason));
  line.End();
  return text;
}

void AuditLog::Write(const AuditEntry& entry, std::function<void()> written) {
  const std::string line = AuditLine(entry, absl::Now());
  file_.AddAndTell(line, [this, line, written = std::move(written)](bool is_written) {
    if (!is_written) {
      try {
        logger_.Log(LogLevel::kError, "audit line not written", {{"line", line}});
      } catch (const std::exception&) {
        file_.CountDropped();
      }
    }
    written();
  });
}

void AuditLog::OnRequest(const RequestRecord& record, const RequestSource& source) noexcept {
  if (record.is_audited) return;
  try {
    file_.Add(AuditLine({.client = source.client(),
                         .method = record.method,
                         .code = record.code,
                         .reason = record.reason},
                        absl::Now()));
  } catch (const std::exception&) {
    file_.CountDropped();
  }
}

}  // namespace opserve
