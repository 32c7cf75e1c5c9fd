// Fuzzes the .npy reader: whatever the bytes, it answers with a tensor that its spec describes, or
// with INVALID_ARGUMENT. What it reads, it writes and reads again unchanged.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "client/api/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = opserve::ParseNpy(std::string(reinterpret_cast<const char*>(data), size));
  if (!tensor.ok()) {
    if (!absl::IsInvalidArgument(tensor.status())) std::abort();
    return 0;
  }
  if (tensor->bytes().size() > size) std::abort();
  const opserve::Tensor packed = tensor->Packed();
  const auto again = opserve::ParseNpy(opserve::FormatNpy(*tensor));
  if (!again.ok() || again->spec() != packed.spec()) std::abort();
  if (!std::equal(again->bytes().begin(), again->bytes().end(), packed.bytes().begin(),
                  packed.bytes().end())) {
    std::abort();
  }
  return 0;
}
