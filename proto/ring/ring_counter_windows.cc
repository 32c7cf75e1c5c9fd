// Programs on Windows share no memory with a server, so nobody waits here for long.

#include <thread>

#include "proto/ring/ring_counter.h"

namespace opserve {

void RingCounter::Publish(uint32_t count) { count_.store(count); }

uint32_t RingCounter::WaitWhile(uint32_t seen, std::chrono::microseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (count() == seen && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return count();
}

}  // namespace opserve
