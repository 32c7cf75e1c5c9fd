#include "server/rpc/grpc_time.h"

#include <chrono>

namespace opserve {

Clock::TimePoint TimeOf(gpr_timespec time, gpr_timespec grpc_now, Clock::TimePoint now) {
  const gpr_timespec monotonic = gpr_convert_clock_type(time, GPR_CLOCK_MONOTONIC);
  const gpr_timespec left = gpr_time_sub(monotonic, grpc_now);
  const auto most = std::chrono::duration_cast<std::chrono::seconds>(Clock::kNever - now);
  if (left.tv_sec >= most.count()) return Clock::kNever;
  // What has passed for long has passed.
  if (left.tv_sec <= -most.count()) return Clock::TimePoint::min();
  return now + std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

}  // namespace opserve
