// File: server/journal/audit_log.h
//
// One line of JSON for each call that changes how a server works, before its caller has the answer.

#ifndef OPSERVE_SERVER_JOURNAL_AUDIT_LOG_H_
#define OPSERVE_SERVER_JOURNAL_AUDIT_LOG_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/log.h"
#include "server/journal/line_file.h"
#include "server/record/request_record.h"

namespace opserve {

// Who did what to what, and how it ended.
struct AuditEntry {
  // As in the access log; "signal" for whoever sent one to the process.
  std::string client = {};
  // Lives as long as the log.
  absl::string_view method;
  // What it is about; empty and nullopt: there is no such thing.
  std::string device = {};
  std::optional<uint64_t> lease = {};
  // The reason that the caller gave.
  std::string note = {};
  // How it ended, of which the message is left out.
  absl::StatusCode code = absl::StatusCode::kOk;
  std::optional<ErrorReason> reason = {};
};

// The line of an entry, without an end of line; docs/operations.md lists its members. Text of
// clients is escaped as in other logs.
std::string AuditLine(const AuditEntry& entry, absl::Time time);

// Thread-safe.
class AuditLog final : public RequestObserver {
 public:
  // Both must outlive the log.
  AuditLog(LineFile& file, Logger& logger) : file_(file), logger_(logger) {}

  // Adds a line, and calls `written` in the file's thread once it is in the file. A line that the
  // file does not take is written to the server's own log instead. `written` must not throw.
  // Throws where there is no memory; nothing is written then.
  void Write(const AuditEntry& entry, std::function<void()> written);

  // Calls that were turned away before anything looked at what they ask for, and so have no line.
  // Like lines of the access log, they are dropped and counted where they come faster than they are
  // written: nothing was done for them.
  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override;

 private:
  LineFile& file_;
  Logger& logger_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_AUDIT_LOG_H_
