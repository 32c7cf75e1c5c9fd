// File: server/d3d12/slab_pool.h
//
// Small pieces of memory out of large buffers: each buffer takes whole units of the device's
// memory, however small it is, and drivers limit how many there may be. Knows nothing of what a
// buffer is.

#ifndef OPSERVE_SERVER_D3D12_SLAB_POOL_H_
#define OPSERVE_SERVER_D3D12_SLAB_POOL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/base/mutex.h"
#include "server/d3d12/buffer_pool.h"

namespace opserve::d3d12 {

// Bytes of a slab.
inline constexpr uint64_t kSlabBytes = uint64_t{64} << 20;

// Parts begin at multiples of so many bytes, and are of as many: more than copies ask for.
inline constexpr uint64_t kPartAlignment = 256;

// The free ranges of `capacity` bytes. Gives out the first one that is large enough. Not
// thread-safe.
class FreeRanges {
 public:
  explicit FreeRanges(uint64_t capacity) : ranges_{{0, capacity}}, free_bytes_(capacity) {}

  // Where `bytes` bytes are free, which they are no more; nullopt: nowhere in one piece.
  std::optional<uint64_t> Take(uint64_t bytes) {
    const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                    [bytes](const auto& range) { return range.second >= bytes; });
    if (found == ranges_.end()) return std::nullopt;
    const auto [offset, size] = *found;
    // What throws for want of memory comes before the first change.
    if (size > bytes) ranges_.emplace_hint(found, offset + bytes, size - bytes);
    ranges_.erase(offset);
    free_bytes_ -= bytes;
    return offset;
  }

  // Gives back what Take returned.
  void GiveBack(uint64_t offset, uint64_t bytes) {
    free_bytes_ += bytes;
    const auto range = ranges_.emplace(offset, bytes).first;
    JoinNext(range);
    if (range != ranges_.begin()) JoinNext(std::prev(range));
  }

  // Bytes of all free ranges.
  uint64_t free_bytes() const { return free_bytes_; }

 private:
  // Bytes by offset; no two of them touch.
  using Ranges = std::map<uint64_t, uint64_t>;

  void JoinNext(Ranges::iterator range) {
    const auto next = std::next(range);
    if (next == ranges_.end() || range->first + range->second != next->first) return;
    range->second += next->second;
    ranges_.erase(next);
  }

  Ranges ranges_;
  uint64_t free_bytes_;
};

// Thread-safe. Buffer is that of the pool.
template <class Buffer>
class SlabPool {
  using Lease = typename BufferPool<Buffer>::Lease;

  struct Slab {
    explicit Slab(Lease lease) : buffer(std::move(lease)), free(buffer.bytes()) {}

    Lease buffer;
    FreeRanges free;
    // On loan.
    size_t parts = 0;
  };
  using Slabs = std::list<Slab>;

 public:
  // A part on loan; goes back when destroyed. The device must be done with it by then. Must not
  // outlive the pool.
  class Part {
   public:
    Part() = default;
    Part(Part&& other) noexcept { *this = std::move(other); }
    Part& operator=(Part&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(slab_, other.slab_);
      std::swap(offset_, other.offset_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Part() {
      if (pool_ != nullptr) pool_->GiveBack(slab_, offset_, bytes_);
    }

    // The buffer that the part is in, and which bytes of it; the buffer has other parts, too.
    const Buffer& buffer() const { return *slab_->buffer; }
    uint64_t offset() const { return offset_; }
    uint64_t bytes() const { return bytes_; }
    // Tells slabs apart.
    const void* slab() const { return &*slab_; }

   private:
    friend class SlabPool;
    Part(SlabPool* pool, typename Slabs::iterator slab, uint64_t offset, uint64_t bytes)
        : pool_(pool), slab_(slab), offset_(offset), bytes_(bytes) {}

    SlabPool* pool_ = nullptr;
    typename Slabs::iterator slab_ = {};
    uint64_t offset_ = 0;
    uint64_t bytes_ = 0;
  };

  // What is in a slab.
  struct SlabUse {
    const void* slab = nullptr;
    uint64_t bytes = 0;
    uint64_t free_bytes = 0;
    // On loan.
    size_t parts = 0;
  };

  // Takes slabs from `buffers`, which must outlive the pool.
  explicit SlabPool(BufferPool<Buffer>& buffers) : buffers_(buffers) {}
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // At least `bytes` bytes of a slab that is there, or of a new one. What is more than a quarter of
  // a slab gets a buffer of its own, and so does what a whole slab is too much for. Fails as the
  // pool does. Never waits.
  absl::StatusOr<Part> Acquire(uint64_t bytes) {
    bytes = (std::max<uint64_t>(bytes, 1) + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    if (std::optional<Part> part = TakeFromSlabs(bytes)) return *std::move(part);
    absl::StatusOr<Lease> buffer = buffers_.Acquire(bytes > kSlabBytes / 4 ? bytes : kSlabBytes);
    if (absl::IsResourceExhausted(buffer.status())) buffer = buffers_.Acquire(bytes);
    if (!buffer.ok()) return buffer.status();
    MutexLock lock(mutex_);
    slabs_.emplace_back(*std::move(buffer));
    return *Take(std::prev(slabs_.end()), bytes);
  }

  std::vector<SlabUse> slabs() const {
    std::vector<SlabUse> uses;
    MutexLock lock(mutex_);
    for (const Slab& slab : slabs_) {
      uses.push_back({&slab, slab.buffer.bytes(), slab.free.free_bytes(), slab.parts});
    }
    return uses;
  }

 private:
  std::optional<Part> TakeFromSlabs(uint64_t bytes) {
    MutexLock lock(mutex_);
    for (auto slab = slabs_.begin(); slab != slabs_.end(); ++slab) {
      if (std::optional<Part> part = Take(slab, bytes)) return part;
    }
    return std::nullopt;
  }

  std::optional<Part> Take(typename Slabs::iterator slab, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::optional<uint64_t> offset = slab->free.Take(bytes);
    if (!offset) return std::nullopt;
    ++slab->parts;
    return Part(this, slab, *offset, bytes);
  }

  // A slab that has no part on loan goes back.
  void GiveBack(typename Slabs::iterator slab, uint64_t offset, uint64_t bytes) {
    Slabs empty;  // destroyed after the lock
    MutexLock lock(mutex_);
    slab->free.GiveBack(offset, bytes);
    if (--slab->parts == 0) empty.splice(empty.begin(), slabs_, slab);
  }

  BufferPool<Buffer>& buffers_;
  mutable Mutex mutex_;
  Slabs slabs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SLAB_POOL_H_
