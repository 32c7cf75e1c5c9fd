// File: server/regions/region_table.h
//
// The regions that programs on this machine have registered.

#ifndef OPSERVE_SERVER_REGIONS_REGION_TABLE_H_
#define OPSERVE_SERVER_REGIONS_REGION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "proto/packets/unique_fd.h"
#include "server/base/quota_ledger.h"
#include "server/base/user_id.h"
#include "server/regions/guarded_mapping.h"
#include "server/regions/region.h"

namespace opserve {

// Most that may be registered. Whole pages count, until they are not mapped any more: each may take
// memory of the server, where its program has never touched it or has freed it.
struct RegionLimits {
  // By one connection.
  uint64_t max_bytes = uint64_t{2} << 30;
  size_t max_regions = 64;
  // By all connections of one user.
  uint64_t max_bytes_per_user = uint64_t{4} << 30;
  size_t max_regions_per_user = kMaxGuardedMappings / 4;
  // By all.
  uint64_t max_bytes_of_all = uint64_t{8} << 30;
  // Address of this host, which ids carry; see server/errors/host_ids.h. Empty: they carry none.
  std::string host = {};
};

// Whoever registers regions.
struct RegionOwner {
  // A number that no other connection has.
  uint64_t connection = 0;
  // The user of the process that connected.
  UserId user = 0;
  // Most that all connections of the user may have, in place of RegionLimits; nullopt: that holds.
  std::optional<uint64_t> max_bytes_of_user = std::nullopt;
  std::optional<size_t> max_regions_of_user = std::nullopt;
  // Whether the limits of one connection hold, too: not for what is no connection.
  bool is_connection = true;
};

// Whose call uses a region.
struct RegionCaller {
  // What is proven of him; see server/access/caller.h. To live as long as the object.
  absl::string_view identity;
  // The user at the other end of the connection; nullopt where it is no socket file, or nobody
  // knows.
  std::optional<UserId> user = std::nullopt;
};

// Regions by id, each with the user who registered it. An id is random, and of little use to others
// who learn it. Over a socket file the kernel tells who calls: a region is there for its own user
// alone, whatever else a caller shows. Other callers cannot be compared with a user: to them a
// region is there only if theirs is the identity that used it first, in whichever way. So a region
// that its user has used over a socket file, without a token, is nobody else's.
//
// A region that is removed stays mapped until the last share is given up. Thread-safe.
class RegionTable {
 public:
  explicit RegionTable(const RegionLimits& limits);
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // Maps memory as Region::Map does, and returns its id. REGION_QUOTA where the owner, its user, or
  // all have too much.
  absl::StatusOr<std::string> Add(const RegionOwner& owner, const UniqueFd& fd, uint64_t bytes,
                                  RegionMemory memory = RegionMemory::kMemfd,
                                  const RegionFields& fields = {});

  // REGION_NOT_FOUND unless the region is one of `owner`.
  absl::Status Remove(const RegionOwner& owner, absl::string_view id);

  // Removes all regions of `owner`.
  void RemoveAll(const RegionOwner& owner);

  // Whether there is any region of `owner`.
  bool HasAny(const RegionOwner& owner) const;

  // A share of the region; nullptr where there is none, or none that is there for the caller. Notes
  // the identity of the first for whom it is.
  std::shared_ptr<const Region> Find(absl::string_view id, const RegionCaller& caller);

  // REGION_NOT_FOUND, or WRONG_HOST, for what Find does not find.
  absl::Status NotFound(absl::string_view id) const;

  // Number of regions.
  size_t size() const;

  const RegionLimits& limits() const { return limits_; }

  // Bytes that count against the limit of all.
  uint64_t charged_bytes() const { return bytes_.used(); }

  // The users, by number, whose regions take most.
  QuotaHoldings Largest(size_t count) const { return bytes_.Largest(count); }

 private:
  // A region that counts until nobody has a share of it.
  struct Charged {
    QuotaCharge bytes;
    QuotaCharge count;
    // Unmapped before it ceases to count.
    std::shared_ptr<const Region> region;
  };
  struct Entry {
    uint64_t connection = 0;
    // Who registered it.
    UserId user = 0;
    // The region of a Charged, which it keeps alive.
    std::shared_ptr<const Region> region;
    // Who used it first; nullopt: nobody has.
    std::optional<std::string> identity = std::nullopt;
  };
  // What a connection has.
  struct Usage {
    uint64_t bytes = 0;
    size_t regions = 0;
  };

  // Whether the region is there for the caller, whose it is then if it was nobody's.
  static bool Admit(Entry& entry, const RegionCaller& caller);
  // Charges the user of a region.
  absl::Status Charge(const RegionOwner& owner, uint64_t bytes, Charged& region);
  // Counts it for its connection.
  absl::Status Reserve(const RegionOwner& owner, uint64_t bytes);
  void Release(uint64_t connection, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RegionLimits limits_;
  // By user.
  QuotaLedger bytes_;
  QuotaLedger regions_;
  mutable Mutex mutex_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Usage> usage_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_REGIONS_REGION_TABLE_H_
