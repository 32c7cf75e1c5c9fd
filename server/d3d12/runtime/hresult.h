// File: server/d3d12/runtime/hresult.h
//
// Results of Direct3D 12 calls as statuses. Every call that can fail goes through OPSERVE_HRESULT,
// which is also the place where tests inject faults.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_HRESULT_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_HRESULT_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Makes the call and returns an absl::Status that names it:
//   UNAVAILABLE         the device is removed, hung or reset; its object is of no more use
//   RESOURCE_EXHAUSTED  out of memory
//   INTERNAL            anything else
#define OPSERVE_HRESULT(call) \
  ::opserve::d3d12::CheckResult(#call, [&]() -> int32_t { return static_cast<int32_t>(call); })

// Returns from the enclosing function where `expression`, an absl::Status, is an error.
#define OPSERVE_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                           \
    if (absl::Status opserve_status = (expression); !opserve_status.ok()) return opserve_status; \
  } while (false)

namespace opserve::d3d12 {

// Decides which calls fail. Must be thread-safe where devices are used from several threads.
class FaultInjector {
 public:
  virtual ~FaultInjector() = default;

  // The result that the call is to have without being made, or nullopt to make it. `call` is its
  // source text.
  virtual std::optional<int32_t> Fail(absl::string_view call) = 0;
};

// Makes all calls of the process ask `injector` while it lives. At most one at a time; devices may
// be in use. Without one, a call costs one relaxed load more.
class ScopedFaultInjector {
 public:
  explicit ScopedFaultInjector(FaultInjector& injector);
  ~ScopedFaultInjector();
  ScopedFaultInjector(const ScopedFaultInjector&) = delete;
  ScopedFaultInjector& operator=(const ScopedFaultInjector&) = delete;
};

// The result that the installed injector wants for `call`, if any.
std::optional<int32_t> InjectedFault(absl::string_view call);

// The status of a result; OK where it is a success.
absl::Status StatusOfResult(absl::string_view call, int32_t result);

template <class Call>
absl::Status CheckResult(absl::string_view text, const Call& call) {
  const std::optional<int32_t> injected = InjectedFault(text);
  const int32_t result = injected ? *injected : call();
  return result >= 0 ? absl::OkStatus() : StatusOfResult(text, result);
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_HRESULT_H_
