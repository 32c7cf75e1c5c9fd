#include "server/device/cpu/processor_name.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace opserve {

std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(':');
    if (absl::StartsWith(line, "model name") && colon != std::string::npos) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "processor";
}

}  // namespace opserve
