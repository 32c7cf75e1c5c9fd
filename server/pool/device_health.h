// File: server/pool/device_health.h
//
// The state of one device as a pure state machine: it is told what happens and when, and says what
// to do. No thread, lock or clock.
//
//              run failed              lost, or failed again      back-off over
//   kReady ----------------> kSuspect ------------------> kLost ----------------> kRecreating
//     ^  ^------- run succeeded -'                          ^------ failed ------'     |
//     |                                                                                |
//     +------------------- made anew, and the self-test passed ------------------------+
//
// Wrong results in numbers lead from kReady or kSuspect to kQuarantined, which is left like kLost:
// after a back-off, through kRecreating and the self-test.

#ifndef OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_
#define OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "server/clock.h"

namespace opserve {

enum class DeviceState : uint8_t {
  kReady,        // takes jobs
  kSuspect,      // takes jobs; its last run failed
  kLost,         // takes none; will be made anew
  kRecreating,   // is being made and tested
  kQuarantined,  // takes none; its results were wrong
};

struct HealthOptions {
  // Failed runs in a row that make a device lost.
  int max_faults = 3;
  // Wrong results since it was last made that put a device into quarantine.
  int max_mismatches = 1;
  // Time from loss to the first attempt to make it anew; doubles up to the second after each failed
  // attempt. A device that has worked for `max_backoff` starts over with `min_backoff`.
  Clock::Duration min_backoff = std::chrono::seconds(1);
  Clock::Duration max_backoff = std::chrono::seconds(60);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_
