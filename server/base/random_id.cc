#include "server/base/random_id.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/escaping.h"

namespace opserve {

std::string RandomId() {
  std::string bits(kRandomIdLength / 2, '\0');
  ssize_t count = 0;
  // So few bytes come all at once, unless a signal comes first.
  do {
    count = getrandom(bits.data(), bits.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(bits.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return absl::BytesToHexString(bits);
}

}  // namespace opserve
