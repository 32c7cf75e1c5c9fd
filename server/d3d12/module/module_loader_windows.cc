// Windows has one Direct3D 12 run time, whose module is a part of the program.

#include <utility>

#include "server/d3d12/module/module_loader.h"

extern "C" opserve::d3d12::ModuleFunction opserve_d3d12_module;

namespace opserve::d3d12 {

std::vector<std::string> ModuleDirectories() { return {}; }

D3D12Modules LoadD3D12Modules(const std::vector<std::string>& /*directories*/) {
  D3D12Modules loaded;
  absl::StatusOr<std::unique_ptr<const D3D12Module>> module = opserve_d3d12_module()->load();
  if (module.ok()) {
    loaded.modules.push_back(*std::move(module));
  } else {
    loaded.absent.push_back({"windows", module.status()});
  }
  return loaded;
}

}  // namespace opserve::d3d12
