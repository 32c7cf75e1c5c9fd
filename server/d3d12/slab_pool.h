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
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
    // On loan, and those of them that are held.
    size_t parts = 0;
    size_t held = 0;
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

  // That a part is held: its slab cannot go. Ends when destroyed, before the part goes back.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept { *this = std::move(other); }
    Hold& operator=(Hold&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(slab_, other.slab_);
      return *this;
    }
    ~Hold() {
      if (pool_ != nullptr) pool_->EndHold(slab_);
    }

    // Whether there is such a part.
    bool is_set() const { return pool_ != nullptr; }

   private:
    friend class SlabPool;
    Hold(SlabPool* pool, typename Slabs::iterator slab) : pool_(pool), slab_(slab) {}

    SlabPool* pool_ = nullptr;
    typename Slabs::iterator slab_ = {};
  };
  struct HeldPart {
    Part part;
    Hold hold;
  };

  // What is in a slab.
  struct SlabUse {
    const void* slab = nullptr;
    uint64_t bytes = 0;
    uint64_t free_bytes = 0;
    // On loan, and those of them that are held.
    size_t parts = 0;
    size_t held = 0;
  };

  // Takes slabs from `buffers`, which must outlive the pool.
  explicit SlabPool(BufferPool<Buffer>& buffers) : buffers_(buffers) {}
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // At least `bytes` bytes of a slab that is there, or of a new one. What is more than a quarter of
  // a slab gets a buffer of its own, and so does what a whole slab is too much for. Fails as the
  // pool does. Never waits.
  absl::StatusOr<Part> Acquire(uint64_t bytes) {
    bytes = PartBytesOf(bytes);
    if (std::optional<Part> part = TakeFromSlabs(bytes)) return *std::move(part);
    absl::StatusOr<Lease> buffer = AcquireBuffer(bytes, kNoLimit);
    if (!buffer.ok()) return buffer.status();
    MutexLock lock(mutex_);
    slabs_.emplace_back(*std::move(buffer));
    return *Take(std::prev(slabs_.end()), bytes);
  }

  // The same, to be held. All slabs that have parts that are held take at most `limit` bytes, so
  // those come first; RESOURCE_EXHAUSTED where there would have to be too many.
  absl::StatusOr<HeldPart> AcquireHeld(uint64_t bytes, uint64_t limit) {
    bytes = PartBytesOf(bytes);
    if (std::optional<HeldPart> part = HoldFromSlabs(bytes, limit)) return *std::move(part);
    const uint64_t held = held_bytes();
    absl::StatusOr<Lease> buffer = AcquireBuffer(bytes, limit - std::min(limit, held));
    if (!buffer.ok()) return buffer.status();
    MutexLock lock(mutex_);
    // Others may have come first.
    if (held_bytes_ + buffer->bytes() > limit) return OverLimit(limit);
    slabs_.emplace_back(*std::move(buffer));
    return *TakeHeld(std::prev(slabs_.end()), bytes);
  }

  std::vector<SlabUse> slabs() const {
    std::vector<SlabUse> uses;
    MutexLock lock(mutex_);
    for (const Slab& slab : slabs_) {
      uses.push_back({&slab, slab.buffer.bytes(), slab.free.free_bytes(), slab.parts, slab.held});
    }
    return uses;
  }

  // Bytes of the slabs that have parts that are held.
  uint64_t held_bytes() const {
    MutexLock lock(mutex_);
    return held_bytes_;
  }

 private:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  static uint64_t PartBytesOf(uint64_t bytes) {
    return (std::max<uint64_t>(bytes, 1) + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  }

  static absl::Status OverLimit(uint64_t limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("The slabs of what is held would take more than ", limit, " bytes."));
  }

  // A buffer of at most `limit` bytes for a part of `bytes` bytes: a slab, where that may be.
  absl::StatusOr<Lease> AcquireBuffer(uint64_t bytes, uint64_t limit) {
    absl::StatusOr<Lease> buffer = OverLimit(limit);
    for (const uint64_t size : {bytes > kSlabBytes / 4 ? bytes : kSlabBytes, bytes}) {
      if (SizeClassOf(size) > limit) continue;
      buffer = buffers_.Acquire(size);
      if (!absl::IsResourceExhausted(buffer.status())) break;
    }
    return buffer;
  }

  std::optional<Part> TakeFromSlabs(uint64_t bytes) {
    MutexLock lock(mutex_);
    for (auto slab = slabs_.begin(); slab != slabs_.end(); ++slab) {
      if (std::optional<Part> part = Take(slab, bytes)) return part;
    }
    return std::nullopt;
  }

  std::optional<HeldPart> HoldFromSlabs(uint64_t bytes, uint64_t limit) {
    MutexLock lock(mutex_);
    for (const bool is_held : {true, false}) {
      for (auto slab = slabs_.begin(); slab != slabs_.end(); ++slab) {
        if ((slab->held > 0) != is_held) continue;
        if (!is_held && held_bytes_ + slab->buffer.bytes() > limit) continue;
        if (std::optional<HeldPart> part = TakeHeld(slab, bytes)) return part;
      }
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

  std::optional<HeldPart> TakeHeld(typename Slabs::iterator slab, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<Part> part = Take(slab, bytes);
    if (!part) return std::nullopt;
    if (slab->held++ == 0) held_bytes_ += slab->buffer.bytes();
    return HeldPart{*std::move(part), Hold(this, slab)};
  }

  void EndHold(typename Slabs::iterator slab) {
    MutexLock lock(mutex_);
    if (--slab->held == 0) held_bytes_ -= slab->buffer.bytes();
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
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SLAB_POOL_H_
