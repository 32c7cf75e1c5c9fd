// File: server/validate/request_cache.h
//
// Remembers validated calls by the bytes that describe them, so that a request like an earlier one
// costs one look-up instead of a validation.

#ifndef OPSERVE_SERVER_VALIDATE_REQUEST_CACHE_H_
#define OPSERVE_SERVER_VALIDATE_REQUEST_CACHE_H_

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "kernels/invocation.h"
#include "kernels/validate.h"
#include "proto/base/mutex.h"

namespace opserve {

// Everything that decides the outcome of Validate(request), written so that two requests have the
// same key exactly if they are the same: every part is preceded by its length.
std::string CacheKey(const OperatorRequest& request);

// A bounded map that forgets what was used least recently. Thread-safe.
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

}  // namespace opserve

#endif  // OPSERVE_SERVER_VALIDATE_REQUEST_CACHE_H_
