#include <windows.h>

#include "absl/strings/ascii.h"
#include "server/device/cpu/processor_name.h"

namespace opserve {

std::string ProcessorName() {
  char name[256] = {};
  DWORD bytes = sizeof(name) - 1;
  const LSTATUS status =
      RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &bytes);
  const std::string stripped(absl::StripAsciiWhitespace(name));
  return status == ERROR_SUCCESS && !stripped.empty() ? stripped : "processor";
}

}  // namespace opserve
