// File: server/kserve/system_memory.h
//
// POSIX shared memory that clients of KServe's protocol register, under names that they give it.

#ifndef OPSERVE_SERVER_KSERVE_SYSTEM_MEMORY_H_
#define OPSERVE_SERVER_KSERVE_SYSTEM_MEMORY_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "inference/inference_service.pb.h"
#include "kernels/violations.h"
#include "opserve/v1/tensor.pb.h"
#include "proto/base/mutex.h"
#include "server/access/caller.h"
#include "server/base/user_id.h"
#include "server/regions/region_table.h"

namespace opserve {

// Names are of a user of this machine, whom only calls over a socket file have: segments are opened
// by that user's own right, and that of all, but not by his groups, which such a call does not
// tell. What is registered stays until it is unregistered, or the object ends: there is no
// connection that it could end with. Counts like other regions of the user, whose limits hold, and
// not those of one connection. Thread-safe.
class SystemMemory {
 public:
  // `table` must outlive the object. `takes_names`: whether POSIX shared memory may be registered.
  SystemMemory(RegionTable& table, bool takes_names) : table_(table), takes_names_(takes_names) {}
  ~SystemMemory();
  SystemMemory(const SystemMemory&) = delete;
  SystemMemory& operator=(const SystemMemory&) = delete;

  // POSIX_SHARED_MEMORY_OFF where it is, or where the caller is no known user; INVALID_REQUEST
  // where the name is taken, or there is no such segment for the caller; REGION_QUOTA.
  absl::Status Register(const Caller& caller,
                        const inference::SystemSharedMemoryRegisterRequest& request);

  // Gives up what has that name, or, without a name, all that the caller has. What is not there is
  // no mistake.
  void Unregister(const Caller& caller, const std::string& name);

  // What the caller has by that name, or, without a name, all.
  void Describe(const Caller& caller, const std::string& name,
                inference::SystemSharedMemoryStatusResponse& out) const;

  // The bytes of a tensor from `offset` on in what has that name. What is wrong is added to
  // `violations`, for the field `field`.
  v1::RegionRange RangeOf(const Caller& caller, const std::string& name, uint64_t offset,
                          uint64_t bytes, const std::string& field,
                          ViolationList& violations) const;

 private:
  struct Segment {
    std::string key;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    // The id of its region, which begins where the segment does; empty until that is there.
    std::string region;
  };
  using Segments = std::map<std::string, Segment>;

  static RegionOwner OwnerOf(UserId user);
  // A name that the user has.
  void Forget(UserId user, const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  RegionTable& table_;
  const bool takes_names_;
  mutable Mutex mutex_;
  absl::flat_hash_map<UserId, Segments> segments_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_SYSTEM_MEMORY_H_
