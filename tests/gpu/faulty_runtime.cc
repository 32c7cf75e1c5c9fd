#include "tests/gpu/faulty_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/gpu/faulty_vulkan.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/required.h"

namespace opserve::testing {

using d3d12::AdapterInfo;
using d3d12::D3D12Device;
using d3d12::Runtime;

absl::StatusOr<std::shared_ptr<const Runtime>> LoadFaultyRuntime() {
  if (!FaultyVulkan::HasLoader()) return absl::NotFoundError("Cannot load libvulkan.so.1.");
  return Runtime::Load({.adapters = FaultyVulkan::path()});
}

const absl::StatusOr<std::shared_ptr<const Runtime>>& FaultyRuntime() {
  static const auto& runtime =
      *new absl::StatusOr<std::shared_ptr<const Runtime>>(LoadFaultyRuntime());
  return runtime;
}

void RequireFaultyRuntime() {
  const auto& runtime = FaultyRuntime();
  if (absl::IsNotFound(runtime.status())) {
    return SkipWithout("gpu", runtime.status().message());
  }
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  if ((*runtime)->adapters().empty()) SkipWithout("gpu", "Vulkan has no adapters.");
}

absl::StatusOr<std::unique_ptr<D3D12Device>> MakeFaultyDevice(const d3d12::DeviceOptions& options) {
  return MakeFaultyDevice(*FaultyRuntime(), options);
}

absl::StatusOr<std::unique_ptr<D3D12Device>> MakeFaultyDevice(
    std::shared_ptr<const Runtime> runtime, const d3d12::DeviceOptions& options) {
  const std::vector<AdapterInfo>& adapters = runtime->adapters();
  const auto hardware =
      std::find_if(adapters.begin(), adapters.end(),
                   [](const AdapterInfo& adapter) { return !adapter.is_software; });
  const int adapter = hardware == adapters.end() ? 0 : hardware->index;
  return D3D12Device::Create(std::move(runtime), adapter, options);
}

void ExpectDevices(int count) {
  EXPECT_TRUE(WaitUntil([count] { return FaultyVulkan::devices() == count; }));
}

void ExpectAllFreed() {
  ExpectDevices(0);
  EXPECT_EQ(FaultyVulkan::memory_bytes(), 0u);
}

}  // namespace opserve::testing
