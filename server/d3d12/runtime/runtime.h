// File: server/d3d12/runtime/runtime.h
//
// Direct3D 12 as it is found at run time. The folder is compiled once per run time, api.h says how:
// libvkd3d over Vulkan, WSL's own libraries, or Windows. The libraries are loaded, never linked;
// where they are missing, loading fails with a clear status and nothing else happens.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/d3d12/runtime/adapter_info.h"

namespace opserve::d3d12 {

// File names of the libraries, for tests; empty: those of the run time.
struct RuntimeLibraries {
  // Makes devices: libvkd3d.so.1, libd3d12.so or d3d12.dll.
  std::string direct3d = {};
  // Knows the adapters: libvulkan.so.1, libdxcore.so or dxgi.dll.
  std::string adapters = {};
};

// Must outlive its devices: they hold a share of it. Thread-safe.
class Runtime {
 public:
  // Internals that may include Direct3D 12's headers: server/d3d12/runtime/runtime_impl.h.
  struct Impl;

  // NOT_FOUND: a library, a function of it, or any driver is missing; it names which.
  // INTERNAL or UNAVAILABLE: they are there and do not work.
  static absl::StatusOr<std::shared_ptr<const Runtime>> Load(
      const RuntimeLibraries& libraries = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // "vkd3d", "wsl" or "windows".
  const char* name() const;
  // All adapters of use when the run time was loaded, in the driver's order.
  const std::vector<AdapterInfo>& adapters() const;
  // Adapters that are there and of no use, in words: which, and why.
  const std::vector<absl::Status>& left_out() const;

  const Impl& impl() const { return *impl_; }

 private:
  explicit Runtime(std::unique_ptr<const Impl> impl);

  const std::unique_ptr<const Impl> impl_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_RUNTIME_H_
