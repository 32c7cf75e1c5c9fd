// File: server/d3d12/runtime/system_adapters.h
//
// The run times whose Direct3D 12 is Microsoft's, WSL and Windows, differ in who knows the
// adapters: wsl_adapters.cc asks DXCore, windows_adapters.cc asks DXGI. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_SYSTEM_ADAPTERS_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_SYSTEM_ADAPTERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/d3d12/runtime/adapter_info.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/runtime/memory_report.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

// Of the run time that the folder is compiled for; Runtime and RuntimeLibraries say what they are.
struct SystemNames {
  const char* runtime;
  const char* direct3d;
  const char* adapters;
};
extern const SystemNames kSystemNames;

struct SystemAdapter {
  AdapterInfo info;
  // What D3D12CreateDevice takes.
  ComPtr<IUnknown> adapter;
};

struct SystemAdapters {
  // In the system's order.
  std::vector<SystemAdapter> usable;
  // Why others are left out, which the system has and does not describe: their place, and a reason.
  std::vector<absl::Status> left_out;
};

// All adapters that Direct3D 12 can use, as the system has them now. `library`: the one that knows
// them. NOT_FOUND where the system has none.
absl::StatusOr<SystemAdapters> EnumerateSystemAdapters(const SharedLibrary& library);

// Why the adapter in this place of the system's order is left out.
absl::Status LeftOut(uint32_t place, const absl::Status& why);

// A LUID as one number.
uint64_t LuidNumber(const LUID& luid);

// What the system says now of the memory of SystemAdapter::adapter; nullopt where it says nothing.
std::optional<MemoryReport> MemoryOfSystemAdapter(IUnknown& adapter);

// A driver's version as Windows writes it, "31.0.15.3623": four numbers of 16 bits.
std::string DriverVersion(uint64_t version);

// Bytes of the largest buffer that Direct3D 12 promises on an adapter with that much memory.
uint64_t MaxBufferBytes(uint64_t memory_bytes);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_SYSTEM_ADAPTERS_H_
