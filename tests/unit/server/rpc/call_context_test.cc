// Times by gRPC's clocks, also where its clock began at another time than the server's.

#include "server/rpc/call_context.h"

#include <chrono>

#include "gtest/gtest.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

gpr_timespec GrpcTime(int64_t seconds_of_it, int32_t nanoseconds = 0) {
  return {.tv_sec = seconds_of_it, .tv_nsec = nanoseconds, .clock_type = GPR_CLOCK_MONOTONIC};
}

constexpr Clock::TimePoint kNow = Clock::TimePoint(seconds(100'000));

TEST(GrpcTime, IsTheSameWhereBothClocksBeganTogether) {
  EXPECT_EQ(TimeOf(GrpcTime(100'030, 250'000'000), GrpcTime(100'000), kNow),
            kNow + seconds(30) + milliseconds(250));
}

// On Windows gRPC's clock begins with the process, and the server's with the machine.
TEST(GrpcTime, IsAsFarAwayWhereOneClockBeganLater) {
  EXPECT_EQ(TimeOf(GrpcTime(31), GrpcTime(1), kNow), kNow + seconds(30));
  EXPECT_EQ(TimeOf(GrpcTime(1, 500'000'000), GrpcTime(2), kNow), kNow - milliseconds(500));
}

TEST(GrpcTime, IsNeverWhereThereIsNoDeadline) {
  EXPECT_EQ(TimeOf(gpr_inf_future(GPR_CLOCK_MONOTONIC), GrpcTime(1), kNow), Clock::kNever);
  EXPECT_EQ(TimeOf(gpr_inf_future(GPR_CLOCK_REALTIME), GrpcTime(1), kNow), Clock::kNever);
}

TEST(GrpcTime, HasPassedWhereItIsInThePast) {
  EXPECT_LT(TimeOf(gpr_inf_past(GPR_CLOCK_MONOTONIC), GrpcTime(1), kNow), kNow);
}

}  // namespace
}  // namespace opserve
