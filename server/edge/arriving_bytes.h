// File: server/edge/arriving_bytes.h
//
// How many bytes the messages have that one client has begun to send.

#ifndef OPSERVE_SERVER_EDGE_ARRIVING_BYTES_H_
#define OPSERVE_SERVER_EDGE_ARRIVING_BYTES_H_

#include <atomic>
#include <cstdint>

namespace opserve {

// Those of messages that are not complete, of all connections of the client. A message counts with
// the length that it announces: whoever may send it may send all of it. Thread-safe.
class ArrivingBytes {
 public:
  // A message of so many begins, unless there would be more than `most` of them. Whether it may.
  bool Begin(uint64_t bytes, uint64_t most) { return Add(bytes_, bytes, most); }

  // So many are complete, or will not come.
  void End(uint64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t count() const { return bytes_.load(std::memory_order_relaxed); }

  // The same for what is kept beside messages until they are complete. It takes no room from those
  // that may come.
  bool Keep(uint64_t bytes, uint64_t most) { return Add(kept_, bytes, most); }
  void Drop(uint64_t bytes) { kept_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t kept() const { return kept_.load(std::memory_order_relaxed); }

 private:
  static bool Add(std::atomic<uint64_t>& to, uint64_t bytes, uint64_t most) {
    uint64_t held = to.load(std::memory_order_relaxed);
    do {
      if (held > most || bytes > most - held) return false;
    } while (!to.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
    return true;
  }

  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> kept_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_ARRIVING_BYTES_H_
