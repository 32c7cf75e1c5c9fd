// Events for Windows: its own.

#include <algorithm>

#include "server/d3d12/runtime/api.h"
#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {

struct Event::State {
  HANDLE handle = nullptr;
};

Event::Event()
    : state_(std::make_unique<State>(
          State{CreateEventW(nullptr, /*bManualReset=*/TRUE, /*bInitialState=*/FALSE, nullptr)})) {}

Event::~Event() {
  if (is_valid()) CloseHandle(state_->handle);
}

bool Event::is_valid() const { return state_->handle != nullptr; }

void Event::Set() { SetEvent(state_->handle); }

void Event::Reset() { ResetEvent(state_->handle); }

bool Event::WaitFor(std::chrono::nanoseconds timeout) {
  // Whole milliseconds, upwards; the largest number would mean for ever.
  const auto limit =
      std::clamp(std::chrono::ceil<std::chrono::milliseconds>(timeout),
                 std::chrono::milliseconds(0), std::chrono::milliseconds(INFINITE - 1));
  return WaitForSingleObject(state_->handle, static_cast<DWORD>(limit.count())) == WAIT_OBJECT_0;
}

void* Event::handle() { return state_->handle; }

}  // namespace opserve::d3d12
