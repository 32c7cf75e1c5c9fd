#include "tests/gpu/system_runtime.h"

#include <gtest/gtest.h>

#include "tests/gpu/faulty_vulkan.h"
#include "tests/gpu/singleton_d3d12.h"
#include "tests/integration/wait_until.h"
#include "tests/modules/fake_dxcore.h"
#include "tests/testing/required.h"

namespace opserve::testing {

using d3d12::D3D12Device;
using d3d12::Runtime;

const absl::StatusOr<std::shared_ptr<const Runtime>>& SystemRuntime() {
  static const auto& runtime = *[] {
    FakeDxcoreReset(1);
    return new absl::StatusOr<std::shared_ptr<const Runtime>>(
        Runtime::Load({OPSERVE_SINGLETON_D3D12, OPSERVE_SINGLETON_D3D12}));
  }();
  return runtime;
}

void RequireSystemRuntime() {
  if (!SingletonD3D12::HasLibraries()) {
    return SkipWithout("gpu", "There is no libvkd3d.so.1, or no Vulkan driver.");
  }
  ASSERT_TRUE(SystemRuntime().ok()) << SystemRuntime().status();
  SingletonD3D12::Arm(SystemCall::kExecute, SystemFault::kRemoved, 0);
  SingletonD3D12::OfferRemoveDevice(true);
}

absl::StatusOr<std::unique_ptr<D3D12Device>> MakeSystemDevice(const d3d12::DeviceOptions& options) {
  return D3D12Device::Create(*SystemRuntime(), 0, options);
}

void ExpectAllReleased() {
  EXPECT_TRUE(WaitUntil([] { return SingletonD3D12::devices() == 0; }));
  EXPECT_TRUE(WaitUntil([] { return FaultyVulkan::devices() == 0; }));
  EXPECT_EQ(FaultyVulkan::memory_bytes(), 0u);
}

}  // namespace opserve::testing
