// File: server/d3d12/timeline.h
//
// The order of what a queue does: each submission gets a serial, and a serial is completed when the
// device is done with it. All waits have a limit.

#ifndef OPSERVE_SERVER_D3D12_TIMELINE_H_
#define OPSERVE_SERVER_D3D12_TIMELINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/base/mutex.h"
#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {

// UNAVAILABLE, as `why` is already or says: nobody will hear what became of the device's work.
absl::Status LostBecause(const absl::Status& why);

// A value of a fence. 0 is completed from the start.
enum class Serial : uint64_t {};

// What a timeline needs of a fence. Thread-safe.
class Fence {
 public:
  virtual ~Fence() = default;

  // A value reached; UINT64_MAX when the device is lost. May fall back for a moment: libvkd3d
  // reports submissions in the order in which it hears of their end.
  virtual uint64_t CompletedValue() = 0;
  // OK, or UNAVAILABLE with why the device is lost. Values that the fence reached because of that
  // count for nothing: it is known before they are reached.
  virtual absl::Status Loss() = 0;
  // Sets `event`, which must outlive the fence, once the fence has reached `value`.
  virtual absl::Status NotifyAt(uint64_t value, Event& event) = 0;
};

// Thread-safe.
class Timeline {
 public:
  explicit Timeline(std::unique_ptr<Fence> fence) : fence_(std::move(fence)) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // The next serial. The caller has the queue signal it, in the order of the serials.
  Serial Next() { return Serial{++last_}; }
  // The last serial that Next returned.
  Serial last() const { return Serial{last_.load()}; }

  // Whether the device is done with `serial`. False for all once the device is lost.
  bool IsCompleted(Serial serial);

  // Waits until `serial` is completed. UNAVAILABLE if the device is lost, soon after that is known;
  // DEADLINE_EXCEEDED if it takes longer than `timeout`.
  absl::Status Wait(Serial serial, std::chrono::nanoseconds timeout);

 private:
  // The highest value known to be reached; UNAVAILABLE when the device is lost.
  absl::StatusOr<uint64_t> Completed();
  void NoteCompleted(uint64_t value);
  std::unique_ptr<Event> TakeEvent();
  // Waits until the event is set; false where it is not within `timeout`, or the device is lost.
  bool WaitForEvent(Event& event, std::chrono::nanoseconds timeout);

  std::unique_ptr<Fence> fence_;
  std::atomic<uint64_t> last_ = 0;
  std::atomic<uint64_t> completed_ = 0;
  Mutex mutex_;
  // Events of finished waits, to be used again.
  std::vector<std::unique_ptr<Event>> idle_ ABSL_GUARDED_BY(mutex_);
  // Events of waits that were given up: the fence may still set them, so they live as long as it.
  std::vector<std::unique_ptr<Event>> abandoned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_TIMELINE_H_
