// File: opserve/error_reasons.h
//
// The machine-readable causes of errors, shared by server and client; expanded from
// opserve/error_reasons.def. Everything here is stateless and safe to use from any thread.

#ifndef OPSERVE_ERROR_REASONS_H_
#define OPSERVE_ERROR_REASONS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve {

// google.rpc.ErrorInfo.domain of every error of opserve.
inline constexpr char kErrorDomain[] = "opserve";

// A cause; the enumerator's name is the text on the wire.
enum class ErrorReason {
#define OPSERVE_ERROR_REASON(REASON, CODE, MEANING) REASON,
#include "opserve/error_reasons.def"
#undef OPSERVE_ERROR_REASON
};

// All causes, in the order of the list.
inline constexpr ErrorReason kAllErrorReasons[] = {
#define OPSERVE_ERROR_REASON(REASON, CODE, MEANING) ErrorReason::REASON,
#include "opserve/error_reasons.def"
#undef OPSERVE_ERROR_REASON
};

// The text on the wire: "INVALID_REQUEST".
inline absl::string_view NameOf(ErrorReason reason) {
  static constexpr absl::string_view kNames[] = {
#define OPSERVE_ERROR_REASON(REASON, CODE, MEANING) #REASON,
#include "opserve/error_reasons.def"
#undef OPSERVE_ERROR_REASON
  };
  return kNames[static_cast<size_t>(reason)];
}

// The status code that always goes with the cause.
inline absl::StatusCode CodeOf(ErrorReason reason) {
  static constexpr absl::StatusCode kCodes[] = {
#define OPSERVE_ERROR_REASON(REASON, CODE, MEANING) absl::StatusCode::CODE,
#include "opserve/error_reasons.def"
#undef OPSERVE_ERROR_REASON
  };
  return kCodes[static_cast<size_t>(reason)];
}

// One sentence on the cause, for documentation.
inline absl::string_view MeaningOf(ErrorReason reason) {
  static constexpr absl::string_view kMeanings[] = {
#define OPSERVE_ERROR_REASON(REASON, CODE, MEANING) MEANING,
#include "opserve/error_reasons.def"
#undef OPSERVE_ERROR_REASON
  };
  return kMeanings[static_cast<size_t>(reason)];
}

// The cause with this text, or nullopt: a newer server may know more causes.
inline std::optional<ErrorReason> ErrorReasonFromName(absl::string_view name) {
  for (ErrorReason reason : kAllErrorReasons) {
    if (NameOf(reason) == name) return reason;
  }
  return std::nullopt;
}

}  // namespace opserve

#endif  // OPSERVE_ERROR_REASONS_H_
