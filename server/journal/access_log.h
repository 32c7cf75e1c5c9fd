// File: server/journal/access_log.h
//
// One line of JSON for each request.

#ifndef OPSERVE_SERVER_JOURNAL_ACCESS_LOG_H_
#define OPSERVE_SERVER_JOURNAL_ACCESS_LOG_H_

#include <string>

#include "absl/time/time.h"
#include "server/journal/line_file.h"
#include "server/record/request_record.h"

namespace opserve {

// Appends the line of a request that ended at `end`, without an end of line. What is not known has
// no member; docs/operations.md lists all. Text of clients is escaped as in other logs. Contents of
// tensors and credentials are in neither argument. Safe to use from any thread.
void AppendAccessLine(const RequestRecord& record, const RequestSource& source, absl::Time end,
                      std::string& out);

// Adds a line to a file for each request. Thread-safe.
class AccessLog final : public RequestObserver {
 public:
  // `file` must outlive the log.
  explicit AccessLog(LineFile& file) : file_(file) {}

  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override;

 private:
  LineFile& file_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_ACCESS_LOG_H_
