// File: server/service/peak_watch.h
//
// When a peak of connections is over, and what it left is to be given back to the system.

#ifndef OPSERVE_SERVER_SERVICE_PEAK_WATCH_H_
#define OPSERVE_SERVER_SERVICE_PEAK_WATCH_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "server/base/clock.h"

namespace opserve {

// Judges from samples of what is open and held. The allocator keeps the pages of connections that
// have closed, in the gaps between what is in use, and would for as long as the server runs.
// Belongs to one thread.
class PeakWatch {
 public:
  // Peaks below so many connections leave too little: some tens of MiB.
  static constexpr size_t kLeastPeak = 1000;
  // A peak is over when at most one of so many connections is left.
  static constexpr size_t kFall = 4;
  // How long the server must have been at rest: gRPC is not done with connections at once.
  static constexpr std::chrono::seconds kRest{5};
  // The least time between two ends of peaks.
  static constexpr std::chrono::seconds kPause{60};

  // So many connections were open at once since the last sample.
  void NotePeak(size_t connections) { most_ = std::max(most_, connections); }

  // Takes the next sample, at `now`: open connections, and requests that are not yet answered.
  // Returns whether a peak is over and the server at rest: nothing is asked of it, and connections
  // neither come nor go, for kRest. The next peak begins with those that are open then.
  bool Sample(size_t connections, size_t requests, Clock::TimePoint now);

 private:
  size_t peak_ = 0;
  size_t last_connections_ = 0;
  size_t most_ = 0;  // since the last sample
  // When the server was last seen not to be at rest.
  Clock::TimePoint rest_begin_ = Clock::TimePoint::min();
  Clock::TimePoint next_end_ = Clock::TimePoint::min();
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_PEAK_WATCH_H_
