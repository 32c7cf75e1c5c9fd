#include "client/rpc/client_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace opserve::client_internal {

absl::Status CheckClientName(absl::string_view name) {
  if (name.size() > kMaxClientNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a client name of ", name.size(), " bytes; at most ", kMaxClientNameBytes, " are allowed"));
  }
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isprint(static_cast<uint8_t>(c));
  });
  if (printable && absl::StripAsciiWhitespace(name) == name) return absl::OkStatus();
  // The name itself is not fit to be printed.
  return absl::InvalidArgumentError(
      "a client name must be printable ASCII without spaces at its ends");
}

}  // namespace opserve::client_internal
