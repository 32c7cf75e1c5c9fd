// File: server/program/gpu_selection.h
//
// Picks adapters by what the user asked for. Pure; safe to use from any thread.

#ifndef OPSERVE_SERVER_PROGRAM_GPU_SELECTION_H_
#define OPSERVE_SERVER_PROGRAM_GPU_SELECTION_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/d3d12/runtime/adapter_info.h"
#include "server/program/gpu_options.h"

namespace opserve {

// A device to make.
struct GpuChoice {
  // Position of the adapter in what SelectGpus was given.
  size_t adapter = 0;
  // Unique: "d3d12/NVIDIA H100", the second of them "d3d12/NVIDIA H100#2".
  std::string name;
};

// The devices to make of `adapters`, in their order. INVALID_ARGUMENT if a selector matches
// nothing, or only software adapters that are not allowed; the message lists what there is.
absl::StatusOr<std::vector<GpuChoice>> SelectGpus(std::span<const d3d12::AdapterInfo> adapters,
                                                  const GpuOptions& options);

// The adapters as lines "0: NVIDIA H100 (driver), 81920 MiB" for people.
std::string ListAdapters(std::span<const d3d12::AdapterInfo> adapters);

// One of these lines, without its number and end.
std::string DescribeAdapter(const d3d12::AdapterInfo& adapter);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_GPU_SELECTION_H_
