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
// kStarting is what kRecreating is, for a device that is to be made for the first time.
//
// Wrong results in numbers lead from kReady or kSuspect to kQuarantined, which is left like kLost:
// after a back-off, through kRecreating and the self-test.

#ifndef OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_
#define OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "server/base/clock.h"

namespace opserve {

enum class DeviceState : uint8_t {
  kReady,        // takes jobs
  kSuspect,      // takes jobs; its last run failed
  kLost,         // takes none; will be made anew
  kRecreating,   // is being made and tested
  kQuarantined,  // takes none; its results were wrong
  kStarting,     // has not been made and tested yet
  kSetAside,     // takes none, whatever else is true of it; never the state of a DeviceHealth
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

// Whether a device in this state takes jobs.
constexpr bool TakesJobs(DeviceState state) {
  return state == DeviceState::kReady || state == DeviceState::kSuspect;
}

// "ready", "suspect", "lost", "recreating", "quarantined", "starting", "set aside".
absl::string_view NameOf(DeviceState state);

// Not thread-safe. Starts as kStarting, with the first attempt to make the device due at once.
// Events that do not fit the state, such as a late failure of a device that is lost already, change
// nothing.
class DeviceHealth {
 public:
  explicit DeviceHealth(const HealthOptions& options);

  // A run succeeded.
  void OnSuccess();
  // A run failed, the device may still work.
  void OnFault(Clock::TimePoint now, absl::string_view why);
  // The device said that it is lost.
  void OnLost(Clock::TimePoint now, absl::string_view why);
  // A result was wrong.
  void OnMismatch(Clock::TimePoint now, absl::string_view why);
  // The back-off is over, the device is being made, anew or for the first time.
  void OnRecreateStarted();
  // It was made, and passed the self-test.
  void OnRecreated(Clock::TimePoint now);
  // It could not be made.
  void OnRecreateFailed(Clock::TimePoint now, absl::string_view why);
  // It failed the self-test, while it was made or while it served.
  void OnSelfTestFailed(Clock::TimePoint now, absl::string_view why);

  DeviceState state() const { return state_; }
  // Why it is in a state other than kReady; empty otherwise.
  const std::string& reason() const { return reason_; }
  bool takes_jobs() const { return TakesJobs(state_); }
  // When it is to be made; kNever in states that are not left in that way.
  Clock::TimePoint next_attempt() const { return next_attempt_; }

 private:
  bool is_being_made() const {
    return state_ == DeviceState::kStarting || state_ == DeviceState::kRecreating;
  }
  void GoDown(DeviceState state, Clock::TimePoint now, absl::string_view why);

  HealthOptions options_;
  DeviceState state_ = DeviceState::kStarting;
  std::string reason_ = "not ready yet";
  Clock::TimePoint next_attempt_ = {};
  Clock::Duration next_backoff_;
  Clock::TimePoint ready_since_ = {};
  int faults_ = 0;
  int mismatches_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_DEVICE_HEALTH_H_
