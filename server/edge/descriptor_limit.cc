#include "server/edge/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "server/edge/connection_table.h"

namespace opserve {
namespace {

constexpr rlim_t kMostKept = 1024;

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

size_t ConnectionsWithinDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kMostKept;
  const rlim_t descriptors = std::min<rlim_t>(limit.rlim_cur, kMaxDescriptor);
  return std::max<size_t>(1, (descriptors - std::min(descriptors / 4, kMostKept)) / 2);
}

}  // namespace opserve
