// File: server/metrics/process_status.h
//
// What the operating system tells of this process.

#ifndef OPSERVE_SERVER_METRICS_PROCESS_STATUS_H_
#define OPSERVE_SERVER_METRICS_PROCESS_STATUS_H_

#include <cstdint>

namespace opserve {

struct ProcessStatus {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
  uint64_t threads = 0;
  // In seconds since 1970.
  double start_time = 0;
};

// As it is now; what cannot be read stays 0. Counts all descriptors, so it takes time where there
// are many. Thread-safe.
ProcessStatus ReadProcessStatus();

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_PROCESS_STATUS_H_
