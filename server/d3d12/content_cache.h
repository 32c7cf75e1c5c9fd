// File: server/d3d12/content_cache.h
//
// Contents of tensors that a device keeps in its own memory, beside the buffers of submissions.
// Knows nothing of what a buffer is.

#ifndef OPSERVE_SERVER_D3D12_CONTENT_CACHE_H_
#define OPSERVE_SERVER_D3D12_CONTENT_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/tensor_bytes.h"
#include "proto/base/mutex.h"
#include "server/d3d12/buffer_pool.h"

namespace opserve::d3d12 {

// Copies by the id of their content, in what the pool's budget leaves: where that is too little,
// the least recently used copies are dropped that nobody has a share of. Thread-safe. Buffer is
// that of the pool.
template <class Buffer>
class ContentCache {
 public:
  using Lease = typename BufferPool<Buffer>::Lease;

  // The first `bytes` bytes of a buffer.
  struct Copy {
    Lease buffer;
    uint64_t bytes = 0;
  };
  // A copy is not dropped while someone has a share of it.
  using Share = std::shared_ptr<Copy>;

  // `buffers` must outlive the cache.
  explicit ContentCache(BufferPool<Buffer>& buffers) : buffers_(buffers) {}

  // A buffer of the pool. Fails as the pool does, once no copy can make room any more.
  absl::StatusOr<Lease> Acquire(uint64_t bytes) {
    absl::StatusOr<Lease> lease = buffers_.Acquire(bytes);
    if (!absl::IsResourceExhausted(lease.status()) || !CanMakeRoom(SizeClassOf(bytes))) {
      return lease;
    }
    while (absl::IsResourceExhausted(lease.status()) && DropOldest()) {
      lease = buffers_.Acquire(bytes);
    }
    return lease;
  }

  // Room for a copy that is not kept yet; nullptr where there is none.
  Share Prepare(uint64_t bytes) {
    absl::StatusOr<Lease> lease = Acquire(bytes);
    if (!lease.ok()) return nullptr;
    return std::make_shared<Copy>(Copy{*std::move(lease), bytes});
  }

  // Keeps `copy`, which holds the first bytes of `content`, unless a longer one is kept.
  void Keep(ContentId content, Share copy) {
    MutexLock lock(mutex_);
    if (const auto found = by_content_.find(content); found != by_content_.end()) {
      // What is dropped is destroyed by the caller, after the lock.
      if (found->second->copy->bytes < copy->bytes) {
        bytes_ += copy->buffer.bytes() - found->second->copy->buffer.bytes();
        std::swap(found->second->copy, copy);
      }
      return;
    }
    const uint64_t bytes = copy->buffer.bytes();
    // Whatever throws for want of memory comes before the first change.
    std::list<Entry> added;
    added.push_front({content, std::move(copy)});
    by_content_.emplace(content, added.begin());
    entries_.splice(entries_.begin(), added);
    bytes_ += bytes;
  }

  // The copy of at least the first `bytes` bytes of `content`; nullptr: none is kept.
  Share Find(ContentId content, uint64_t bytes) {
    MutexLock lock(mutex_);
    const auto found = by_content_.find(content);
    if (found == by_content_.end() || found->second->copy->bytes < bytes) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->copy;
  }

  // Forgets the copy of a content that is not worth its memory, if there is one.
  void Drop(ContentId content) {
    Share dropped;  // destroyed after the lock
    MutexLock lock(mutex_);
    if (const auto found = by_content_.find(content); found != by_content_.end()) {
      dropped = Remove(found->second);
    }
  }

  // Bytes of the buffers of all copies.
  uint64_t bytes() const {
    MutexLock lock(mutex_);
    return bytes_;
  }
  // Copies that were dropped to make room, so far.
  uint64_t evictions() const {
    MutexLock lock(mutex_);
    return evictions_;
  }

 private:
  struct Entry {
    ContentId content;
    Share copy;
  };

  // Shares are taken under the lock alone, so the last one cannot become two.
  static bool IsUnused(const Entry& entry) { return entry.copy.use_count() == 1; }

  // Whether there are `size` bytes without the copies that may be dropped. Dropping them for
  // nothing would only cost their upload.
  bool CanMakeRoom(uint64_t size) const {
    uint64_t room = buffers_.room();
    MutexLock lock(mutex_);
    for (const Entry& entry : entries_) {
      if (IsUnused(entry)) room += entry.copy->buffer.bytes();
    }
    return size <= room;
  }

  // False if none may be dropped.
  bool DropOldest() {
    Share dropped;  // destroyed after the lock
    MutexLock lock(mutex_);
    for (auto entry = entries_.end(); entry != entries_.begin();) {
      if (!IsUnused(*--entry)) continue;
      dropped = Remove(entry);
      ++evictions_;
      return true;
    }
    return false;
  }

  Share Remove(typename std::list<Entry>::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Share copy = std::move(entry->copy);
    bytes_ -= copy->buffer.bytes();
    by_content_.erase(entry->content);
    entries_.erase(entry);
    return copy;
  }

  BufferPool<Buffer>& buffers_;
  mutable Mutex mutex_;
  // The most recently used first.
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<ContentId, typename std::list<Entry>::iterator> by_content_
      ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_CONTENT_CACHE_H_
