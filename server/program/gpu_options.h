// File: server/program/gpu_options.h
//
// Which GPUs a server uses, and how much of each. docs/operations.md describes the settings.

#ifndef OPSERVE_SERVER_PROGRAM_GPU_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_GPU_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace opserve {

struct GpuOptions {
  // "auto": all hardware adapters, and with `allow_software` all software adapters. "none": no
  // GPU. Otherwise each names adapters by number, or by a part of the name in any case.
  std::vector<std::string> devices = {"auto"};
  // Whether adapters may be used whose work is done by the processor.
  bool allow_software = false;
  // Devices made for each adapter.
  int instances = 1;
  // Most bytes of device memory that the tensors of one device take; UINT64_MAX: as many as the
  // adapter has to give (server/d3d12/memory_budget.h).
  uint64_t memory_bytes = UINT64_MAX;
  // A device that does not finish within it, plus a time that grows with the bytes, is lost.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_GPU_OPTIONS_H_
