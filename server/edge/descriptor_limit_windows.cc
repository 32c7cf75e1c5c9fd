// Windows has no limit on what a process may open that it could meet.

#include <cstdint>

#include "server/edge/descriptor_limit.h"

namespace opserve {

void RaiseDescriptorLimit() {}

size_t ConnectionsWithinDescriptorLimit() { return SIZE_MAX; }

}  // namespace opserve
