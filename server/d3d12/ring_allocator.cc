#include "server/d3d12/ring_allocator.h"

#include <algorithm>
#include <cassert>

namespace opserve::d3d12 {

RingAllocator::RingAllocator(uint64_t capacity, uint64_t alignment)
    : capacity_(capacity), alignment_(alignment) {}

std::optional<uint64_t> RingAllocator::Allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > capacity_) return std::nullopt;
  const uint64_t padded = (bytes + alignment_ - 1) & ~(alignment_ - 1);
  const uint64_t to_end = capacity_ - head_;
  // A range that does not fit before the end begins at 0, and the end is skipped.
  const uint64_t skipped = padded > to_end ? to_end : 0;
  if (padded + skipped > capacity_ - used_) return std::nullopt;
  if (skipped > 0) Push(skipped, /*released=*/true);
  const uint64_t offset = head_;
  Push(padded, /*released=*/false);
  return offset;
}

void RingAllocator::Release(uint64_t offset) {
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [offset](const Range& each) {
    return each.offset == offset && !each.released;
  });
  assert(range != ranges_.end());
  if (range == ranges_.end()) return;
  range->released = true;
  while (!ranges_.empty() && ranges_.front().released) {
    used_ -= ranges_.front().bytes;
    ranges_.pop_front();
  }
  if (ranges_.empty()) head_ = 0;
}

void RingAllocator::Push(uint64_t bytes, bool released) {
  ranges_.push_back({head_, bytes, released});
  used_ += bytes;
  head_ = (head_ + bytes) % capacity_;
}

}  // namespace opserve::d3d12
