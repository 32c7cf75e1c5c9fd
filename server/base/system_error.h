// File: server/base/system_error.h
//
// Errors of Windows in its own words: for files that are compiled for it alone.

#ifndef OPSERVE_SERVER_BASE_SYSTEM_ERROR_H_
#define OPSERVE_SERVER_BASE_SYSTEM_ERROR_H_

#include <cstdint>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace opserve {

// `error`: what GetLastError or WSAGetLastError says. The code is that of the errno which stands
// for it, UNKNOWN where there is none. Safe to use from any thread.
inline absl::Status SystemError(uint32_t error, absl::string_view what) {
  const std::error_code code(static_cast<int>(error), std::system_category());
  const std::error_condition condition = code.default_error_condition();
  const absl::StatusCode status =
      condition.category() == std::generic_category() && condition.value() != 0
          ? absl::ErrnoToStatus(condition.value(), "").code()
          : absl::StatusCode::kUnknown;
  return absl::Status(status, absl::StrCat(what, ": ", absl::StripAsciiWhitespace(code.message()),
                                           " (error ", error, ")"));
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_BASE_SYSTEM_ERROR_H_
