#include "client/rpc/host_refusal.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/string_view.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

// Of proto/opserve/error_reasons.def.
constexpr absl::string_view kInvalidRequest = "INVALID_REQUEST";
constexpr absl::string_view kLacks[] = {"OPERATOR_NOT_FOUND", "DEVICE_UNAVAILABLE",
                                        "REQUEST_TOO_LARGE", "RESPONSE_TOO_LARGE",
                                        "REQUEST_EXCEEDS_BUDGET"};

// Whether it is about an operator or a level, of a call, of a step of a sequence or of a filter.
bool IsOfCatalogue(const FieldViolation& violation) {
  const absl::string_view path = violation.field;
  // Without a dot that is the whole path.
  const absl::string_view field = path.substr(path.rfind('.') + 1);
  return field == "operator" || field == "feature_level";
}

}  // namespace

HostRefusal HostRefusalOf(const absl::Status& status) {
  if (GetRetryDelay(status)) return HostRefusal::kNone;
  const std::string reason = GetErrorReason(status);
  if (reason.empty()) {
    const bool is_perhaps = absl::IsUnimplemented(status) || absl::IsResourceExhausted(status);
    return is_perhaps ? HostRefusal::kPerhaps : HostRefusal::kNone;
  }
  if (std::ranges::find(kLacks, reason) != std::end(kLacks)) return HostRefusal::kCertain;
  // A newer server may know them.
  const bool is_certain =
      reason == kInvalidRequest && std::ranges::any_of(GetViolations(status), IsOfCatalogue);
  return is_certain ? HostRefusal::kCertain : HostRefusal::kNone;
}

}  // namespace opserve::client_internal
