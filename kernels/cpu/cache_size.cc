#include "kernels/cpu/cache_size.h"

#include <unistd.h>

#include <algorithm>

namespace opserve {

uint64_t LastLevelCacheBytes() {
  return static_cast<uint64_t>(std::max(0l, sysconf(_SC_LEVEL3_CACHE_SIZE)));
}

}  // namespace opserve
