// File: server/d3d12/buffer_pool.h
//
// Buffers that are used again, in classes of similar sizes, within a budget of bytes. Knows nothing
// of what a buffer is.

#ifndef OPSERVE_SERVER_D3D12_BUFFER_POOL_H_
#define OPSERVE_SERVER_D3D12_BUFFER_POOL_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"

namespace opserve::d3d12 {

// A device gives a buffer memory in units of so many bytes, however few it asks for:
// D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT. The least class is one unit.
inline constexpr uint64_t kMinBufferBytes = 65536;

// The size of the buffers that serve requests for `bytes` bytes, which is what they cost: four
// classes per power of two, of whole units, so that beyond what the units take at most a fifth is
// wasted.
constexpr uint64_t SizeClassOf(uint64_t bytes) {
  if (bytes <= kMinBufferBytes) return kMinBufferBytes;
  const uint64_t step = std::max(std::bit_floor(bytes - 1) / 4, kMinBufferBytes);
  return (bytes + step - 1) / step * step;
}

// Thread-safe. Buffer is a movable handle that frees its buffer when destroyed.
template <class Buffer>
class BufferPool {
 public:
  using Create = std::function<absl::StatusOr<Buffer>(uint64_t bytes)>;

  // A buffer on loan, at least as large as asked for; goes back when destroyed. The device must be
  // done with it by then. Must not outlive the pool.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(bytes_, other.bytes_);
      std::swap(buffer_, other.buffer_);
      return *this;
    }
    ~Lease() {
      if (pool_ != nullptr) pool_->GiveBack(bytes_, std::move(buffer_));
    }

    Buffer& operator*() { return buffer_; }
    Buffer* operator->() { return std::addressof(buffer_); }
    // Bytes of the buffer.
    uint64_t bytes() const { return bytes_; }

   private:
    friend class BufferPool;
    Lease(BufferPool* pool, uint64_t bytes, Buffer buffer)
        : pool_(pool), bytes_(bytes), buffer_(std::move(buffer)) {}

    BufferPool* pool_ = nullptr;
    uint64_t bytes_ = 0;
    Buffer buffer_ = {};
  };

  // Keeps at most `budget` bytes of buffers, on loan or idle.
  BufferPool(uint64_t budget, Create create) : create_(std::move(create)), budget_(budget) {}

  // From now on it is `budget` bytes. Idle buffers that exceed it are given up; those on loan stay.
  void SetBudget(uint64_t budget) {
    std::vector<Buffer> dropped;  // destroyed after the lock
    MutexLock lock(mutex_);
    budget_ = budget;
    Trim(0, dropped);
  }

  // An idle buffer, or a new one, for which idle ones of other sizes make room. RESOURCE_EXHAUSTED
  // where the budget does not allow it, else the error of `create`; where that is short of memory,
  // idle buffers are given up for whoever tries again. Never waits.
  absl::StatusOr<Lease> Acquire(uint64_t bytes) {
    const uint64_t size = SizeClassOf(bytes);
    std::vector<Buffer> dropped;  // destroyed outside the lock
    {
      MutexLock lock(mutex_);
      if (auto idle = idle_.find(size); idle != idle_.end()) {
        Buffer buffer = std::move(idle->second);
        idle_.erase(idle);
        return Lease(this, size, std::move(buffer));
      }
      if (!MakeRoom(size, dropped)) return OverBudget(size);
      total_ += size;
    }
    dropped.clear();
    absl::StatusOr<Buffer> buffer = create_(size);
    if (buffer.ok()) return Lease(this, size, *std::move(buffer));
    MutexLock lock(mutex_);
    total_ -= size;
    if (absl::IsResourceExhausted(buffer.status())) DropIdle(dropped);
    return buffer.status();
  }

  // Bytes of all buffers, on loan or idle.
  uint64_t total_bytes() const {
    MutexLock lock(mutex_);
    return total_;
  }
  uint64_t budget() const {
    MutexLock lock(mutex_);
    return budget_;
  }
  // Whether the buffers take more than the budget, which was larger when they were made.
  bool is_over_budget() const {
    MutexLock lock(mutex_);
    return total_ > budget_;
  }
  // Bytes of the budget that are not on loan.
  uint64_t room() const {
    MutexLock lock(mutex_);
    return Room();
  }

 private:
  uint64_t Room() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    uint64_t on_loan = total_;
    for (const auto& [size, buffer] : idle_) on_loan -= size;
    return budget_ - std::min(budget_, on_loan);
  }

  // Drops idle buffers until `size` bytes fit. False, and none is dropped, if they never will.
  bool MakeRoom(uint64_t size, std::vector<Buffer>& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (size > Room()) return false;
    Trim(size, dropped);
    return true;
  }

  // Drops idle buffers, the largest first, until `size` bytes fit or there are none.
  void Trim(uint64_t size, std::vector<Buffer>& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (total_ + size > budget_ && !idle_.empty()) {
      const auto largest = std::prev(idle_.end());
      total_ -= largest->first;
      dropped.push_back(std::move(largest->second));
      idle_.erase(largest);
    }
  }

  void DropIdle(std::vector<Buffer>& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto& [size, buffer] : idle_) {
      total_ -= size;
      dropped.push_back(std::move(buffer));
    }
    idle_.clear();
  }

  absl::Status OverBudget(uint64_t size) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("A buffer of ", size, " bytes exceeds what is left of the device's budget (",
                     budget_, " bytes)."));
  }

  // `buffer` is destroyed after the lock where it is not kept.
  void GiveBack(uint64_t size, Buffer buffer) {
    MutexLock lock(mutex_);
    if (total_ > budget_) {
      total_ -= size;
    } else {
      idle_.emplace(size, std::move(buffer));
    }
  }

  const Create create_;
  mutable Mutex mutex_;
  uint64_t budget_ ABSL_GUARDED_BY(mutex_);
  std::multimap<uint64_t, Buffer> idle_ ABSL_GUARDED_BY(mutex_);
  uint64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_BUFFER_POOL_H_
