// Events for WSL's Direct3D 12, whose event handles are the numbers of eventfd files.

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "server/d3d12/runtime/event.h"

namespace opserve::d3d12 {

struct Event::State {
  int file = -1;
};

// Not blocking, so that Reset of an event that is not set returns.
Event::Event() : state_(std::make_unique<State>(State{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)})) {}

Event::~Event() {
  if (is_valid()) close(state_->file);
}

bool Event::is_valid() const { return state_->file >= 0; }

// Fails only where the counter is full: then it is set.
void Event::Set() { static_cast<void>(eventfd_write(state_->file, 1)); }

// Fails only where the counter is 0: then it is reset.
void Event::Reset() {
  eventfd_t count = 0;
  static_cast<void>(eventfd_read(state_->file, &count));
}

bool Event::WaitFor(std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  pollfd waiting{state_->file, POLLIN, 0};
  while (true) {
    const auto left = std::max(deadline - std::chrono::steady_clock::now(),
                               std::chrono::steady_clock::duration::zero());
    const timespec limit{std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                         (left % std::chrono::seconds(1)).count()};
    const int ready = ppoll(&waiting, 1, &limit, nullptr);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

void* Event::handle() {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is what the run time wants.
  return reinterpret_cast<void*>(static_cast<intptr_t>(state_->file));
}

}  // namespace opserve::d3d12
