// File: server/record/trace_context.h
//
// Where a request belongs in a trace of its caller: W3C Trace Context, level 1. Stateless and safe
// to use from any thread.

#ifndef OPSERVE_SERVER_RECORD_TRACE_CONTEXT_H_
#define OPSERVE_SERVER_RECORD_TRACE_CONTEXT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

struct TraceContext {
  // 32 and 16 lower-case hexadecimal digits, not all of them zero.
  std::string trace_id;
  std::string parent_id;
  // Whether the caller records the trace.
  bool is_sampled = false;
};

// Reads a `traceparent`: "00-" trace id "-" parent id "-" flags, each of lower-case hexadecimal
// digits. Of later versions, all but "ff", only what version 00 has is read, as the specification
// asks for. nullopt for anything else: who sends that has no trace.
std::optional<TraceContext> ParseTraceParent(absl::string_view text);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RECORD_TRACE_CONTEXT_H_
