#include "server/d3d12/timeline.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

constexpr uint64_t kLost = std::numeric_limits<uint64_t>::max();

absl::Status Lost() { return absl::UnavailableError("The device is lost: its fence says so."); }

}  // namespace

Timeline::~Timeline() {
  // The fence goes before the events that it may set.
  fence_.reset();
}

uint64_t Timeline::Completed() {
  const uint64_t value = fence_->CompletedValue();
  if (value == kLost) return kLost;
  NoteCompleted(value);
  return completed_;
}

void Timeline::NoteCompleted(uint64_t value) {
  uint64_t known = completed_;
  while (known < value && !completed_.compare_exchange_weak(known, value)) {
  }
}

bool Timeline::IsCompleted(Serial serial) {
  const uint64_t completed = Completed();
  return completed != kLost && completed >= static_cast<uint64_t>(serial);
}

absl::Status Timeline::Wait(Serial serial, std::chrono::nanoseconds timeout) {
  const auto value = static_cast<uint64_t>(serial);
  if (const uint64_t completed = Completed(); completed >= value) {
    return completed == kLost ? Lost() : absl::OkStatus();
  }
  std::unique_ptr<Event> event = TakeEvent();
  if (!event->is_valid()) return absl::ResourceExhaustedError("The system has no event left.");
  absl::Status status = fence_->NotifyAt(value, *event);
  const bool is_set = status.ok() && event->WaitFor(timeout);
  {
    MutexLock lock(mutex_);
    (is_set ? idle_ : abandoned_).push_back(std::move(event));
  }
  OPSERVE_RETURN_IF_ERROR(status);
  if (is_set) NoteCompleted(value);
  const uint64_t completed = Completed();
  if (completed == kLost) return Lost();
  if (completed >= value) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("The device has not finished submission ", value, " within ",
                   std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), " ms."));
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
