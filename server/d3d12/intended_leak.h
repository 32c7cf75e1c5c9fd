// File: server/d3d12/intended_leak.h
//
// Gives objects up that a device might still use, and says so to LeakSanitizer.

#ifndef OPSERVE_SERVER_D3D12_INTENDED_LEAK_H_
#define OPSERVE_SERVER_D3D12_INTENDED_LEAK_H_

#include <memory>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OPSERVE_HAS_LEAK_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define OPSERVE_HAS_LEAK_SANITIZER 1
#endif

#if defined(OPSERVE_HAS_LEAK_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

namespace opserve::d3d12 {

// Never frees the object, nor what it owns.
template <class T>
void LeakOnPurpose(std::unique_ptr<T> object) {
#if defined(OPSERVE_HAS_LEAK_SANITIZER)
  __lsan_ignore_object(object.get());
#endif
  static_cast<void>(object.release());
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_INTENDED_LEAK_H_
