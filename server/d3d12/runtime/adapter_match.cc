#include "server/d3d12/runtime/adapter_match.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace opserve::d3d12 {
namespace {

// The one adapter with that LUID. Drivers have been seen that give several the same.
std::optional<size_t> OnlyOneOf(std::span<const AdapterInfo> adapters, uint64_t luid) {
  const auto has_it = [luid](const AdapterInfo& adapter) { return adapter.luid == luid; };
  const auto found = std::find_if(adapters.begin(), adapters.end(), has_it);
  if (luid == 0 || std::count_if(adapters.begin(), adapters.end(), has_it) != 1) {
    return std::nullopt;
  }
  return static_cast<size_t>(found - adapters.begin());
}

std::optional<size_t> FindByLuid(std::span<const AdapterInfo> known, size_t index,
                                 std::span<const AdapterInfo> present) {
  const uint64_t luid = known[index].luid;
  return OnlyOneOf(known, luid) ? OnlyOneOf(present, luid) : std::nullopt;
}

bool IsSameHardware(const AdapterInfo& a, const AdapterInfo& b) {
  return a.name == b.name && a.vendor_id == b.vendor_id && a.device_id == b.device_id &&
         a.is_software == b.is_software;
}

}  // namespace

std::optional<size_t> FindAgain(std::span<const AdapterInfo> known, size_t index,
                                std::span<const AdapterInfo> present) {
  if (const auto found = FindByLuid(known, index, present)) return found;
  std::vector<bool> is_taken(present.size());
  // Of those before it that are like it and have no LUID either.
  size_t rank = 0;
  for (size_t i = 0; i < known.size(); ++i) {
    if (const auto other = FindByLuid(known, i, present)) {
      is_taken[*other] = true;
    } else if (i < index && IsSameHardware(known[i], known[index])) {
      ++rank;
    }
  }
  for (size_t i = 0; i < present.size(); ++i) {
    if (is_taken[i] || !IsSameHardware(present[i], known[index])) continue;
    if (rank-- == 0) return i;
  }
  return std::nullopt;
}

}  // namespace opserve::d3d12
