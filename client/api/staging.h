// File: client/api/staging.h
//
// Brings the tensors of calls to a server on the same machine through shared memory, so that
// programs need not know of it: inputs are copied there, results stay there until they are dropped.

#ifndef OPSERVE_CLIENT_API_STAGING_H_
#define OPSERVE_CLIENT_API_STAGING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/clock.h"
#include "client/memory/region_pool.h"
#include "client/memory/shared_memory.h"
#include "client/wire/message.h"
#include "opserve/call.h"
#include "opserve/catalogue.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// A call whose tensors are in shared memory.
struct StagedCall {
  // To be sent.
  OutgoingMessage request;
  // The inputs, or the ring that they go through, and the result.
  std::unique_ptr<PooledRegion> inputs;
  std::unique_ptr<PooledRegion> output;
  uint64_t output_bytes = 0;

  // Where the result goes.
  RegionRange output_range() const { return output->region().range(0, output_bytes); }
};

// What is known of the results of calls of one kind.
struct KnownResult {
  uint64_t bytes = 0;
  // Whether the server takes their inputs through a ring.
  bool takes_ring = false;
};

// Thread-safe.
class Staging {
 public:
  // `max_bytes`: of shared memory; 0 where calls are to travel in messages. Both others must
  // outlive the object.
  Staging(uint64_t max_bytes, SharedMemory& shared_memory, ClientClock& clock)
      : is_on_(max_bytes > 0), shared_memory_(shared_memory), clock_(clock), regions_(max_bytes) {}

  // Whether the call gains by shared memory: all its inputs are in memory of the caller, whole, and
  // large enough.
  bool Suits(const OperatorCall& call) const;

  // Whether the server has to be asked for what LearnServer takes, before Stage.
  bool AsksServer() const;
  // What the server told of itself. One that could not say, or that shares no memory, is not asked
  // again for kPause.
  void LearnServer(const absl::StatusOr<ServerInfo>& info);

  // What is known of the result of such a call, if one has been answered; the client does not know
  // operators.
  std::optional<KnownResult> ResultOf(const OperatorCall& call) const;
  void LearnResult(const OperatorCall& call, const KnownResult& result);

  // The call, which Suits, with its tensors in shared memory; nullopt where there is none, or none
  // left. Copies the inputs; where it makes a region, it waits for the server, for at most
  // kMostWait. Then none is made for kPause, unless it worked. A server that went away is asked
  // anew first: it may be back.
  std::optional<StagedCall> Stage(const OperatorCall& call, uint64_t result_bytes);
  // The same for a call whose inputs are copied while it is under way, through a ring; also nullopt
  // where it gains nothing by that.
  std::optional<StagedCall> StageInRing(const OperatorCall& call, uint64_t result_bytes);

  // Whether a staged call that failed so is to be made once more, in messages. What the server has
  // forgotten is given up; where it was the ring that failed, none is used for kPause.
  bool GoesOnInMessages(const absl::Status& failure);

  // Bytes of inputs from which on calls are staged: below, the copy and the look-ups cost more than
  // the message.
  static constexpr uint64_t kLeastBytes = uint64_t{64} << 10;
  // Bytes of inputs from which on they go through a ring.
  static constexpr uint64_t kLeastRingBytes = uint64_t{1} << 20;
  static constexpr absl::Duration kPause = absl::Seconds(10);
  static constexpr absl::Duration kMostWait = absl::Milliseconds(250);

 private:
  // Results whose sizes are remembered.
  static constexpr size_t kMostResults = 256;

  // A staged call without its request.
  std::optional<StagedCall> TakeRegions(uint64_t input_bytes, uint64_t result_bytes);
  std::unique_ptr<PooledRegion> Take(uint64_t bytes);
  absl::StatusOr<SharedRegion> MakeRegion(uint64_t bytes);
  // What comes of a region that was made, or was not.
  bool IsToPause(const absl::Status& made);
  void Pause();

  const bool is_on_;
  SharedMemory& shared_memory_;
  ClientClock& clock_;
  RegionPool regions_;
  mutable Mutex mutex_;
  // Where the server registers regions; nullopt: not known.
  std::optional<SharedMemoryInfo> server_ ABSL_GUARDED_BY(mutex_);
  // No region was made since the server was found to be away.
  bool is_asked_anew_ ABSL_GUARDED_BY(mutex_) = false;
  // When to ask the server, or to make a region, after something went wrong.
  absl::Time paused_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // When to use a ring again, after the server gave up waiting for one.
  absl::Time no_ring_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // By ResultKey.
  absl::flat_hash_map<std::string, KnownResult> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_STAGING_H_
