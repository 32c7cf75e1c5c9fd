// File: server/d3d12/runtime/memory_report.h
//
// What a driver says of an adapter's memory at one moment. Plain values.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_MEMORY_REPORT_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_MEMORY_REPORT_H_

#include <cstdint>

namespace opserve::d3d12 {

struct MemoryReport {
  // Bytes that this process may take now, those that it has taken included. It changes with what
  // other programs take.
  uint64_t budget_bytes = 0;
  // Bytes that this process has taken, on all devices of the adapter.
  uint64_t used_bytes = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_MEMORY_REPORT_H_
