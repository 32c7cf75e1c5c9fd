// Direct3D 12 as Windows has it: adapters, a device, and every operator in every type and layout,
// bit for bit against the scalar reference. Wine stands for Windows where there is none; what has
// no Direct3D 12 at all fails, for then nothing was tested.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "kernels/attribute_settings.h"
#include "kernels/hlsl/render.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/open_elements.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using d3d12::Runtime;

const absl::StatusOr<std::shared_ptr<const Runtime>>& TestRuntime() {
  static const auto& runtime = *new absl::StatusOr<std::shared_ptr<const Runtime>>(Runtime::Load());
  return runtime;
}

absl::StatusOr<std::unique_ptr<D3D12Device>> MakeDevice() {
  if (!TestRuntime().ok()) return TestRuntime().status();
  return D3D12Device::Create(*TestRuntime(), 0);
}

const absl::StatusOr<std::unique_ptr<D3D12Device>>& TestDevice() {
  static const auto& device = *new absl::StatusOr<std::unique_ptr<D3D12Device>>(MakeDevice());
  return device;
}

TEST(WindowsRuntimeTest, AdaptersAreDescribed) {
  ASSERT_TRUE(TestRuntime().ok()) << TestRuntime().status();
  EXPECT_STREQ((*TestRuntime())->name(), "windows");
  ASSERT_FALSE((*TestRuntime())->adapters().empty());
  for (const d3d12::AdapterInfo& adapter : (*TestRuntime())->adapters()) {
    std::cout << "adapter " << adapter.index << ": " << adapter.name << ", driver "
              << adapter.driver << ", " << (adapter.memory_bytes >> 20) << " MiB"
              << (adapter.is_software ? ", software" : "") << "\n";
    EXPECT_EQ(adapter.runtime, "windows");
    EXPECT_FALSE(adapter.name.empty());
    EXPECT_GT(adapter.max_buffer_bytes, 0u);
  }
}

TEST(WindowsRuntimeTest, MissingLibraryIsNamed) {
  const absl::Status status = Runtime::Load({"no-such.dll", ""}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("no-such.dll"), absl::string_view::npos);
}

class WindowsDeviceTest : public ::testing::TestWithParam<Cell> {
 protected:
  void SetUp() override { ASSERT_TRUE(TestDevice().ok()) << TestDevice().status(); }

  void Check(const Invocation& invocation, const std::string& what) {
    std::vector<GuardedInput> inputs = MakeInputs(invocation, random_);
    CloseOpenElements(invocation, inputs);
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    SentinelOutput output(invocation.output_bytes, /*misalignment=*/1);
    DeviceCall call = {&invocation, {}, output.data()};
    std::copy(pointers.begin(), pointers.end(), call.inputs.begin());
    const absl::Status status = (*TestDevice())->Run({&call, 1});
    ASSERT_TRUE(status.ok()) << what << ": " << status;
    const std::vector<std::byte> expected = ReferenceOutput(invocation, pointers);
    EXPECT_EQ(Difference(invocation, expected.data(), output.data()), "") << what;
    EXPECT_TRUE(output.intact()) << what;
  }

  std::mt19937_64 random_{20260801};
};

TEST_P(WindowsDeviceTest, AllLayouts) {
  for (int setting = 0; setting < PlainSettingCount(*GetParam().op); ++setting) {
    for (uint32_t size : {7u, 300u}) {
      for (const Layout& layout : LayoutsOf(size)) {
        const auto invocation = MakeCall(GetParam(), setting, layout);
        ASSERT_NE(invocation, nullptr);
        Check(*invocation, std::string(layout.name) + ", size " + std::to_string(size) +
                               ", setting " + std::to_string(setting));
        if (HasFailure()) return;
      }
    }
  }
}

std::vector<Cell> CellsWithKernels() {
  std::vector<Cell> cells;
  for (const hlsl::KernelKey& key : hlsl::AllKernelKeys()) {
    if (key.mode == 0 && key.layout == hlsl::LayoutClass::kPacked) {
      cells.push_back({&TraitsOf(key.op), key.lane, key.output});
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(AllCells, WindowsDeviceTest, ::testing::ValuesIn(CellsWithKernels()),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace
}  // namespace opserve::testing
