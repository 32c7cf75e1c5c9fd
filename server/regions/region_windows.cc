// Programs share no memory with the server on Windows: see docs/adr/0043-windows.md.

#include "absl/status/status.h"
#include "server/regions/region.h"

namespace opserve {

absl::StatusOr<std::shared_ptr<const Region>> Region::Map(const UniqueFd& /*fd*/,
                                                          uint64_t /*bytes*/,
                                                          RegionMemory /*memory*/,
                                                          const RegionFields& /*fields*/) {
  return absl::UnimplementedError("this server shares no memory on Windows");
}

}  // namespace opserve
