#include "server/program/printed.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace opserve {

absl::Status Print(absl::string_view text, std::ostream& out) {
  constexpr absl::string_view kWhat = "cannot write standard output";
  errno = 0;
  out << text << std::flush;
  if (out) return absl::OkStatus();
  return errno == 0 ? absl::DataLossError(kWhat) : absl::ErrnoToStatus(errno, kWhat);
}

EarlyExit Failed(const absl::Status& status) {
  return {kExitFailed, absl::StrCat("opserve-server: ", status.message(), "\n")};
}

EarlyExit Printed(absl::string_view text, std::ostream& out) {
  const absl::Status status = Print(text, out);
  return status.ok() ? EarlyExit() : Failed(status);
}

}  // namespace opserve
