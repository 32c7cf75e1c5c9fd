#include "server/d3d12/runtime/hresult.h"

#include <array>
#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"

namespace opserve::d3d12 {
namespace {

std::atomic<FaultInjector*> injector = nullptr;

struct KnownResult {
  uint32_t value;
  absl::string_view name;
  absl::StatusCode code;
};

// The numbers are Windows' own; the Linux headers lack most of the names.
constexpr std::array kKnownResults = {
    KnownResult{0x887A0005, "DXGI_ERROR_DEVICE_REMOVED", absl::StatusCode::kUnavailable},
    KnownResult{0x887A0006, "DXGI_ERROR_DEVICE_HUNG", absl::StatusCode::kUnavailable},
    KnownResult{0x887A0007, "DXGI_ERROR_DEVICE_RESET", absl::StatusCode::kUnavailable},
    KnownResult{0x887A0020, "DXGI_ERROR_DRIVER_INTERNAL_ERROR", absl::StatusCode::kUnavailable},
    KnownResult{0x887A0001, "DXGI_ERROR_INVALID_CALL", absl::StatusCode::kInternal},
    KnownResult{0x887A0002, "DXGI_ERROR_NOT_FOUND", absl::StatusCode::kInternal},
    KnownResult{0x887A0004, "DXGI_ERROR_UNSUPPORTED", absl::StatusCode::kInternal},
    KnownResult{0x8007000E, "E_OUTOFMEMORY", absl::StatusCode::kResourceExhausted},
    KnownResult{0x80070057, "E_INVALIDARG", absl::StatusCode::kInternal},
    KnownResult{0x80004001, "E_NOTIMPL", absl::StatusCode::kInternal},
    KnownResult{0x80004002, "E_NOINTERFACE", absl::StatusCode::kInternal},
    KnownResult{0x80004005, "E_FAIL", absl::StatusCode::kInternal},
};

}  // namespace

ScopedFaultInjector::ScopedFaultInjector(FaultInjector& faults) { injector = &faults; }

ScopedFaultInjector::~ScopedFaultInjector() { injector = nullptr; }

std::optional<int32_t> InjectedFault(absl::string_view call) {
  FaultInjector* const installed = injector.load(std::memory_order_acquire);
  return installed == nullptr ? std::nullopt : installed->Fail(call);
}

absl::Status StatusOfResult(absl::string_view call, int32_t result) {
  if (result >= 0) return absl::OkStatus();
  const auto value = static_cast<uint32_t>(result);
  const std::string number = absl::StrCat("0x", absl::Hex(value, absl::kZeroPad8));
  for (const KnownResult& known : kKnownResults) {
    if (known.value != value) continue;
    return {known.code, absl::StrCat(call, " failed: ", known.name, " (", number, ").")};
  }
  return absl::InternalError(absl::StrCat(call, " failed: ", number, "."));
}

}  // namespace opserve::d3d12
