#include "server/program/process_tuning.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <limits>

#include "absl/synchronization/mutex.h"

namespace opserve {

void KeepHeap([[maybe_unused]] uint64_t bytes) {
#ifdef __GLIBC__
  if (bytes == 0) return;
  // The largest that glibc takes. Larger tensors lie in a HostBufferPool, which keeps its pages.
  constexpr int kMmapThreshold = 32 << 20;
  const uint64_t most = std::numeric_limits<int>::max();
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min(bytes, most)));
#endif
}

void TrimHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void StopDeadlockSearch() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace opserve
