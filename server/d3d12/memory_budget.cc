#include "server/d3d12/memory_budget.h"

#include <algorithm>

namespace opserve::d3d12 {
namespace {

// Bytes that the adapter has for the device; nullopt where nobody knows.
std::optional<uint64_t> BytesFor(const MemoryFacts& facts) {
  if (!facts.report || facts.report->budget_bytes == 0) {
    if (facts.adapter_bytes == 0) return std::nullopt;
    return facts.adapter_bytes;
  }
  uint64_t budget = facts.report->budget_bytes;
  // Of shared memory an adapter only tells how much it is given at the start.
  if (!facts.is_shared && facts.adapter_bytes > 0) budget = std::min(budget, facts.adapter_bytes);
  const uint64_t used = facts.report->used_bytes;
  const uint64_t used_by_others = used - std::min(used, facts.own_bytes);
  return budget - std::min(budget, used_by_others);
}

}  // namespace

uint64_t MemoryBudgetOf(const MemoryFacts& facts, uint64_t cap) {
  const std::optional<uint64_t> bytes = BytesFor(facts);
  if (!bytes) return std::min(kUnknownMemoryBudget, cap);
  const uint64_t quarter = *bytes / 4;
  return std::min(facts.is_shared ? quarter : 3 * quarter, cap);
}

}  // namespace opserve::d3d12
