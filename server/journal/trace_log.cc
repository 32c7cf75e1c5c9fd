#include "server/journal/trace_log.h"

#include <chrono>
#include <exception>
#include <optional>

#include "absl/strings/str_format.h"
#include "server/base/random_id.h"
#include "server/journal/json_line.h"

namespace opserve {
namespace {

constexpr uint64_t kSpansPerRequest = 3;

std::string SpanId(uint64_t id) { return absl::StrFormat("%016x", id); }

uint64_t RandomNumber() { return std::stoull(RandomId().substr(0, 16), nullptr, 16); }

// Begins the line of a span.
JsonLine SpanLine(const TraceContext& trace, absl::string_view parent, uint64_t id,
                  absl::string_view name, absl::Time start, absl::Time end) {
  JsonLine line;
  line.AddText("trace_id", trace.trace_id);
  line.AddText("span_id", SpanId(id));
  line.AddText("parent_span_id", parent);
  line.AddText("name", name);
  line.AddNumber("start_unix_ns", absl::ToUnixNanos(start));
  line.AddNumber("end_unix_ns", absl::ToUnixNanos(end));
  return line;
}

}  // namespace

std::vector<std::string> SpanLines(const RequestRecord& record, const TraceContext& trace,
                                   uint64_t span_id, absl::Time end) {
  const absl::Time start = end - absl::FromChrono(record.total);
  JsonLine request = SpanLine(trace, trace.parent_id, span_id, "request", start, end);
  request.AddText("method", record.method);
  AddWork(record, request);
  request.AddText("code", absl::StatusCodeToString(record.code));
  if (record.reason) request.AddText("reason", NameOf(*record.reason));
  std::vector<std::string> lines = {request.Take()};
  if (record.device.empty()) return lines;
  const absl::Time accepted = start + absl::FromChrono(record.accepted - record.start);
  const absl::Time run = accepted + absl::FromChrono(record.queued);
  const std::string parent = SpanId(span_id);
  lines.push_back(SpanLine(trace, parent, span_id + 1, "queue", accepted, run).Take());
  JsonLine line =
      SpanLine(trace, parent, span_id + 2, "run", run, run + absl::FromChrono(record.ran));
  line.AddText("device", record.device);
  lines.push_back(line.Take());
  return lines;
}

TraceLog::TraceLog(LineFile& file) : file_(file), next_span_(RandomNumber()) {}

void TraceLog::OnRequest(const RequestRecord& record, const RequestSource& source) noexcept {
  try {
    const std::optional<TraceContext> trace = ParseTraceParent(source.traceparent());
    if (!trace || !trace->is_sampled) return;
    uint64_t span = next_span_.fetch_add(kSpansPerRequest, std::memory_order_relaxed);
    // Of 2^64 requests one would have an id that no span may have.
    if (span + kSpansPerRequest < kSpansPerRequest || span == 0) {
      span = next_span_.fetch_add(kSpansPerRequest, std::memory_order_relaxed);
    }
    for (const std::string& line : SpanLines(record, *trace, span, absl::Now())) file_.Add(line);
  } catch (const std::exception&) {
    file_.CountDropped();
  }
}

}  // namespace opserve
