// File: server/d3d12/pipeline_cache.h
//
// Pipelines by kernel, each made once.

#ifndef OPSERVE_SERVER_D3D12_PIPELINE_CACHE_H_
#define OPSERVE_SERVER_D3D12_PIPELINE_CACHE_H_

#include <functional>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/base/mutex.h"

namespace opserve::d3d12 {

// Thread-safe. Pipeline is a copyable handle. A failure is kept like a pipeline: trying again would
// fail again, and slow every call down. Only a shortage of memory passes.
template <class Key, class Pipeline>
class PipelineCache {
 public:
  using Create = std::function<absl::StatusOr<Pipeline>(const Key& key)>;

  explicit PipelineCache(Create create) : create_(std::move(create)) {}

  // The pipeline of `key`. The first call per key makes it; others wait for that.
  absl::StatusOr<Pipeline> Get(const Key& key) {
    MutexLock lock(mutex_);
    if (auto found = pipelines_.find(key); found != pipelines_.end()) return found->second;
    absl::StatusOr<Pipeline> made = create_(key);
    if (absl::IsResourceExhausted(made.status())) return made;
    return pipelines_.emplace(key, std::move(made)).first->second;
  }

 private:
  const Create create_;
  Mutex mutex_;
  std::map<Key, absl::StatusOr<Pipeline>> pipelines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_PIPELINE_CACHE_H_
