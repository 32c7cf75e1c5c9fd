// File: server/regions/region_table.h
//
// The regions that programs on this machine have registered.

#ifndef OPSERVE_SERVER_REGIONS_REGION_TABLE_H_
#define OPSERVE_SERVER_REGIONS_REGION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "proto/packets/unique_fd.h"
#include "server/regions/region.h"

namespace opserve {

// Most that one owner may register.
struct RegionLimits {
  uint64_t max_bytes = uint64_t{4} << 30;
  size_t max_regions = 64;
};

// Regions by id. Ids are random and known to those who are told; whoever knows one may use the
// region. A region that is removed stays mapped until the last share is given up. Thread-safe.
class RegionTable {
 public:
  // Whoever registered a region, as its number.
  using Owner = uint64_t;

  explicit RegionTable(RegionLimits limits) : limits_(limits) {}
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // Maps memory as Region::Map does, and returns its id. REGION_QUOTA where the owner has too much.
  absl::StatusOr<std::string> Add(Owner owner, const UniqueFd& fd, uint64_t bytes,
                                  RegionMemory memory = RegionMemory::kMemfd);

  // REGION_NOT_FOUND unless the region is one of `owner`.
  absl::Status Remove(Owner owner, absl::string_view id);

  // Removes all regions of `owner`.
  void RemoveAll(Owner owner);

  // A share of the region, or nullptr.
  std::shared_ptr<const Region> Find(absl::string_view id) const;

  // What an owner may register.
  const RegionLimits& limits() const { return limits_; }

  // Number of regions.
  size_t size() const;

 private:
  struct Entry {
    Owner owner = 0;
    std::shared_ptr<const Region> region;
  };
  // What an owner has.
  struct Usage {
    uint64_t bytes = 0;
    size_t regions = 0;
  };

  absl::Status Reserve(Owner owner, uint64_t bytes);
  void Release(Owner owner, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RegionLimits limits_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Owner, Usage> usage_ ABSL_GUARDED_BY(mutex_);
};

// The error of an id that no region has: REGION_NOT_FOUND.
absl::Status RegionNotFound(absl::string_view id);

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_REGION_TABLE_H_
