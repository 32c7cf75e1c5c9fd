#include "server/program/gpu_selection.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace opserve {
namespace {

using d3d12::AdapterInfo;

bool Matches(const std::string& selector, size_t index, std::span<const AdapterInfo> adapters) {
  size_t number = 0;
  // Others are part of a name, such as 4090.
  if (absl::SimpleAtoi(selector, &number) && number < adapters.size()) return number == index;
  return absl::StrContains(absl::AsciiStrToLower(adapters[index].name),
                           absl::AsciiStrToLower(selector));
}

absl::Status NoMatch(const std::string& selector, std::span<const AdapterInfo> adapters) {
  return absl::InvalidArgumentError(absl::StrCat(
      "no adapter matches the device \"", selector, "\"",
      adapters.empty() ? "; there are none" : "; there are:\n", ListAdapters(adapters)));
}

absl::Status OnlySoftware(const std::string& selector, const AdapterInfo& adapter) {
  return absl::InvalidArgumentError(
      absl::StrCat("the device \"", selector, "\" is \"", adapter.name,
                   "\", a software adapter; allow it with --allow-software-adapters"));
}

// Marks what one selector picks.
absl::Status Select(const std::string& selector, std::span<const AdapterInfo> adapters,
                    bool allow_software, std::vector<bool>& picked) {
  const AdapterInfo* refused = nullptr;
  bool any = false;
  for (size_t i = 0; i < adapters.size(); ++i) {
    if (selector != "auto" && !Matches(selector, i, adapters)) continue;
    if (adapters[i].is_software && !allow_software) {
      refused = &adapters[i];
      continue;
    }
    picked[i] = any = true;
  }
  if (any || selector == "auto") return absl::OkStatus();
  return refused != nullptr ? OnlySoftware(selector, *refused) : NoMatch(selector, adapters);
}

}  // namespace

absl::StatusOr<std::vector<GpuChoice>> SelectGpus(std::span<const AdapterInfo> adapters,
                                                  const GpuOptions& options) {
  std::vector<bool> picked(adapters.size(), false);
  for (const std::string& selector : options.devices) {
    if (selector == "none") continue;
    absl::Status status = Select(selector, adapters, options.allow_software, picked);
    if (!status.ok()) return status;
  }
  std::vector<GpuChoice> choices;
  std::map<std::string, int> used;
  for (size_t i = 0; i < adapters.size(); ++i) {
    for (int k = 0; picked[i] && k < options.instances; ++k) {
      std::string name = absl::StrCat("d3d12/", adapters[i].name);
      const int number = ++used[name];
      if (number > 1) absl::StrAppend(&name, "#", number);
      choices.push_back({i, std::move(name)});
    }
  }
  return choices;
}

std::string DescribeAdapter(const AdapterInfo& adapter) {
  return absl::StrCat(adapter.name, " (", adapter.driver, "), ", adapter.memory_bytes >> 20, " MiB",
                      adapter.is_software ? ", software" : "");
}

std::string ListAdapters(std::span<const AdapterInfo> adapters) {
  std::string text;
  for (size_t i = 0; i < adapters.size(); ++i) {
    absl::StrAppend(&text, "  ", i, ": ", DescribeAdapter(adapters[i]), "\n");
  }
  return text;
}

}  // namespace opserve
