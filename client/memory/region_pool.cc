#include "client/memory/region_pool.h"

#include <algorithm>
#include <iterator>

#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {
namespace {

uint64_t SizeOf(const SharedRegion& region) { return region.bytes().size(); }

}  // namespace

// Held by the pool and by every region on loan. Regions end with no lock held: their connection
// hears of it.
class PooledRegion::Shelf {
 public:
  explicit Shelf(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // The idle region used last that has `bytes` bytes, or up to twice as many; empty: none has.
  std::list<SharedRegion> TakeIdle(uint64_t bytes) {
    std::list<SharedRegion> taken;
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find_if(idle_, [bytes](const SharedRegion& region) {
      return SizeOf(region) >= bytes && SizeOf(region) / 2 <= bytes;
    });
    if (found != idle_.end()) taken.splice(taken.begin(), idle_, found);
    return taken;
  }

  // Counts a region that is to be made, for which those end that were idle for longest. False
  // where that is not enough.
  bool Reserve(uint64_t bytes) {
    std::list<SharedRegion> ended;
    const MutexLock lock(mutex_);
    uint64_t idle_bytes = 0;
    for (const SharedRegion& region : idle_) idle_bytes += SizeOf(region);
    const uint64_t lent_bytes = bytes_ - idle_bytes;
    if (bytes > max_bytes_ || lent_bytes > max_bytes_ - bytes) return false;
    if (count_ - idle_.size() >= RegionPool::kMostRegions) return false;
    while (bytes_ > max_bytes_ - bytes || count_ >= RegionPool::kMostRegions) {
      Discount(SizeOf(idle_.back()));
      ended.splice(ended.end(), idle_, std::prev(idle_.end()));
    }
    bytes_ += bytes;
    ++count_;
    return true;
  }

  void Release(uint64_t bytes) {
    const MutexLock lock(mutex_);
    Discount(bytes);
  }

  void Put(std::list<SharedRegion> region) {
    const MutexLock lock(mutex_);
    idle_.splice(idle_.begin(), region);
  }

  void Clear() {
    std::list<SharedRegion> ended;
    const MutexLock lock(mutex_);
    for (const SharedRegion& region : idle_) Discount(SizeOf(region));
    ended.swap(idle_);
  }

 private:
  void Discount(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= bytes;
    --count_;
  }

  const uint64_t max_bytes_;
  Mutex mutex_;
  std::list<SharedRegion> idle_ ABSL_GUARDED_BY(mutex_);  // the one used last in front
  // The bytes and the number of regions that are idle, on loan, or being made.
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

PooledRegion::~PooledRegion() {
  if (is_reusable_) {
    shelf_->Put(std::move(region_));
  } else {
    shelf_->Release(SizeOf(region()));
  }
}

RegionPool::RegionPool(uint64_t max_bytes)
    : shelf_(std::make_shared<PooledRegion::Shelf>(max_bytes)) {}

absl::StatusOr<std::unique_ptr<PooledRegion>> RegionPool::Take(uint64_t bytes, MakeRegion make) {
  const uint64_t size = HostBufferSizeOf(bytes);
  std::list<SharedRegion> region = shelf_->TakeIdle(size);
  if (!region.empty()) return std::make_unique<PooledRegion>(shelf_, std::move(region));
  if (!shelf_->Reserve(size)) return nullptr;
  absl::StatusOr<SharedRegion> made = make(size);
  if (!made.ok()) {
    shelf_->Release(size);
    return made.status();
  }
  region.push_back(*std::move(made));
  return std::make_unique<PooledRegion>(shelf_, std::move(region));
}

void RegionPool::Clear() { shelf_->Clear(); }

}  // namespace opserve::client_internal
