#include "server/d3d12/runtime/shared_library.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {

absl::StatusOr<SharedLibrary> SharedLibrary::Load(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("Cannot load ", name, ": ", dlerror()));
  }
  return SharedLibrary(name, handle);
}

absl::Status SharedLibrary::FindAddress(const char* symbol, void*& address) const {
  address = dlsym(handle_, symbol);
  if (address != nullptr) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(name_, " has no ", symbol, "."));
}

}  // namespace opserve::d3d12
