#include "proto/base/first_connection.h"

// Nothing that is public makes Abseil read it for certain.
#include "absl/base/internal/sysinfo.h"

namespace opserve {

void PrepareFirstConnection() {
  static_cast<void>(absl::base_internal::NominalCPUFrequency());
  // In a root without /sys, this misses a file as well.
  static_cast<void>(absl::base_internal::NumCPUs());
}

}  // namespace opserve
