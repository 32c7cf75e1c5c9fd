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
#include <utility>
#include <vector>

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

// Regions end with it. Thread-safe; one request at a time is under way, and nobody waits for that
// of another beyond his own time.
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

  // Waits until it is this thread's turn to use the socket. Returns false where the time is up.
  bool TakeTurn(TimeLeft time_left);
  // Sends what others left to do meanwhile.
  void EndTurn();

  // Only for who has the turn.
  absl::StatusOr<std::string> RegisterInTurn(int memfd, uint64_t bytes, TimeLeft time_left);
  absl::StatusOr<v1::RegionResponse> Receive(TimeLeft time_left);
  // Receives the answers that nobody waits for any more.
  absl::Status ReceiveLate(TimeLeft time_left);
  void SendUnregister(const std::string& region);
  absl::Status NoAnswer() const;

  const SharedMemoryInfo info_;
  Mutex mutex_;  // never held while anybody waits for the server
  CondVar free_;
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;  // whether a thread has the turn
  // Regions to be given up by who has the turn.
  std::vector<std::string> unwanted_ ABSL_GUARDED_BY(mutex_);
  // These are for who has the turn.
  const UniqueFd socket_;
  // Answers still to come, in order: whether each names a region that is to be given up.
  std::deque<bool> late_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_MEMORY_REGION_CONNECTION_H_
