// Programs share no memory with a server on Windows: see docs/adr/0043-windows.md. Tensors then
// travel in messages.

#include "client/memory/shared_memory.h"

namespace opserve::client_internal {

absl::StatusOr<SharedRegion> SharedMemory::Create(uint64_t /*bytes*/, FindSocket /*find_socket*/,
                                                  TimeLeft /*time_left*/) {
  return absl::UnimplementedError("on Windows opserve shares no memory between programs");
}

}  // namespace opserve::client_internal
