// File: server/base/time_of_day.h
//
// Moments of the monotonic clock as times of day.

#ifndef OPSERVE_SERVER_BASE_TIME_OF_DAY_H_
#define OPSERVE_SERVER_BASE_TIME_OF_DAY_H_

#include "absl/time/time.h"
#include "server/base/clock.h"

namespace opserve {

// The time of day at `moment`, which SteadyClock() told just now. The calling thread asks the
// system for it once in 10 ms, and else counts on: whoever has a moment needs no second clock. A
// time of day that somebody sets anew is noticed after as long. Safe to use from any thread.
absl::Time TimeOfDay(Clock::TimePoint moment);

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_TIME_OF_DAY_H_
