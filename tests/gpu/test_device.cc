#include "tests/gpu/test_device.h"

#include <algorithm>
#include <vector>

#include "tests/testing/required.h"

namespace opserve::testing {
namespace {

using d3d12::AdapterInfo;
using d3d12::D3D12Device;
using d3d12::Runtime;

absl::StatusOr<std::unique_ptr<D3D12Device>> MakeTestDevice() {
  const auto& runtime = TestRuntime();
  if (!runtime.ok()) return runtime.status();
  const std::vector<AdapterInfo>& adapters = (*runtime)->adapters();
  if (adapters.empty()) return absl::NotFoundError("Vulkan has no adapters.");
  const auto hardware =
      std::find_if(adapters.begin(), adapters.end(),
                   [](const AdapterInfo& adapter) { return !adapter.is_software; });
  return D3D12Device::Create(*runtime, hardware == adapters.end() ? 0 : hardware->index);
}

}  // namespace

const absl::StatusOr<std::shared_ptr<const Runtime>>& TestRuntime() {
  static const auto& runtime = *new absl::StatusOr<std::shared_ptr<const Runtime>>(Runtime::Load());
  return runtime;
}

const absl::StatusOr<std::unique_ptr<D3D12Device>>& TestDevice() {
  static const auto& device = *new absl::StatusOr<std::unique_ptr<D3D12Device>>(MakeTestDevice());
  return device;
}

DeviceCall CallOf(const Invocation& invocation, std::span<const std::byte* const> inputs,
                  std::byte* output) {
  DeviceCall call = {&invocation, {}, output};
  std::copy(inputs.begin(), inputs.end(), call.inputs.begin());
  return call;
}

absl::Status RunOne(ComputeDevice& device, const Invocation& invocation,
                    std::span<const std::byte* const> inputs, std::byte* output) {
  const DeviceCall call = CallOf(invocation, inputs, output);
  return device.Run({&call, 1});
}

void GpuTest::SetUp() {
  const auto& made = TestDevice();
  if (made.ok()) return;
  if (absl::IsNotFound(made.status())) return SkipWithout("gpu", made.status().message());
  FAIL() << made.status();
}

std::unique_ptr<D3D12Device> GpuTest::MakeDevice(const d3d12::DeviceOptions& options) {
  for (const AdapterInfo& adapter : (*TestRuntime())->adapters()) {
    if (adapter.name != device().profile().description) continue;
    auto made = D3D12Device::Create(*TestRuntime(), adapter.index, options);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }
  return nullptr;
}

}  // namespace opserve::testing
