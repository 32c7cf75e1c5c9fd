// Libraries as Windows loads them.

#include <windows.h>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/shared_library.h"

namespace opserve::d3d12 {

absl::StatusOr<SharedLibrary> SharedLibrary::Load(const std::string& name) {
  HMODULE const handle = LoadLibraryA(name.c_str());
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("Cannot load ", name, ": error ", GetLastError(), "."));
  }
  return SharedLibrary(name, handle);
}

absl::Status SharedLibrary::FindAddress(const char* symbol, void*& address) const {
  address = reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), symbol));
  if (address != nullptr) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(name_, " has no ", symbol, "."));
}

}  // namespace opserve::d3d12
