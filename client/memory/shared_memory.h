// File: client/memory/shared_memory.h
//
// Makes memory that a server shares; see opserve/shared_memory.h.

#ifndef OPSERVE_CLIENT_MEMORY_SHARED_MEMORY_H_
#define OPSERVE_CLIENT_MEMORY_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/memory/region_connection.h"
#include "opserve/catalogue.h"
#include "opserve/shared_memory.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// The regions of a client, on one connection. Thread-safe; regions may outlive it.
class SharedMemory {
 public:
  // Where the server registers regions; asked for whenever a connection is made.
  using FindSocket = absl::FunctionRef<absl::StatusOr<SharedMemoryInfo>()>;

  // A region of `bytes` bytes.
  absl::StatusOr<SharedRegion> Create(uint64_t bytes, FindSocket find_socket, TimeLeft time_left);

 private:
  std::shared_ptr<RegionConnection> connection();
  // The connection that comes after `lost`.
  absl::StatusOr<std::shared_ptr<RegionConnection>> Replace(
      const std::shared_ptr<RegionConnection>& lost, FindSocket find_socket, TimeLeft time_left);

  Mutex mutex_;
  std::shared_ptr<RegionConnection> connection_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_MEMORY_SHARED_MEMORY_H_
