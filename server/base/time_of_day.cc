#include "server/base/time_of_day.h"

#include <chrono>

#include "absl/time/clock.h"

namespace opserve {
namespace {

constexpr std::chrono::milliseconds kTrust{10};

// When the system was asked, by both clocks.
struct Asked {
  Clock::TimePoint moment = Clock::TimePoint::min();
  absl::Time time;
};

}  // namespace

absl::Time TimeOfDay(Clock::TimePoint moment) {
  thread_local Asked last;
  if (moment < last.moment || moment >= last.moment + kTrust) last = {moment, absl::Now()};
  return last.time + absl::FromChrono(moment - last.moment);
}

}  // namespace opserve
