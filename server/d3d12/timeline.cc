#include "server/d3d12/timeline.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

// The value of a lost device's fence.
constexpr uint64_t kLost = std::numeric_limits<uint64_t>::max();

// How often a thread that waits looks whether the device is lost: other threads may have been told,
// and who is does not set events.
constexpr std::chrono::milliseconds kLookInterval{50};

}  // namespace

absl::Status LostBecause(const absl::Status& why) {
  if (absl::IsUnavailable(why)) return why;
  return absl::UnavailableError(absl::StrCat("The device is lost: ", why.message()));
}

Timeline::~Timeline() {
  // The fence goes before the events that it may set.
  fence_.reset();
}

absl::StatusOr<uint64_t> Timeline::Completed() {
  const uint64_t value = fence_->CompletedValue();
  // After the value, which a loss may have brought about.
  if (absl::Status loss = fence_->Loss(); !loss.ok()) return loss;
  if (value == kLost) return absl::UnavailableError("The device is lost: its fence says so.");
  NoteCompleted(value);
  return completed_.load();
}

void Timeline::NoteCompleted(uint64_t value) {
  uint64_t known = completed_;
  while (known < value && !completed_.compare_exchange_weak(known, value)) {
  }
}

bool Timeline::IsCompleted(Serial serial) {
  const absl::StatusOr<uint64_t> completed = Completed();
  return completed.ok() && *completed >= static_cast<uint64_t>(serial);
}

absl::Status Timeline::Wait(Serial serial, std::chrono::nanoseconds timeout) {
  const auto value = static_cast<uint64_t>(serial);
  absl::StatusOr<uint64_t> completed = Completed();
  if (!completed.ok()) return completed.status();
  if (*completed >= value) return absl::OkStatus();
  std::unique_ptr<Event> event = TakeEvent();
  if (!event->is_valid()) return absl::ResourceExhaustedError("The system has no event left.");
  absl::Status status = fence_->NotifyAt(value, *event);
  const bool is_set = status.ok() && WaitForEvent(*event, timeout);
  {
    MutexLock lock(mutex_);
    (is_set ? idle_ : abandoned_).push_back(std::move(event));
  }
  OPSERVE_RETURN_IF_ERROR(status);
  completed = Completed();
  if (!completed.ok()) return completed.status();
  if (is_set) NoteCompleted(value);
  if (is_set || *completed >= value) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("The device has not finished submission ", value, " within ",
                   std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), " ms."));
}

bool Timeline::WaitForEvent(Event& event, std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const std::chrono::nanoseconds left = deadline - std::chrono::steady_clock::now();
    if (event.WaitFor(std::min<std::chrono::nanoseconds>(left, kLookInterval))) return true;
    if (left <= kLookInterval || !fence_->Loss().ok()) return false;
  }
}

std::unique_ptr<Event> Timeline::TakeEvent() {
  std::unique_ptr<Event> event;
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      event = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (event == nullptr) return std::make_unique<Event>();
  event->Reset();
  return event;
}

}  // namespace opserve::d3d12
