#include "server/kserve/infer_statistics.h"

#include <chrono>

#include "absl/time/clock.h"
#include "server/kserve/model_names.h"

namespace opserve {
namespace {

uint64_t NanosecondsOf(Clock::Duration time) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
}

void Set(inference::StatisticDuration& out, uint64_t count, uint64_t ns) {
  out.set_count(count);
  out.set_ns(ns);
}

}  // namespace

void InferStatistics::OnRequest(const RequestRecord& record,
                                const RequestSource& /*source*/) noexcept {
  if (record.work != WorkKind::kOperator) return;
  Counts& counts = counts_[static_cast<size_t>(record.op)];
  counts.last_ms = static_cast<uint64_t>(absl::ToUnixMillis(absl::Now()));
  if (record.code != absl::StatusCode::kOk) {
    ++counts.failures;
    counts.failure_ns += NanosecondsOf(record.total);
    return;
  }
  ++counts.successes;
  counts.success_ns += NanosecondsOf(record.total);
  counts.queue_ns += NanosecondsOf(record.queued);
  counts.run_ns += NanosecondsOf(record.ran);
}

void InferStatistics::Write(const OpTraits& op, inference::ModelStatistics& out) const {
  const Counts& counts = counts_[static_cast<size_t>(op.id)];
  const uint64_t successes = counts.successes;
  out.set_name(ModelNameOf(op));
  out.set_version(kModelVersion);
  out.set_last_inference(counts.last_ms);
  out.set_inference_count(successes);
  out.set_execution_count(successes);
  inference::InferStatistics& stats = *out.mutable_inference_stats();
  Set(*stats.mutable_success(), successes, counts.success_ns);
  Set(*stats.mutable_fail(), counts.failures, counts.failure_ns);
  Set(*stats.mutable_queue(), successes, counts.queue_ns);
  Set(*stats.mutable_compute_infer(), successes, counts.run_ns);
  // Inputs and results are where the operator computes, so neither takes a time of its own.
  Set(*stats.mutable_compute_input(), successes, 0);
  Set(*stats.mutable_compute_output(), successes, 0);
}

}  // namespace opserve
