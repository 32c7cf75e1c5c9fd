// File: server/d3d12/destroy_when_idle.h
//
// Destroys objects that a device may still use, as soon as it does not.

#ifndef OPSERVE_SERVER_D3D12_DESTROY_WHEN_IDLE_H_
#define OPSERVE_SERVER_D3D12_DESTROY_WHEN_IDLE_H_

#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "proto/base/named_thread.h"
#include "server/d3d12/intended_leak.h"
#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {

// Has a thread of its own call `wait_until_idle` with the object, and destroy it where that returns
// true.
// Returns when that is done, or after `patience`; then the thread goes on alone. Never destroys the
// object where `wait_until_idle` returns false or never, or the system has no thread left.
template <class T, class WaitUntilIdle>
void DestroyWhenIdle(std::unique_ptr<T> object, WaitUntilIdle wait_until_idle,
                     std::chrono::nanoseconds patience) {
  const auto is_done = std::make_shared<Event>();
  const auto destroy = [raw = object.get(), wait = std::move(wait_until_idle), is_done] {
    std::unique_ptr<T> held(raw);
    if (wait(*held)) {
      held = nullptr;
    } else {
      LeakOnPurpose(std::move(held));
    }
    if (is_done->is_valid()) is_done->Set();
  };
  try {
    StartThread("lost-device", destroy).detach();
  } catch (const std::system_error&) {
    return LeakOnPurpose(std::move(object));
  }
  static_cast<void>(object.release());
  if (is_done->is_valid()) is_done->WaitFor(patience);
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_DESTROY_WHEN_IDLE_H_
