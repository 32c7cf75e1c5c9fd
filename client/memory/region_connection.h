// File: client/memory/region_connection.h
//
// A connection to the socket where a server registers shared memory; regions.proto is what is
// spoken there.

#ifndef OPSERVE_CLIENT_MEMORY_REGION_CONNECTION_H_
#define OPSERVE_CLIENT_MEMORY_REGION_CONNECTION_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "opserve/catalogue.h"
#include "opserve/v1/regions.pb.h"
#include "proto/base/mutex.h"
#include "proto/packets/seqpacket.h"

namespace opserve::client_internal {

// Tells how much time an operation has left.
using TimeLeft = absl::FunctionRef<absl::Duration()>;

// Regions end with it. Thread-safe; one request at a time is under way.
class RegionConnection {
 public:
  // UNAVAILABLE, with the path, where nobody can be reached there; DEADLINE_EXCEEDED.
  static absl::StatusOr<std::shared_ptr<RegionConnection>> Connect(const SharedMemoryInfo& info,
                                                                   TimeLeft time_left);

  // Most bytes of all regions.
  uint64_t max_bytes() const { return info_.max_bytes; }

  // Shares the first `bytes` bytes of a memfd, and returns the id of the region. The server's
  // status where it refuses; UNAVAILABLE where the connection has ended; DEADLINE_EXCEEDED.
  absl::StatusOr<std::string> Register(int memfd, uint64_t bytes, TimeLeft time_left);

  // Ends the sharing of a region; does not wait for the answer.
  void Unregister(const std::string& region);

 private:
  RegionConnection(const SharedMemoryInfo& info, UniqueFd socket)
      : info_(info), socket_(std::move(socket)) {}

  absl::StatusOr<v1::RegionResponse> Receive(TimeLeft time_left)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Receives the answers that nobody waits for any more.
  absl::Status ReceiveLate(TimeLeft time_left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendUnregister(const std::string& region) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SharedMemoryInfo info_;
  Mutex mutex_;
  const UniqueFd socket_ ABSL_GUARDED_BY(mutex_);
  // Answers still to come, in order: whether each names a region that is to be given up.
  std::deque<bool> late_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_MEMORY_REGION_CONNECTION_H_
