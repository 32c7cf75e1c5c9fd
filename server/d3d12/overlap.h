// File: server/d3d12/overlap.h
//
// In which order the host fills, submits and empties the parts of a batch, so that it is at work on
// some while the device is at work on others. Knows nothing of either.

#ifndef OPSERVE_SERVER_D3D12_OVERLAP_H_
#define OPSERVE_SERVER_D3D12_OVERLAP_H_

#include <cstddef>

#include "absl/status/status.h"

namespace opserve::d3d12 {

// Parts that are submitted and not emptied: the device is at work on one, has the next one before
// it, and the host empties the one before or fills the one after.
inline constexpr size_t kMostPartsUnderWay = 3;

// What is done to each part of one batch.
class PartRunner {
 public:
  // Takes memory for a part, fills it, and submits it. RESOURCE_EXHAUSTED where there is no memory
  // for it now; only one that `may_wait` waits for memory that others have.
  virtual absl::Status Begin(size_t part, bool may_wait) = 0;
  // Waits for the oldest part that has begun and not ended, takes its results, and gives its memory
  // back, also where it fails.
  virtual absl::Status End() = 0;

 protected:
  ~PartRunner() = default;
};

// Runs parts 0 to `count` - 1 in their order. Nobody waits for the memory of others while he has
// some himself, so no two wait for each other: where there is none, the oldest part ends first. All
// that have begun end, also after a failure. Returns the first failure, or UNAVAILABLE where there
// is one, which counts for all that comes later.
inline absl::Status RunOverlapped(size_t count, PartRunner& runner) {
  size_t begun = 0;
  size_t ended = 0;
  absl::Status status;
  const auto end_oldest = [&] {
    const absl::Status end = runner.End();
    ++ended;
    if (status.ok() || absl::IsUnavailable(end)) status = end;
  };
  while (begun < count && status.ok()) {
    const bool has_some = begun > ended;
    if (begun - ended == kMostPartsUnderWay) {
      end_oldest();
      continue;
    }
    const absl::Status begin = runner.Begin(begun, !has_some);
    if (begin.ok()) {
      ++begun;
    } else if (has_some && absl::IsResourceExhausted(begin)) {
      end_oldest();
    } else {
      status = begin;
    }
  }
  while (ended < begun) end_oldest();
  return status;
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_OVERLAP_H_
