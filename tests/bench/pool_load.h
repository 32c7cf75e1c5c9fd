// File: tests/bench/pool_load.h
//
// Closed-loop clients of a DevicePool, in process: what the pool does, without the wire.

#ifndef OPSERVE_TESTS_BENCH_POOL_LOAD_H_
#define OPSERVE_TESTS_BENCH_POOL_LOAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "server/pool/device_pool.h"

namespace opserve::bench {

// What every client asks for, again and again.
struct Load {
  std::shared_ptr<const Invocation> call;
  int clients = 1;
  Placement placement = Placement::kAuto;
  std::chrono::milliseconds warm_up{300};
  std::chrono::milliseconds duration{1000};
};

// What came of it.
struct LoadFigures {
  double calls_per_s = 0;
  double p50_us = 0;
  double p99_us = 0;
  uint64_t refused = 0;
  // Mean number of requests per run, over answers.
  double mean_batch = 0;
  // Answers by device.
  std::map<std::string, uint64_t> devices;
};

// Runs the load to its end.
LoadFigures RunLoad(DevicePool& pool, const Load& load);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_POOL_LOAD_H_
