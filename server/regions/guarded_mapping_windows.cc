// Nothing is mapped on Windows: see region_windows.cc.

#include "absl/status/status.h"
#include "server/regions/guarded_mapping.h"

namespace opserve {

absl::StatusOr<std::unique_ptr<GuardedMapping>> GuardedMapping::Map(int /*fd*/,
                                                                    uint64_t /*bytes*/) {
  return absl::UnimplementedError("this server shares no memory on Windows");
}

GuardedMapping::~GuardedMapping() = default;

}  // namespace opserve
