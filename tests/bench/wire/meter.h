// File: tests/bench/wire/meter.h
//
// Measures calls over a fixed time: rate, latency, and what client and server used meanwhile.

#ifndef OPSERVE_TESTS_BENCH_WIRE_METER_H_
#define OPSERVE_TESTS_BENCH_WIRE_METER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>

#include "client/cli/latency_histogram.h"

namespace opserve::wire_bench {

using SteadyClock = std::chrono::steady_clock;

// What was measured.
struct Measurement {
  uint64_t calls = 0;
  double seconds = 0;             // from the beginning to the last answer
  cli::LatencyHistogram latency;  // nanoseconds
  double client_cpu_s = 0;
  double server_cpu_s = 0;          // 0 without a server's process id
  uint64_t server_peak_bytes = 0;   // 0 without a server's process id
  uint64_t server_page_faults = 0;  // minor ones; 0 without a server's process id
};

// Not thread-safe.
class Meter {
 public:
  // Calls that end within `warm_up` are not counted, those of the following `duration` are; both
  // last for at least `least_calls`. `server`: a process whose use is measured too; 0: none.
  Meter(std::chrono::duration<double> warm_up, std::chrono::duration<double> duration,
        uint64_t least_calls, pid_t server);

  // Takes note of a call that took from `began` to `ended`. Returns false once enough was measured.
  bool Done(SteadyClock::time_point began, SteadyClock::time_point ended);

  const Measurement& result() const { return result_; }

 private:
  void Begin(SteadyClock::time_point now);
  void End(SteadyClock::time_point now);

  enum class Phase { kWarmUp, kMeasure, kOver };

  const std::chrono::duration<double> duration_;
  const uint64_t least_calls_;
  const pid_t server_;
  Phase phase_ = Phase::kWarmUp;
  uint64_t warm_calls_ = 0;
  SteadyClock::time_point begin_;  // when the warm-up ends, and then when it did
  double client_cpu_s_ = 0;        // at the beginning
  double server_cpu_s_ = 0;
  uint64_t server_page_faults_ = 0;
  Measurement result_;
};

// Most resident bytes of a process since ForgetPeak, or what it has now; 0 if it cannot be read.
uint64_t PeakBytes(pid_t process);
uint64_t ResidentBytes(pid_t process);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_METER_H_
