// File: proto/ring/ring_counter.h
//
// How the two ends of a ring of shared memory tell each other how far they are: see PayloadRing in
// proto/opserve/v1/operator_service.proto. The memory may belong to a stranger: whatever it holds,
// nothing here fails, and no wait is longer than it is told.

#ifndef OPSERVE_PROTO_RING_RING_COUNTER_H_
#define OPSERVE_PROTO_RING_RING_COUNTER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace opserve {

// A number that one process counts up and another one waits for. Lies in memory of both, zero at
// first, in a cache line of its own. Thread-safe; one thread at a time waits.
class alignas(64) RingCounter {
 public:
  // Starts anew; nobody may wait.
  void Reset() { count_.store(0, std::memory_order_relaxed); }

  // All that was written before is there for who reads `count`.
  void Publish(uint32_t count);

  // The count, with all that was written before it was published.
  uint32_t count() const { return count_.load(std::memory_order_acquire); }

  // The count once it is another one than `seen`, or after `at_most`; sometimes before, without a
  // cause. Looks on for a short time before it sleeps: the other end is usually about to publish.
  uint32_t WaitWhile(uint32_t seen, std::chrono::microseconds at_most);

 private:
  std::atomic<uint32_t> count_ = 0;
  // Whether somebody sleeps, or is about to.
  std::atomic<uint32_t> has_sleeper_ = 0;
};

// What lies in front of the payloads in the memory of a ring.
struct RingCounters {
  // Runs that the client has put there, since the call began.
  RingCounter filled;
  // Runs that the server needs no more.
  RingCounter emptied;
};

inline constexpr size_t kRingCounterBytes = 128;
static_assert(sizeof(RingCounters) == kRingCounterBytes);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// Where the payloads begin that come through a ring: each at such a multiple, the first one right
// behind the counters.
inline constexpr uint64_t kRingAlignment = 64;
constexpr uint64_t AlignForRing(uint64_t bytes) {
  return (bytes + kRingAlignment - 1) / kRingAlignment * kRingAlignment;
}

}  // namespace opserve

#endif  // OPSERVE_PROTO_RING_RING_COUNTER_H_
