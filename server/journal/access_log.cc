#include "server/journal/access_log.h"

#include <chrono>
#include <exception>

#include "server/base/time_of_day.h"
#include "server/journal/json_line.h"
#include "server/journal/line_text.h"
#include "server/record/trace_context.h"

namespace opserve {
namespace {

int64_t MicrosecondsOf(Clock::Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

void AppendAccessLine(const RequestRecord& record, const RequestSource& source, absl::Time end,
                      std::string& out) {
  JsonLine line(out);
  line.AddWord("time", UtcText(end));
  if (!record.request_id.empty()) {
    line.AddText("id", record.request_id.substr(0, kMaxLoggedIdBytes));
  }
  line.AddText("client", source.client());
  line.AddWord("method", record.method);
  AddWork(record, line);
  line.AddNumber("bytes_in", record.bytes_in);
  line.AddNumber("bytes_out", record.bytes_out);
  if (!record.device.empty()) {
    line.AddText("device", record.device);
    line.AddNumber("queued_us", MicrosecondsOf(record.queued));
    line.AddNumber("run_us", MicrosecondsOf(record.ran));
  }
  line.AddNumber("total_us", MicrosecondsOf(record.total));
  line.AddWord("code", absl::StatusCodeToString(record.code));
  if (record.reason) line.AddWord("reason", NameOf(*record.reason));
  if (const auto trace = ParseTraceParent(source.traceparent())) {
    line.AddWord("trace_id", trace->trace_id);
  }
  line.End();
}

void AccessLog::OnRequest(const RequestRecord& record, const RequestSource& source) noexcept {
  try {
    std::string& line = LineOfThread();
    AppendAccessLine(record, source, TimeOfDay(record.start + record.total), line);
    file_.Add(line);
  } catch (const std::exception&) {
    file_.CountDropped();
  }
}

}  // namespace opserve
