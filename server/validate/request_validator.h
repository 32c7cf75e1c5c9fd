// File: server/validate/request_validator.h
//
// Decides whether a request may run: the checks of kernels/validate.h, whose outcome is remembered,
// and those that concern the service rather than the operator.

#ifndef OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_
#define OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/invocation.h"
#include "kernels/validate.h"
#include "proto/base/mutex.h"
#include "server/device/gpu_presence.h"
#include "server/wire/wire.h"

namespace opserve {

// Longest request id in bytes.
inline constexpr size_t kMaxRequestIdBytes = 128;

// What is wrong with the parts of a request that describe nothing to compute.
std::vector<Violation> CheckEnvelope(const RequestEnvelope& envelope);

// Tells what a request that asks for a GPU would meet now. Thread-safe.
using GpuPresenceSource = std::function<GpuPresence()>;

// OK, or the error of a request that asks for a GPU where there is none: DEVICE_UNAVAILABLE, to be
// tried again where one is starting.
absl::Status CheckDevice(const RequestEnvelope& envelope, const GpuPresenceSource& gpu_presence);

// OK, or the error of a request whose results are too large for one message: RESPONSE_TOO_LARGE.
absl::Status CheckResponse(uint64_t result_bytes, uint64_t header_bytes,
                           uint64_t max_message_bytes);

// Everything that decides the outcome of Validate(request), written so that two requests have the
// same key exactly if they are the same: every part is preceded by its length.
std::string CacheKey(const OperatorRequest& request);

// Validated calls by the bytes that describe them, so that a request like an earlier one costs one
// look-up instead of a validation. Bounded: what was used least recently is forgotten. Thread-safe.
class RequestCache {
 public:
  // Holds up to `capacity` entries (0: none), rounded up to a multiple of kShards.
  explicit RequestCache(size_t capacity);
  RequestCache(const RequestCache&) = delete;
  RequestCache& operator=(const RequestCache&) = delete;

  // The call stored under exactly this key, or nullptr.
  std::shared_ptr<const Invocation> Find(absl::string_view key);

  // Stores a call; an entry under the same key is kept, because it is equal.
  void Insert(std::string key, std::shared_ptr<const Invocation> invocation);

  // Number of entries.
  size_t size() const;

 private:
  static constexpr size_t kShards = 8;

  struct Entry {
    std::string key;
    std::shared_ptr<const Invocation> invocation;
  };

  // Each shard has its own lock, so that requests of different kinds do not meet.
  struct Shard {
    mutable Mutex mutex;
    std::list<Entry> entries ABSL_GUARDED_BY(mutex);  // the one used last in front
    // Keys are views of the entries' keys, which a list never moves.
    absl::flat_hash_map<absl::string_view, std::list<Entry>::iterator> index ABSL_GUARDED_BY(mutex);
  };

  Shard& ShardOf(absl::string_view key);

  const size_t shard_capacity_;
  std::array<Shard, kShards> shards_;
};

// Thread-safe.
class RequestValidator {
 public:
  // Remembers about `cache_entries` valid calls; 0 validates every request anew.
  // `max_message_bytes`: largest response. `gpu_presence` is asked only for requests for a GPU.
  RequestValidator(const ValidationLimits& limits, uint64_t max_message_bytes, size_t cache_entries,
                   GpuPresenceSource gpu_presence);

  // The validated call. Fails with INVALID_REQUEST or OPERATOR_NOT_FOUND and every violation, with
  // DEVICE_UNAVAILABLE, or with RESPONSE_TOO_LARGE. Only valid calls are remembered.
  // `violations`: what is known to be wrong with the request already.
  absl::StatusOr<std::shared_ptr<const Invocation>> Validate(
      const RequestHeader& header, std::vector<Violation> violations = {});

  // Number of calls that are remembered.
  size_t cached() const { return cache_.size(); }

 private:
  const ValidationLimits limits_;
  const uint64_t max_message_bytes_;
  const GpuPresenceSource gpu_presence_;
  RequestCache cache_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_
