#include "server/program/gpu_sources.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/module/module_loader.h"
#include "server/program/gpu_selection.h"

namespace opserve {
namespace {

using d3d12::AdapterInfo;
using d3d12::D3D12Module;
using d3d12::D3D12Modules;

// An adapter that is of no use, and why.
struct LeftOutAdapter {
  std::string runtime;
  absl::Status reason;
};

// An adapter and the run time that reaches it.
struct Found {
  std::vector<AdapterInfo> adapters;
  std::vector<LeftOutAdapter> left_out;
  // Beside each adapter.
  std::vector<std::shared_ptr<const D3D12Module>> modules;
};

Found FindAdapters(D3D12Modules& loaded) {
  Found found;
  for (auto& module : loaded.modules) {
    const std::shared_ptr<const D3D12Module> shared = std::move(module);
    for (const absl::Status& reason : shared->left_out()) {
      found.left_out.push_back({shared->name(), reason});
    }
    for (const AdapterInfo& adapter : shared->adapters()) {
      found.adapters.push_back(adapter);
      found.modules.push_back(shared);
    }
  }
  return found;
}

DeviceSource MakeSource(const GpuChoice& choice, const Found& found, const GpuOptions& options) {
  const AdapterInfo& adapter = found.adapters[choice.adapter];
  const std::shared_ptr<const D3D12Module> module = found.modules[choice.adapter];
  DeviceSource source;
  source.profile.kind = DeviceKind::kGpu;
  source.profile.name = choice.name;
  source.profile.description = adapter.name;
  source.profile.runtime = module->name();
  source.profile.driver = adapter.driver;
  source.profile.memory_bytes = adapter.memory_bytes;
  source.profile.is_software = adapter.is_software;
  d3d12::DeviceOptions device_options;
  device_options.name = choice.name;
  device_options.memory_budget = options.memory_bytes;
  device_options.timeout = options.timeout;
  source.create = [module, index = adapter.index, device_options] {
    return module->CreateDevice(index, device_options);
  };
  return source;
}

bool NamesGpus(const GpuOptions& options) {
  return std::any_of(options.devices.begin(), options.devices.end(), [](const std::string& device) {
    return device != "none" && device != "auto";
  });
}

bool WantsGpus(const GpuOptions& options) {
  return std::any_of(options.devices.begin(), options.devices.end(),
                     [](const std::string& device) { return device != "none"; });
}

}  // namespace

absl::StatusOr<std::vector<DeviceSource>> FindGpus(const GpuOptions& options, Logger& logger) {
  std::vector<DeviceSource> sources;
  if (!WantsGpus(options)) return sources;
  D3D12Modules loaded = d3d12::LoadD3D12Modules(d3d12::ModuleDirectories());
  // Of the run times of one machine all but one are usually missing.
  const LogLevel level = loaded.modules.empty() ? LogLevel::kInfo : LogLevel::kDebug;
  for (const d3d12::AbsentRuntime& absent : loaded.absent) {
    logger.Log(level, "no GPU runtime",
               {{"runtime", absent.name}, {"reason", absent.reason.message()}});
  }
  // Nothing to pick from is the machine's state, not a mistake of whoever named a device.
  if (loaded.modules.empty()) return sources;
  const Found found = FindAdapters(loaded);
  for (const LeftOutAdapter& adapter : found.left_out) {
    logger.Log(LogLevel::kWarn, "GPU left out",
               {{"runtime", adapter.runtime}, {"reason", adapter.reason.message()}});
  }
  const absl::StatusOr<std::vector<GpuChoice>> choices = SelectGpus(found.adapters, options);
  if (!choices.ok()) return choices.status();
  for (const GpuChoice& choice : *choices) sources.push_back(MakeSource(choice, found, options));
  return sources;
}

absl::StatusOr<GpuFinder> MakeGpuFinder(const GpuOptions& options, Logger& logger) {
  if (!WantsGpus(options)) return GpuFinder();
  if (!NamesGpus(options)) {
    // Without names there is nothing that could be missing.
    return [options, &logger] {
      return FindGpus(options, logger).value_or(std::vector<DeviceSource>());
    };
  }
  absl::StatusOr<std::vector<DeviceSource>> named = FindGpus(options, logger);
  if (!named.ok()) return named.status();
  if (named->empty()) return GpuFinder();
  return [sources = *std::move(named)] { return sources; };
}

std::string DescribeAdapters() {
  D3D12Modules loaded = d3d12::LoadD3D12Modules(d3d12::ModuleDirectories());
  const Found found = FindAdapters(loaded);
  std::string text;
  for (size_t i = 0; i < found.adapters.size(); ++i) {
    const AdapterInfo& adapter = found.adapters[i];
    // Only a device tells the feature level.
    const auto device = found.modules[i]->CreateDevice(adapter.index, {});
    absl::StrAppend(&text, i, ": ", DescribeAdapter(adapter), ", ", found.modules[i]->name(), ", ",
                    device.ok() ? absl::StrCat("feature level ", (*device)->profile().feature_level)
                                : absl::StrCat("unusable: ", device.status().message()),
                    "\n");
  }
  for (const LeftOutAdapter& adapter : found.left_out) {
    absl::StrAppend(&text, "left out, ", adapter.runtime, ": ", adapter.reason.message(), "\n");
  }
  for (const d3d12::AbsentRuntime& absent : loaded.absent) {
    absl::StrAppend(&text, "no ", absent.name, ": ", absent.reason.message(), "\n");
  }
  return text;
}

}  // namespace opserve
