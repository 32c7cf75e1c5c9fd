// File: server/d3d12/module/module_loader.h
//
// Finds and loads the Direct3D 12 run times of this machine.

#ifndef OPSERVE_SERVER_D3D12_MODULE_MODULE_LOADER_H_
#define OPSERVE_SERVER_D3D12_MODULE_MODULE_LOADER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/d3d12/module/module.h"

namespace opserve::d3d12 {

// A run time that cannot be used here, which is nothing unusual.
struct AbsentRuntime {
  // "vkd3d", "wsl", or that of a module of somebody else.
  std::string name;
  // What is missing, for the log: NOT_FOUND where a library or driver is, FAILED_PRECONDITION where
  // the module belongs to another version of opserve, or the error of the run time.
  absl::Status reason;
};

struct D3D12Modules {
  std::vector<std::unique_ptr<const D3D12Module>> modules;
  std::vector<AbsentRuntime> absent;
};

// Where modules are: in $OPSERVE_MODULE_DIR if that is set, else in ../lib/opserve beside the
// folder of the running program. So it is in installations, in bundles and in build trees.
std::vector<std::string> ModuleDirectories();

// Loads every run time from the first of `directories` that has its module, opserve-d3d12-NAME.so:
// those that opserve has, and then whatever else is there, by name. Never fails: each run time is
// in one of the two lists. Modules are never unloaded. Thread-safe.
D3D12Modules LoadD3D12Modules(const std::vector<std::string>& directories);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_MODULE_MODULE_LOADER_H_
