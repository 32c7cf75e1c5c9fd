#include "server/pool/device_health.h"

#include <algorithm>

namespace opserve {

absl::string_view NameOf(DeviceState state) {
  switch (state) {
    case DeviceState::kReady:
      return "ready";
    case DeviceState::kSuspect:
      return "suspect";
    case DeviceState::kLost:
      return "lost";
    case DeviceState::kRecreating:
      return "recreating";
    case DeviceState::kQuarantined:
      return "quarantined";
    case DeviceState::kStarting:
      return "starting";
    case DeviceState::kSetAside:
      return "set aside";
  }
  return "unknown";
}

DeviceHealth::DeviceHealth(const HealthOptions& options)
    : options_(options), next_backoff_(options.min_backoff) {}

void DeviceHealth::OnSuccess() {
  if (!takes_jobs()) return;
  state_ = DeviceState::kReady;
  faults_ = 0;
  reason_.clear();
}

void DeviceHealth::OnFault(Clock::TimePoint now, absl::string_view why) {
  if (!takes_jobs()) return;
  ++faults_;
  if (faults_ >= options_.max_faults) {
    GoDown(DeviceState::kLost, now, why);
    return;
  }
  state_ = DeviceState::kSuspect;
  reason_ = std::string(why);
}

void DeviceHealth::OnLost(Clock::TimePoint now, absl::string_view why) {
  if (takes_jobs()) GoDown(DeviceState::kLost, now, why);
}

void DeviceHealth::OnMismatch(Clock::TimePoint now, absl::string_view why) {
  if (!takes_jobs()) return;
  ++mismatches_;
  if (mismatches_ >= options_.max_mismatches) GoDown(DeviceState::kQuarantined, now, why);
}

void DeviceHealth::OnRecreateStarted() {
  if (takes_jobs()) return;
  // The reason stays: it tells why the device is being made anew.
  if (state_ != DeviceState::kStarting) state_ = DeviceState::kRecreating;
  next_attempt_ = Clock::kNever;
}

void DeviceHealth::OnRecreated(Clock::TimePoint now) {
  if (!is_being_made()) return;
  state_ = DeviceState::kReady;
  next_attempt_ = Clock::kNever;
  reason_.clear();
  ready_since_ = now;
  faults_ = 0;
  mismatches_ = 0;
}

void DeviceHealth::OnRecreateFailed(Clock::TimePoint now, absl::string_view why) {
  if (is_being_made()) GoDown(DeviceState::kLost, now, why);
}

void DeviceHealth::OnSelfTestFailed(Clock::TimePoint now, absl::string_view why) {
  if (takes_jobs() || is_being_made()) GoDown(DeviceState::kQuarantined, now, why);
}

void DeviceHealth::GoDown(DeviceState state, Clock::TimePoint now, absl::string_view why) {
  if (takes_jobs() && now - ready_since_ >= options_.max_backoff) {
    next_backoff_ = options_.min_backoff;
  }
  state_ = state;
  reason_ = std::string(why);
  next_attempt_ = now + next_backoff_;
  next_backoff_ = std::min(2 * next_backoff_, options_.max_backoff);
}

}  // namespace opserve
