#include "server/cpu_device.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

// The processor's own name where Linux tells it.
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

}  // namespace

CpuDevice::CpuDevice(int threads)
    : executor_(threads),
      name_(absl::StrCat("cpu/", CpuTargetName())),
      description_(ProcessorName()) {}

}  // namespace opserve
