// File: server/d3d12/runtime/event.h
//
// What a fence signals. Every wait has a limit. How an event is made depends on the run time that
// the folder is compiled for: event_vkd3d.cc, event_wsl.cc, event_windows.cc.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_EVENT_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_EVENT_H_

#include <chrono>
#include <memory>

namespace opserve::d3d12 {

// Thread-safe.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // False where the system had no event left to give; then nothing else may be called.
  bool is_valid() const;
  // Wakes all waiters, now and until Reset.
  void Set();
  void Reset();
  // Waits until the event is set; false if it is not within `timeout`.
  bool WaitFor(std::chrono::nanoseconds timeout);

  // The event as ID3D12Fence::SetEventOnCompletion takes it. Valid as long as the event lives.
  void* handle();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_EVENT_H_
