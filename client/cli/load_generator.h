// File: client/cli/load_generator.h
//
// Calls something over and over from many threads, and measures it.

#ifndef OPSERVE_CLIENT_CLI_LOAD_GENERATOR_H_
#define OPSERVE_CLIENT_CLI_LOAD_GENERATOR_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/latency_histogram.h"

namespace opserve::cli {

struct LoadOptions {
  absl::Duration duration;
  int concurrency = 1;
  // Calls per second. 0: closed loop, each thread calls as fast as answers come. Otherwise open
  // loop: call i is due at i / rate whatever became of the others, and its latency counts from
  // then, so that a stall shows in every call that it delayed (no coordinated omission).
  double rate = 0;
};

struct LoadResult {
  LatencyHistogram latencies;  // of successful calls, in nanoseconds
  std::map<absl::StatusCode, uint64_t> errors;
  std::string first_error;   // text of one of them
  absl::Duration elapsed;    // until the last answer
  uint64_t not_started = 0;  // open loop: calls that were due, with no thread free

  uint64_t error_count() const;
};

// Runs `call`, which must be thread-safe, until the duration is over or `stop` becomes true; calls
// in progress then are waited for. `progress` is called every 100 ms with the number of calls done;
// it may set `stop`. RESOURCE_EXHAUSTED, with `stop` set, where there are not enough threads.
absl::StatusOr<LoadResult> GenerateLoad(const LoadOptions& options,
                                        const std::function<absl::Status()>& call,
                                        const std::function<void(uint64_t calls_done)>& progress,
                                        std::atomic<bool>& stop);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_LOAD_GENERATOR_H_
