// File: server/d3d12/module/module.h
//
// A Direct3D 12 run time as a program sees it that is not compiled for any: a shared module, loaded
// by module_loader.h. One program cannot link the code of two run times (api.h says why), but it
// can load their modules side by side. The header is free of Direct3D 12's own headers.

#ifndef OPSERVE_SERVER_D3D12_MODULE_MODULE_H_
#define OPSERVE_SERVER_D3D12_MODULE_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/adapter_info.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// A loaded run time. Thread-safe. Its devices may outlive it: the code stays loaded for ever.
class D3D12Module {
 public:
  virtual ~D3D12Module() = default;

  // "vkd3d", "wsl", or what somebody else calls it.
  virtual std::string name() const = 0;
  // All adapters, in the driver's order.
  virtual const std::vector<AdapterInfo>& adapters() const = 0;
  // Adapters that are of no use, in words: which, and why.
  virtual const std::vector<absl::Status>& left_out() const = 0;
  // A device on adapters()[adapter]. Fails as D3D12Device::Create does.
  virtual absl::StatusOr<std::unique_ptr<ComputeDevice>> CreateDevice(
      int adapter, const DeviceOptions& options) const = 0;
};

// What a module exports.
struct ModuleEntry {
  // Equal to kModuleAbi of the program, or nothing else of the entry may be touched.
  const char* abi;
  // Loads the run time's libraries; fails as Runtime::Load does.
  absl::StatusOr<std::unique_ptr<const D3D12Module>> (*load)();
};

// C++ crosses the boundary, so both sides must come from one version and one compiler.
inline constexpr char kModuleAbi[] = "opserve " OPSERVE_VERSION ", compiler " __VERSION__;

// The one symbol of a module, a function of type ModuleFunction.
inline constexpr char kModuleSymbol[] = "opserve_d3d12_module";
using ModuleFunction = const ModuleEntry*();

}  // namespace opserve::d3d12

// Defines that symbol, in no namespace. `load`: the function of ModuleEntry::load.
#define OPSERVE_D3D12_MODULE(load)                                                               \
  extern "C" const opserve::d3d12::ModuleEntry* opserve_d3d12_module() {                         \
    static constexpr opserve::d3d12::ModuleEntry kEntry = {opserve::d3d12::kModuleAbi, &(load)}; \
    return &kEntry;                                                                              \
  }

#endif  // OPSERVE_SERVER_D3D12_MODULE_MODULE_H_
