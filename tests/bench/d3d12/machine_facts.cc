#include "tests/bench/d3d12/machine_facts.h"

#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace opserve::bench {
namespace {

constexpr char kUnknown[] = "unknown";

// The first line of a file; "" where there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Whether a file has the number, as "0x10de".
bool HasId(const std::string& path, uint32_t id) {
  return absl::EqualsIgnoreCase(FirstLine(path), absl::StrFormat("0x%04x", id));
}

// What a lane carries in a second.
double LaneBytesPerSecond(absl::string_view speed) {
  double transfers = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(speed, ' ');
  if (words.size() < 2 || words[1] != "GT/s" || !absl::SimpleAtod(words[0], &transfers)) return 0;
  // Up to 5 GT/s ten bits are sent for eight, then 130 for 128; from 64 on 256 bytes for 242.
  const double share = transfers <= 5 ? 0.8 : transfers < 64 ? 128.0 / 130 : 242.0 / 256;
  return transfers * 1e9 / 8 * share;
}

// Of the last 1, 5 and 15 minutes: what else the processor had to do.
std::string LoadText() {
  std::array<double, 3> loads{};
  if (getloadavg(loads.data(), loads.size()) != loads.size()) return kUnknown;
  return absl::StrFormat("%.1f, %.1f, %.1f", loads[0], loads[1], loads[2]);
}

std::string LinkText(const std::optional<PciLink>& link) {
  if (!link.has_value()) return kUnknown;
  return absl::StrCat(link->speed, " x", link->width, " now",
                      link->most.empty() ? "" : absl::StrCat(", at most ", link->most));
}

std::string GibText(uint64_t bytes) {
  return bytes == 0 ? kUnknown
                    : absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / 1073741824.0);
}

}  // namespace

std::optional<PciLink> ReadPciLink(const std::string& folder) {
  PciLink link;
  link.speed = FirstLine(absl::StrCat(folder, "/current_link_speed"));
  if (!absl::SimpleAtoi(FirstLine(absl::StrCat(folder, "/current_link_width")), &link.width) ||
      link.width <= 0) {
    return std::nullopt;
  }
  link.bytes_per_second = LaneBytesPerSecond(link.speed) * link.width;
  const std::string most_speed = FirstLine(absl::StrCat(folder, "/max_link_speed"));
  const std::string most_width = FirstLine(absl::StrCat(folder, "/max_link_width"));
  if (!most_speed.empty() && !most_width.empty()) {
    link.most = absl::StrCat(most_speed, " x", most_width);
  }
  return link;
}

std::optional<PciLink> FindPciLink(const std::string& devices, uint32_t vendor, uint32_t device) {
  std::error_code error;
  std::optional<PciLink> found;
  for (const auto& entry : std::filesystem::directory_iterator(devices, error)) {
    const std::string folder = entry.path().string();
    if (!HasId(absl::StrCat(folder, "/vendor"), vendor) ||
        !HasId(absl::StrCat(folder, "/device"), device)) {
      continue;
    }
    if (found.has_value()) return std::nullopt;
    found = ReadPciLink(folder);
  }
  return found;
}

std::string ValueInFile(const std::string& path, absl::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StartsWith(parts.first, key)) {
      return std::string(absl::StripAsciiWhitespace(parts.second));
    }
  }
  return kUnknown;
}

Facts MachineFacts() {
  utsname system{};
  uname(&system);
  return {{"date", absl::FormatTime("%Y-%m-%dT%H:%MZ", absl::Now(), absl::UTCTimeZone())},
          {"system", absl::StrCat(system.sysname, " ", system.release, " ", system.machine)},
          {"processor", absl::StrCat(ValueInFile("/proc/cpuinfo", "model name"), ", ",
                                     std::thread::hardware_concurrency(), " threads")},
          {"memory", ValueInFile("/proc/meminfo", "MemTotal")},
          {"load before", LoadText()}};
}

Facts AdapterFacts(const d3d12::AdapterInfo& adapter, const std::optional<PciLink>& link) {
  return {{"adapter", absl::StrCat(adapter.name, adapter.is_software ? " (SOFTWARE)" : "")},
          {"driver", adapter.driver},
          {"run time", adapter.runtime},
          {"PCI ids", absl::StrFormat("%04x:%04x", adapter.vendor_id, adapter.device_id)},
          {"adapter memory", GibText(adapter.memory_bytes)},
          {"largest buffer", GibText(adapter.max_buffer_bytes)},
          {"PCIe link", LinkText(link)}};
}

}  // namespace opserve::bench
