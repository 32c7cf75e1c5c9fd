// Devices of a module, in a program that is compiled for no run time itself.

#include <gtest/gtest.h>

#include <random>

#include "server/d3d12/module/module_loader.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/open_elements.h"
#include "tests/testing/required.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Module;
using d3d12::D3D12Modules;

const D3D12Modules& Loaded() {
  static const auto& loaded =
      *new D3D12Modules(d3d12::LoadD3D12Modules(d3d12::ModuleDirectories()));
  return loaded;
}

// Skips where the machine has no run time or no adapter; fails where it has one that does not work.
class ModuleDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const d3d12::AbsentRuntime& absent : Loaded().absent) {
      EXPECT_EQ(absent.reason.code(), absl::StatusCode::kNotFound) << absent.reason;
    }
    for (const auto& module : Loaded().modules) {
      if (!module->adapters().empty()) module_ = module.get();
    }
    if (module_ == nullptr) SkipWithout("gpu", WhyNone());
  }

  // No run time may be there, or one that has no adapters.
  static std::string WhyNone() {
    if (Loaded().absent.empty()) return "No run time has an adapter.";
    return std::string(Loaded().absent.front().reason.message());
  }

  const D3D12Module* module_ = nullptr;
};

TEST_F(ModuleDeviceTest, AdaptersNameTheirRuntime) {
  for (const d3d12::AdapterInfo& adapter : module_->adapters()) {
    EXPECT_EQ(adapter.runtime, module_->name());
    EXPECT_FALSE(adapter.name.empty());
  }
}

TEST_F(ModuleDeviceTest, DeviceComputes) {
  const auto device = module_->CreateDevice(0, {});
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->profile().runtime, module_->name());
  std::mt19937_64 random(1);
  for (const Cell& cell : AllCells()) {
    if (!(*device)->Supports(cell.op->id, cell.lane)) continue;
    const auto invocation = MakeCall(cell, 0, Packed(100));
    ASSERT_NE(invocation, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*invocation, random);
    CloseOpenElements(*invocation, inputs);
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    std::vector<std::byte> output(invocation->output_bytes);
    DeviceCall call = {invocation.get(), {}, output.data()};
    std::copy(pointers.begin(), pointers.end(), call.inputs.begin());
    const absl::Status status = (*device)->Run({&call, 1});
    ASSERT_TRUE(status.ok()) << cell.name() << ": " << status;
    EXPECT_EQ(Difference(*invocation, ReferenceOutput(*invocation, pointers).data(), output.data()),
              "")
        << cell.name();
  }
}

TEST_F(ModuleDeviceTest, ErrorsCrossTheBoundary) {
  const auto device = module_->CreateDevice(static_cast<int>(module_->adapters().size()), {});
  EXPECT_EQ(device.status().code(), absl::StatusCode::kInvalidArgument);
}

// Loading again gives the same code and independent objects.
TEST_F(ModuleDeviceTest, LoadsTwice) {
  const D3D12Modules again = d3d12::LoadD3D12Modules(d3d12::ModuleDirectories());
  ASSERT_EQ(again.modules.size(), Loaded().modules.size());
  EXPECT_NE(again.modules.front(), Loaded().modules.front());
}

}  // namespace
}  // namespace opserve::testing
