// A module of another version of opserve.

#include "server/d3d12/module/module.h"

extern "C" const opserve::d3d12::ModuleEntry* opserve_d3d12_module() {
  static constexpr opserve::d3d12::ModuleEntry kEntry = {"opserve of another day", nullptr};
  return &kEntry;
}
