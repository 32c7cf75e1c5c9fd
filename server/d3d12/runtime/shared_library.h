// File: server/d3d12/runtime/shared_library.h
//
// A library that is loaded at run time.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_SHARED_LIBRARY_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_SHARED_LIBRARY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace opserve::d3d12 {

// Stays loaded for the rest of the process: drivers start threads and keep thread-local data that
// do not survive unloading. Safe to use from any thread.
class SharedLibrary {
 public:
  // Loads the library with this file name. NOT_FOUND, with the loader's words, if it cannot be.
  static absl::StatusOr<SharedLibrary> Load(const std::string& name);

  // Looks `symbol` up and stores its address in `function`. NOT_FOUND if there is none.
  template <class Function>
  absl::Status Find(const char* symbol, Function*& function) const {
    void* address = nullptr;
    absl::Status status = FindAddress(symbol, address);
    function = reinterpret_cast<Function*>(address);
    return status;
  }

 private:
  SharedLibrary(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  absl::Status FindAddress(const char* symbol, void*& address) const;

  std::string name_;
  void* handle_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_SHARED_LIBRARY_H_
