#include "client/wire/result_buffer.h"

#include <cstdint>
#include <new>

#include "absl/strings/str_cat.h"

namespace opserve::client_internal {

absl::StatusOr<std::shared_ptr<const HostBuffer>> TakeResultBuffer(HostBufferPool& pool,
                                                                   uint64_t bytes) {
  try {
    // Sizes that no allocation can have would overflow on their way to it.
    if (bytes <= PTRDIFF_MAX) return std::make_shared<const HostBuffer>(pool.Take(bytes));
  } catch (const std::bad_alloc&) {
  }
  return absl::ResourceExhaustedError(absl::StrCat("no memory for a result of ", bytes, " bytes"));
}

}  // namespace opserve::client_internal
