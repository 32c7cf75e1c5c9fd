// File: server/batch/batch_policy.h
//
// When a device starts a batch, and how large. A pure function: no thread, clock or lock.

#ifndef OPSERVE_SERVER_BATCH_BATCH_POLICY_H_
#define OPSERVE_SERVER_BATCH_BATCH_POLICY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/base/clock.h"

namespace opserve {

struct BatchLimits {
  // Most requests of a batch, at least 1.
  size_t max_requests = 256;
  // Most bytes of inputs and outputs of a batch; a larger request goes alone.
  uint64_t max_bytes = uint64_t{64} << 20;
  // Longest that a busy device lets a request wait for company.
  Clock::Duration max_delay = std::chrono::microseconds(500);
  // Batches that a device works on at a time: while one runs, the next is prepared.
  int max_in_flight = 2;
  // Weight of a client's share, above 0, by its identity, or of a name within its identity's share,
  // by both ("10.0.0.7/runner-3"); for others JobTraits::weight and 1. A client of weight 3 gets
  // three times the bytes of one of weight 1 while both have requests waiting.
  absl::flat_hash_map<std::string, double> client_weights = {};
};

// A request that may be part of the next batch.
struct BatchCandidate {
  uint64_t bytes = 0;
  Clock::TimePoint queued = {};
  Clock::TimePoint deadline = Clock::kNever;
};

struct BatchDecision {
  // Candidates to take from the front; 0: none yet.
  size_t take = 0;
  // When to decide again if nothing else happens before; kNever: only when something does.
  Clock::TimePoint wake_at = Clock::kNever;
};

// Decides about `candidates`: requests of one lane, none past its deadline, in the order in which
// they are to go. `in_flight`: batches that the device works on now.
//
// An idle device starts at once. A device with max_in_flight batches takes none. In between it
// gathers, until the candidates fill a batch, or one has waited for max_delay, or one would come
// within max_delay of its deadline.
BatchDecision DecideBatch(Clock::TimePoint now, std::span<const BatchCandidate> candidates,
                          int in_flight, const BatchLimits& limits);

}  // namespace opserve

#endif  // OPSERVE_SERVER_BATCH_BATCH_POLICY_H_
