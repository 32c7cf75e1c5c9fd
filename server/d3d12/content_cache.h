// File: server/d3d12/content_cache.h
//
// Contents of tensors that a device keeps in its own memory, beside the buffers of submissions.
// Knows nothing of what a buffer is.

#ifndef OPSERVE_SERVER_D3D12_CONTENT_CACHE_H_
#define OPSERVE_SERVER_D3D12_CONTENT_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/tensor_bytes.h"
#include "proto/base/mutex.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/slab_pool.h"

namespace opserve::d3d12 {

// Copies by the id of their content, in slabs, in what the pool's budget leaves: where that is too
// little, the least recently used copies are dropped that nobody has a share of, and that are not
// held. Thread-safe. Buffer is that of the pool.
template <class Buffer>
class ContentCache {
 public:
  using Lease = typename BufferPool<Buffer>::Lease;
  using Part = typename SlabPool<Buffer>::Part;
  using Hold = typename SlabPool<Buffer>::Hold;

  // The first `bytes` bytes of a part of a slab.
  struct Copy {
    Part place;
    uint64_t bytes = 0;
    // Ends before the part goes back.
    Hold hold = {};
  };
  // A copy is not dropped while someone has a share of it.
  using Share = std::shared_ptr<Copy>;

  // `buffers` must outlive the cache.
  explicit ContentCache(BufferPool<Buffer>& buffers) : buffers_(buffers), slabs_(buffers) {}

  // A buffer of the pool. Fails as the pool does, once no copy can make room any more.
  absl::StatusOr<Lease> Acquire(uint64_t bytes) {
    absl::StatusOr<Lease> lease = buffers_.Acquire(bytes);
    if (!absl::IsResourceExhausted(lease.status()) ||
        SizeClassOf(bytes) > RoomWithoutCopies().buffers) {
      return lease;
    }
    while (absl::IsResourceExhausted(lease.status()) && DropOldestSlab()) {
      lease = buffers_.Acquire(bytes);
    }
    return lease;
  }

  // The pool has `budget` bytes from now on. Where buffers and copies take more, idle buffers are
  // given up, and then the least recently used copies that nobody has a share of.
  void SetBudget(uint64_t budget) {
    buffers_.SetBudget(budget);
    // What a slab took is idle once its copies are gone.
    while (buffers_.is_over_budget() && DropOldestSlab()) buffers_.SetBudget(budget);
  }

  // Room for a copy that is not kept yet; nullptr where there is none.
  Share Prepare(uint64_t bytes) {
    absl::StatusOr<Part> part = slabs_.Acquire(bytes);
    if (absl::IsResourceExhausted(part.status()) && !CanHold(bytes)) return nullptr;
    while (absl::IsResourceExhausted(part.status()) && DropOldest(IsUnused)) {
      part = slabs_.Acquire(bytes);
    }
    if (!part.ok()) return nullptr;
    return std::make_shared<Copy>(Copy{*std::move(part), bytes});
  }

  // The same, of a copy that nothing drops before Release. nullptr also where what is held would
  // take more than half of the budget, with all of the slabs that it is in: submissions need room,
  // too.
  Share PrepareHeld(uint64_t bytes) {
    const uint64_t limit = buffers_.budget() / 2;
    absl::StatusOr<HeldPart> part = slabs_.AcquireHeld(bytes, limit);
    if (absl::IsResourceExhausted(part.status())) {
      const auto may_go = [slabs = FindSlabsToHoldIn(bytes, limit)](const Entry& entry) {
        return IsUnused(entry) && slabs.contains(entry.copy->place.slab());
      };
      while (absl::IsResourceExhausted(part.status()) && DropOldest(may_go)) {
        part = slabs_.AcquireHeld(bytes, limit);
      }
    }
    if (absl::IsResourceExhausted(part.status()) && CanHoldBuffer(bytes, limit)) {
      while (absl::IsResourceExhausted(part.status()) && DropOldestSlab()) {
        part = slabs_.AcquireHeld(bytes, limit);
      }
    }
    if (!part.ok()) return nullptr;
    return std::make_shared<Copy>(Copy{std::move(part->part), bytes, std::move(part->hold)});
  }

  // Keeps `copy`, which holds the first bytes of `content`, unless a longer one is kept.
  void Keep(ContentId content, Share copy) {
    MutexLock lock(mutex_);
    if (const auto found = by_content_.find(content); found != by_content_.end()) {
      // What is dropped is destroyed by the caller, after the lock.
      if (found->second->copy->bytes < copy->bytes) {
        bytes_ += copy->place.bytes() - found->second->copy->place.bytes();
        std::swap(found->second->copy, copy);
      }
      return;
    }
    const uint64_t bytes = copy->place.bytes();
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

  // Forgets the copy of a content that is not worth its memory, if there is one that is not held.
  void Drop(ContentId content) {
    Share dropped;  // destroyed after the lock
    MutexLock lock(mutex_);
    const auto found = by_content_.find(content);
    if (found == by_content_.end() || found->second->copy->hold.is_set()) return;
    dropped = Remove(found->second);
  }

  // The copy of a content, if there is one, is like all others.
  void Release(ContentId content) {
    Share copy;  // as its part goes back last
    Hold ended;  // after the lock
    MutexLock lock(mutex_);
    const auto found = by_content_.find(content);
    if (found == by_content_.end()) return;
    copy = found->second->copy;
    std::swap(copy->hold, ended);
  }

  // Bytes of the parts of slabs that all copies have.
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
  using HeldPart = typename SlabPool<Buffer>::HeldPart;

  struct Entry {
    ContentId content;
    Share copy;
  };

  // Shares are taken under the lock alone, so the last one cannot become two.
  static bool IsUnused(const Entry& entry) {
    return entry.copy.use_count() == 1 && !entry.copy->hold.is_set();
  }

  // Parts of a slab that copies have which may be dropped.
  struct Unused {
    size_t parts = 0;
    uint64_t bytes = 0;
  };
  using UnusedBySlab = std::unordered_map<const void*, Unused>;

  UnusedBySlab FindUnused() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    UnusedBySlab unused;
    for (const Entry& entry : entries_) {
      if (!IsUnused(entry)) continue;
      Unused& of_slab = unused[entry.copy->place.slab()];
      ++of_slab.parts;
      of_slab.bytes += entry.copy->place.bytes();
    }
    return unused;
  }

