#include "server/batch/batch_policy.h"

#include <algorithm>

namespace opserve {
namespace {

// How many of the candidates fit into a batch. The first always does.
size_t CountFitting(std::span<const BatchCandidate> candidates, const BatchLimits& limits) {
  uint64_t room = limits.max_bytes;
  size_t fitting = 0;
  for (const BatchCandidate& candidate : candidates) {
    if (fitting == limits.max_requests) break;
    if (candidate.bytes > room && fitting > 0) break;
    room -= std::min(room, candidate.bytes);
    ++fitting;
  }
  return fitting;
}

// Whether no further request would fit beside `batch`.
bool IsFull(std::span<const BatchCandidate> batch, const BatchLimits& limits) {
  uint64_t bytes = 0;
  for (const BatchCandidate& candidate : batch) bytes += candidate.bytes;
  return batch.size() >= limits.max_requests || bytes >= limits.max_bytes;
}

// Until when a busy device may let the candidate wait.
Clock::TimePoint PatienceEnd(const BatchCandidate& candidate, Clock::Duration max_delay) {
  const bool is_endless = max_delay > Clock::kNever - candidate.queued;
  const Clock::TimePoint waited = is_endless ? Clock::kNever : candidate.queued + max_delay;
  if (candidate.deadline == Clock::kNever) return waited;
  return std::min<Clock::TimePoint>(waited, candidate.deadline - max_delay);
}

}  // namespace

BatchDecision DecideBatch(Clock::TimePoint now, std::span<const BatchCandidate> candidates,
                          int in_flight, const BatchLimits& limits) {
  if (candidates.empty() || in_flight >= limits.max_in_flight) return {};
  const size_t fitting = CountFitting(candidates, limits);
  const BatchDecision go = {.take = fitting};
  const std::span<const BatchCandidate> batch = candidates.first(fitting);
  if (in_flight <= 0 || fitting < candidates.size() || IsFull(batch, limits)) return go;
  Clock::TimePoint wake_at = Clock::kNever;
  for (const BatchCandidate& candidate : batch) {
    wake_at = std::min(wake_at, PatienceEnd(candidate, limits.max_delay));
  }
  if (wake_at <= now) return go;
  return {.take = 0, .wake_at = wake_at};
}

}  // namespace opserve
