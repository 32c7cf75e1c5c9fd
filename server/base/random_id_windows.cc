#include <windows.h>
// After windows.h.
#include <bcrypt.h>

#include <system_error>

#include "absl/strings/escaping.h"
#include "server/base/random_id.h"

namespace opserve {

std::string RandomId() {
  std::string bits(kRandomIdLength / 2, '\0');
  const NTSTATUS status =
      BCryptGenRandom(nullptr, reinterpret_cast<PUCHAR>(bits.data()),
                      static_cast<ULONG>(bits.size()), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  if (status != 0) throw std::system_error(status, std::system_category(), "BCryptGenRandom");
  return absl::BytesToHexString(bits);
}

}  // namespace opserve
