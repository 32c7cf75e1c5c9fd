// File: server/d3d12/memory_budget.h
//
// How much of an adapter's memory one device may take. Pure.

#ifndef OPSERVE_SERVER_D3D12_MEMORY_BUDGET_H_
#define OPSERVE_SERVER_D3D12_MEMORY_BUDGET_H_

#include <cstdint>
#include <optional>

#include "server/d3d12/runtime/memory_report.h"

namespace opserve::d3d12 {

// What is known of an adapter's memory, and of one device's part of it.
struct MemoryFacts {
  // AdapterInfo::memory_bytes; 0: unknown.
  uint64_t adapter_bytes = 0;
  // Whether it is the machine's memory, in which the adapter has none to itself.
  bool is_shared = false;
  // What the driver says now; nullopt where it says nothing.
  std::optional<MemoryReport> report = std::nullopt;
  // Bytes that the device has taken; a part of MemoryReport::used_bytes.
  uint64_t own_bytes = 0;
};

// Where nothing is known of an adapter's memory.
inline constexpr uint64_t kUnknownMemoryBudget = uint64_t{1} << 30;

// Most bytes that the buffers of the device may take now: three quarters of what the adapter has
// for it, a quarter where that is the machine's own memory, at most `cap`. The rest is for what
// drivers take beside buffers, and for estimates of theirs that are wrong. Drivers that report no
// memory, or more than the adapter has, are not believed.
uint64_t MemoryBudgetOf(const MemoryFacts& facts, uint64_t cap);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_MEMORY_BUDGET_H_
