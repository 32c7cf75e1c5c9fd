// File: server/d3d12/ring_allocator.h
//
// Offsets in a ring: pure arithmetic, no memory. Ranges are taken in order and given back in any
// order; space is free again once everything before it is.

#ifndef OPSERVE_SERVER_D3D12_RING_ALLOCATOR_H_
#define OPSERVE_SERVER_D3D12_RING_ALLOCATOR_H_

#include <cstdint>
#include <deque>
#include <optional>

namespace opserve::d3d12 {

// Not thread-safe.
class RingAllocator {
 public:
  // A ring of `capacity` bytes that aligns every range to `alignment`, a power of two that divides
  // the capacity.
  RingAllocator(uint64_t capacity, uint64_t alignment);

  // Takes `bytes` (at least 1) contiguous bytes and returns their offset, or nullopt if there is no
  // room now. More than capacity() never fit.
  std::optional<uint64_t> Allocate(uint64_t bytes);

  // Gives back the range at `offset`, which Allocate returned. Once per range.
  void Release(uint64_t offset);

  uint64_t capacity() const { return capacity_; }
  // Bytes that are not free: ranges, their padding, and space that waits for older ranges.
  uint64_t used() const { return used_; }

 private:
  struct Range {
    uint64_t offset;
    uint64_t bytes;  // with padding
    bool released;
  };

  // Takes `bytes` at the head.
  void Push(uint64_t bytes, bool released);

  const uint64_t capacity_;
  const uint64_t alignment_;
  uint64_t head_ = 0;  // where the next range begins
  uint64_t used_ = 0;
  std::deque<Range> ranges_;  // oldest first; those of the end of the ring that were skipped too
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RING_ALLOCATOR_H_