  // What there would be without the copies that may be dropped: bytes for buffers, and for one part
  // of a slab, if they lie together. Dropping copies for nothing would only cost their upload.
  struct RoomLeft {
    uint64_t buffers = 0;
    uint64_t part = 0;
  };
  RoomLeft RoomWithoutCopies() const {
    RoomLeft room{buffers_.room(), 0};
    const auto slabs = slabs_.slabs();
    MutexLock lock(mutex_);
    const UnusedBySlab unused = FindUnused();
    for (const auto& slab : slabs) {
      const auto found = unused.find(slab.slab);
      const Unused of_slab = found != unused.end() ? found->second : Unused();
      if (of_slab.parts == slab.parts) room.buffers += slab.bytes;
      room.part = std::max(room.part, slab.free_bytes + of_slab.bytes);
    }
    return room;
  }

  // Whether there may be room for a copy without others. Where all memory is taken, the oldest copy
  // mostly has what is asked for, so that nothing else needs to be looked at.
  bool CanHold(uint64_t bytes) const {
    {
      MutexLock lock(mutex_);
      const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(), IsUnused);
      if (oldest == entries_.rend()) return false;
      if (oldest->copy->place.bytes() >= bytes) return true;
    }
    const RoomLeft room = RoomWithoutCopies();
    return bytes <= room.part || SizeClassOf(bytes) <= room.buffers;
  }

  // Slabs that may have a part that is held, and without the copies that may be dropped would have
  // room for one, if it lies together.
  std::unordered_set<const void*> FindSlabsToHoldIn(uint64_t bytes, uint64_t limit) const {
    std::unordered_set<const void*> found;
    const uint64_t held = slabs_.held_bytes();
    const auto slabs = slabs_.slabs();
    MutexLock lock(mutex_);
    const UnusedBySlab unused = FindUnused();
    for (const auto& slab : slabs) {
      const auto of_slab = unused.find(slab.slab);
      if (of_slab == unused.end() || slab.free_bytes + of_slab->second.bytes < bytes) continue;
      if (slab.held > 0 || held + slab.bytes <= limit) found.insert(slab.slab);
    }
    return found;
  }

  // Whether there may be a buffer for a part that is held, where no slab may have it.
  bool CanHoldBuffer(uint64_t bytes, uint64_t limit) const {
    const uint64_t size = SizeClassOf(bytes);
    return slabs_.held_bytes() + size <= limit && size <= RoomWithoutCopies().buffers;
  }

  // Of those that `may_go`. False if there is none.
  template <class MayGo>
  bool DropOldest(const MayGo& may_go) {
    Share dropped;  // destroyed after the lock
    MutexLock lock(mutex_);
    for (auto entry = entries_.end(); entry != entries_.begin();) {
      if (!may_go(*--entry)) continue;
      dropped = Remove(entry);
      ++evictions_;
      return true;
    }
    return false;
  }

  // Drops all copies of a slab that has no other ones: of those slabs, the one of the least
  // recently used copy. False if there is none.
  bool DropOldestSlab() {
    std::vector<Share> dropped;  // destroyed after the lock
    const auto slabs = slabs_.slabs();
    MutexLock lock(mutex_);
    const UnusedBySlab unused = FindUnused();
    std::unordered_map<const void*, size_t> parts;
    for (const auto& slab : slabs) parts[slab.slab] = slab.parts;
    const auto may_go = [&](const Entry& entry) {
      const void* const slab = entry.copy->place.slab();
      const auto found = unused.find(slab);
      return found != unused.end() && found->second.parts == parts[slab];
    };
    const auto oldest = std::find_if(entries_.rbegin(), entries_.rend(), may_go);
    if (oldest == entries_.rend()) return false;
    const void* const slab = oldest->copy->place.slab();
    dropped.reserve(parts[slab]);
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const auto here = entry++;
      // Since the slabs were listed it may have got others.
      if (here->copy->place.slab() == slab && IsUnused(*here)) dropped.push_back(Remove(here));
    }
    evictions_ += dropped.size();
    return true;
  }

  Share Remove(typename std::list<Entry>::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Share copy = std::move(entry->copy);
    bytes_ -= copy->place.bytes();
    by_content_.erase(entry->content);
    entries_.erase(entry);
    return copy;
  }

  BufferPool<Buffer>& buffers_;
  SlabPool<Buffer> slabs_;
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
