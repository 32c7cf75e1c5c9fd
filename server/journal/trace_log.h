// File: server/journal/trace_log.h
//
// Spans of the requests that belong to a trace, as lines of JSON.

#ifndef OPSERVE_SERVER_JOURNAL_TRACE_LOG_H_
#define OPSERVE_SERVER_JOURNAL_TRACE_LOG_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/journal/line_file.h"
#include "server/record/request_record.h"
#include "server/record/trace_context.h"

namespace opserve {

// Gives `add` the lines of a request that ended at `end`: the span of the request, whose parent is
// the caller's, and as its children, where it ran, those of its wait in the queue and of its run.
// `span_id`: that of the request, not 0; those of its children are the next two numbers.
void MakeSpanLines(const RequestRecord& record, const TraceContext& trace, uint64_t span_id,
                   absl::Time end, absl::FunctionRef<void(absl::string_view line)> add);

// Adds lines to a file for each request whose caller records its trace. Thread-safe.
class TraceLog final : public RequestObserver {
 public:
  // `file` must outlive the log. Throws std::system_error where the system has no randomness.
  explicit TraceLog(LineFile& file);

  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override;

 private:
  LineFile& file_;
  // Ids begin at a random number, and go up by three.
  std::atomic<uint64_t> next_span_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_JOURNAL_TRACE_LOG_H_
