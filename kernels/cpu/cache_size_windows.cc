#include <windows.h>

#include <vector>

#include "kernels/cpu/cache_size.h"

namespace opserve {

uint64_t LastLevelCacheBytes() {
  constexpr BYTE kLevel = 3;
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> entries(
      bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (entries.empty() || GetLogicalProcessorInformation(entries.data(), &bytes) == 0) return 0;
  for (const SYSTEM_LOGICAL_PROCESSOR_INFORMATION& entry : entries) {
    if (entry.Relationship == RelationCache && entry.Cache.Level == kLevel) return entry.Cache.Size;
  }
  return 0;
}

}  // namespace opserve
