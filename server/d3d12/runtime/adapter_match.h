// File: server/d3d12/runtime/adapter_match.h
//
// Adapters that a system lists anew, after their driver was updated or one of them was lost: in
// whatever order, with new LUIDs, or not at all.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_MATCH_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_MATCH_H_

#include <cstddef>
#include <optional>
#include <span>

#include "server/d3d12/runtime/adapter_info.h"

namespace opserve::d3d12 {

// Where known[index] is in `present`: the adapter with its LUID, else one of its name and ids that
// no other one of `known` is. So no two of `known` are found in the same place. nullopt: it is
// gone.
std::optional<size_t> FindAgain(std::span<const AdapterInfo> known, size_t index,
                                std::span<const AdapterInfo> present);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_MATCH_H_
