// File: client/memory/region_pool.h
//
// Shared memory that is used again: a fresh region costs its pages, and a round trip to the server.

#ifndef OPSERVE_CLIENT_MEMORY_REGION_POOL_H_
#define OPSERVE_CLIENT_MEMORY_REGION_POOL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "opserve/shared_memory.h"

namespace opserve::client_internal {

// A region on loan, which may outlive its pool. Not thread-safe.
class PooledRegion {
 public:
  class Shelf;

  // `region`: just one.
  PooledRegion(std::shared_ptr<Shelf> shelf, std::list<SharedRegion> region)
      : shelf_(std::move(shelf)), region_(std::move(region)) {}
  // Gives the memory back to the pool if it is reusable; else the region ends.
  ~PooledRegion();
  PooledRegion(const PooledRegion&) = delete;
  PooledRegion& operator=(const PooledRegion&) = delete;

  const SharedRegion& region() const { return region_.front(); }

  // Nobody but the holder uses the memory any more. Until then it is not used again after the loan:
  // a server that has not answered may still work on it.
  void MarkReusable() { is_reusable_ = true; }

 private:
  const std::shared_ptr<Shelf> shelf_;
  // One element of a list, so that giving it back allocates nothing.
  std::list<SharedRegion> region_;
  bool is_reusable_ = false;
};

// Thread-safe.
class RegionPool {
 public:
  using MakeRegion = absl::FunctionRef<absl::StatusOr<SharedRegion>(uint64_t bytes)>;

  // Idle regions and those on loan have at most `max_bytes` bytes in all, and are at most
  // kMostRegions.
  explicit RegionPool(uint64_t max_bytes);

  // A region of at least `bytes` bytes, which holds whatever its last user left: an idle one, or
  // one that `make` makes, with no lock held. nullptr where those on loan leave no room for it; the
  // error of `make`.
  absl::StatusOr<std::unique_ptr<PooledRegion>> Take(uint64_t bytes, MakeRegion make);

  // Ends the idle regions.
  void Clear();

  // Half of what a server lets a connection have: the rest is for Client::CreateRegion.
  static constexpr size_t kMostRegions = 32;

 private:
  const std::shared_ptr<PooledRegion::Shelf> shelf_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_MEMORY_REGION_POOL_H_
