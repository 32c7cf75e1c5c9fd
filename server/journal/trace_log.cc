#include "server/journal/trace_log.h"

#include <array>
#include <exception>
#include <optional>
#include <string>

#include "server/base/random_id.h"
#include "server/base/time_of_day.h"
#include "server/journal/json_line.h"
#include "server/journal/line_text.h"

namespace opserve {
namespace {

constexpr uint64_t kSpansPerRequest = 3;

// 16 hexadecimal digits.
class SpanId {
 public:
  explicit SpanId(uint64_t id) {
    for (auto digit = digits_.rbegin(); digit != digits_.rend(); ++digit, id >>= 4) {
      *digit = "0123456789abcdef"[id & 15];
    }
  }
  absl::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 16> digits_;
};

uint64_t RandomNumber() { return std::stoull(RandomId().substr(0, 16), nullptr, 16); }

// One span, and where it belongs.
struct Span {
  const TraceContext& trace;
  absl::string_view parent;
  uint64_t id;
  absl::string_view name;
  absl::Time start;
  absl::Time end;
};

// The line of the calling thread, with the span, and what `add_more` adds to it.
absl::string_view SpanLine(const Span& span, absl::FunctionRef<void(JsonLine& line)> add_more) {
  std::string& text = LineOfThread();
  JsonLine line(text);
  line.AddWord("trace_id", span.trace.trace_id);
  line.AddWord("span_id", SpanId(span.id).text());
  line.AddWord("parent_span_id", span.parent);
  line.AddWord("name", span.name);
  line.AddNumber("start_unix_ns", absl::ToUnixNanos(span.start));
  line.AddNumber("end_unix_ns", absl::ToUnixNanos(span.end));
  add_more(line);
  line.End();
  return text;
}

}  // namespace

void MakeSpanLines(const RequestRecord& record, const TraceContext& trace, uint64_t span_id,
                   absl::Time end, absl::FunctionRef<void(absl::string_view line)> add) {
  const absl::Time start = end - absl::FromChrono(record.total);
  add(SpanLine({trace, trace.parent_id, span_id, "request", start, end}, [&](JsonLine& line) {
    line.AddWord("method", record.method);
    AddWork(record, line);
    line.AddWord("code", absl::StatusCodeToString(record.code));
    if (record.reason) line.AddWord("reason", NameOf(*record.reason));
  }));
  if (record.device.empty()) return;
  const absl::Time accepted = start + absl::FromChrono(record.accepted - record.start);
  const absl::Time run = accepted + absl::FromChrono(record.queued);
  const SpanId parent(span_id);
  add(SpanLine({trace, parent.text(), span_id + 1, "queue", accepted, run}, [](JsonLine&) {}));
  add(SpanLine({trace, parent.text(), span_id + 2, "run", run, run + absl::FromChrono(record.ran)},
               [&](JsonLine& line) { line.AddText("device", record.device); }));
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
    MakeSpanLines(record, *trace, span, TimeOfDay(record.start + record.total),
                  [this](absl::string_view line) { file_.Add(line); });
  } catch (const std::exception&) {
    file_.CountDropped();
  }
}

}  // namespace opserve
