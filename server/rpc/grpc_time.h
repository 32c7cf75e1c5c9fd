// File: server/rpc/grpc_time.h
//
// Times by gRPC's clocks as times by the server's.

#ifndef OPSERVE_SERVER_RPC_GRPC_TIME_H_
#define OPSERVE_SERVER_RPC_GRPC_TIME_H_

#include "grpc/support/time.h"
#include "server/base/clock.h"

namespace opserve {

// `time`, by any of gRPC's clocks, as one of the server's clock; Clock::kNever where it is beyond
// that. `grpc_now`: what gRPC's GPR_CLOCK_MONOTONIC says at `now`. The two clocks need not begin at
// the same time: on Linux they do, and on Windows gRPC's begins with the process. Stateless.
Clock::TimePoint TimeOf(gpr_timespec time, gpr_timespec grpc_now, Clock::TimePoint now);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_GRPC_TIME_H_
