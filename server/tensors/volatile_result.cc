#include "server/tensors/volatile_result.h"

#include <new>
#include <string>

namespace opserve {

bool VolatileResult::Read(ContentId content, std::span<std::byte> to) const {
  const absl::Status status = pool_.Read(device_, std::nullopt, content, to);
  if (absl::IsResourceExhausted(status)) throw std::bad_alloc();
  if (!status.ok()) throw ContentLost(std::string(device_));
  is_read_ = true;
  return true;
}

void VolatileResult::Compute(std::byte*) const { throw ContentLost(std::string(device_)); }

}  // namespace opserve
