#include "client/cli/device_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a table shows where a column does not apply to a device.
constexpr char kNone[] = "-";

std::string OrNone(const std::string& text) { return text.empty() ? kNone : text; }

std::string ShowLoad(const DeviceInfo& device) {
  std::vector<std::string> parts;
  if (device.batches_in_flight > 0) {
    parts.push_back(absl::StrCat(ShowCount(device.batches_in_flight), " running"));
  }
  if (device.pending_requests > 0) {
    parts.push_back(absl::StrCat(ShowCount(device.pending_requests), " waiting (",
                                 ShowBytes(static_cast<double>(device.pending_bytes)), ")"));
  }
  return parts.empty() ? "idle" : absl::StrJoin(parts, ", ");
}

std::string ShowAverageBatch(const DeviceCounters& counters) {
  const double average = counters.AverageBatch();
  return average == 0 ? kNone : absl::StrFormat("%.1f", average);
}

// A count that is 0 as long as all is well, and red otherwise.
Cell ShowFaults(uint64_t count) {
  return count == 0 ? Cell("0") : Cell(ShowCount(count), Style::kRed);
}

Json BatchesAsJson(const std::vector<BatchSizeCount>& batches) {
  Json json = Json::array();
  for (const BatchSizeCount& batch : batches) {
    json.push_back({{"size", batch.size}, {"count", batch.count}});
  }
  return json;
}

Json CountersAsJson(const DeviceCounters& counters) {
  Json json;
#define OPSERVE_DEVICE_COUNTER(NAME) json[#NAME] = counters.NAME;
#define OPSERVE_BATCH_COUNTER(NAME) json[#NAME] = BatchesAsJson(counters.NAME);
#include "proto/opserve/device_counters.def"
  return json;
}

void PrintStates(const std::vector<DeviceInfo>& devices, const Terminal& terminal) {
  Table table({"NAME", "KIND", "MEMORY", "STATE", "LOAD"});
  for (const DeviceInfo& device : devices) {
    table.AddRow(
        {device.name, ShowKind(device),
         device.memory_bytes == 0 ? kNone : ShowBytes(static_cast<double>(device.memory_bytes)),
         ShowState(device.state), ShowLoad(device)});
  }
  table.Print(terminal);
  for (const DeviceInfo& device : devices) {
    if (device.state_reason.empty()) continue;
    // An administrator's reason is any text, also such as would move the cursor.
    terminal.out << device.name << " is " << NameOf(device.state) << ": "
                 << absl::Utf8SafeCEscape(device.state_reason) << '\n';
  }
}

void PrintCounts(const std::vector<DeviceInfo>& devices, const Terminal& terminal) {
  Table table({"NAME", "REQUESTS", "AVG BATCH", "VERIFIED", "MISMATCHES", "FAULTS"});
  for (const DeviceInfo& device : devices) {
    const DeviceCounters& counters = device.counters;
    table.AddRow({device.name, ShowCount(counters.requests), ShowAverageBatch(counters),
                  ShowCount(counters.verified), ShowFaults(counters.mismatches),
                  ShowFaults(counters.faults)});
  }
  table.Print(terminal);
}

// Nothing where no device has a driver.
void PrintDrivers(const std::vector<DeviceInfo>& devices, const Terminal& terminal) {
  Table table({"NAME", "RUNTIME", "DRIVER"});
  bool has_rows = false;
  for (const DeviceInfo& device : devices) {
    if (device.runtime.empty() && device.driver.empty()) continue;
    table.AddRow({device.name, OrNone(device.runtime), OrNone(device.driver)});
    has_rows = true;
  }
  if (!has_rows) return;
  terminal.out << '\n';
  table.Print(terminal);
}

template <class T>
Json ArrayOf(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(ToJson(item));
  return array;
}

}  // namespace

std::string ShowKind(const DeviceInfo& device) {
  return absl::StrCat(NameOf(device.kind), device.software ? " (software)" : "");
}

Cell ShowState(DeviceInfo::State state) {
  const std::string name(NameOf(state));
  switch (state) {
    case DeviceInfo::State::kReady:
      return {name, Style::kGreen};
    case DeviceInfo::State::kLost:
    case DeviceInfo::State::kRecreating:
    case DeviceInfo::State::kQuarantined:
      return {name, Style::kRed};
    case DeviceInfo::State::kSuspect:
    case DeviceInfo::State::kStarting:
    case DeviceInfo::State::kSetAside:
    case DeviceInfo::State::kUnknown:
      break;
  }
  return name;
}

void PrintDevices(const std::vector<DeviceInfo>& devices, const Terminal& terminal) {
  PrintStates(devices, terminal);
  terminal.out << '\n';
  PrintCounts(devices, terminal);
  PrintDrivers(devices, terminal);
}

void PrintSelfTests(const std::vector<SelfTestReport>& reports, const Terminal& terminal) {
  Table table({"NAME", "RESULT", "CASES", "TIME"});
  for (const SelfTestReport& report : reports) {
    table.AddRow({report.device,
                  report.passed ? Cell("PASS", Style::kGreen) : Cell("FAIL", Style::kRed),
                  ShowCount(report.cases), ShowDuration(report.duration)});
  }
  table.Print(terminal);
  for (const SelfTestReport& report : reports) {
    if (!report.passed) terminal.out << report.device << ": " << report.failure << '\n';
  }
}

bool AllPassed(const std::vector<SelfTestReport>& reports) {
  return !reports.empty() && std::all_of(reports.begin(), reports.end(),
                                         [](const SelfTestReport& r) { return r.passed; });
}

Json ToJson(const DeviceInfo& device) {
  return {{"name", device.name},
          {"description", device.description},
          {"kind", std::string(NameOf(device.kind))},
          {"threads", device.threads},
          {"runtime", device.runtime},
          {"driver", device.driver},
          {"feature_level", device.feature_level},
          {"memory_bytes", device.memory_bytes},
          {"software", device.software},
          {"state", std::string(NameOf(device.state))},
          {"state_reason", device.state_reason},
          {"pending_requests", device.pending_requests},
          {"pending_bytes", device.pending_bytes},
          {"batches_in_flight", device.batches_in_flight},
          {"memory_budget_bytes", device.memory_budget_bytes},
          {"kept_bytes", device.kept_bytes},
          {"lease_left_ms", absl::ToInt64Milliseconds(device.lease_left)},
          {"counters", CountersAsJson(device.counters)}};
}

Json ToJson(const SelfTestReport& report) {
  return {{"device", report.device},
          {"passed", report.passed},
          {"cases", report.cases},
          {"failure", report.failure},
          {"duration_ns", absl::ToInt64Nanoseconds(report.duration)}};
}

Json ToJson(const std::vector<DeviceInfo>& devices) { return ArrayOf(devices); }

Json ToJson(const std::vector<SelfTestReport>& reports) { return ArrayOf(reports); }

}  // namespace opserve::cli
