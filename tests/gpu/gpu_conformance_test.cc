// Every operator in every type and layout on a Direct3D 12 device, bit for bit against the scalar
// reference: the same calls and inputs that hold the CPU's kernels to it.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attribute_settings.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/open_elements.h"
#include "tests/conformance/special_values.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

// Around words, thread groups, and what a group takes in one step; and more than one group.
constexpr uint32_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 255, 256, 257, 1025, 5000};
// Enough where only what is computed is new, and not where it lies.
constexpr uint32_t kFewSizes[] = {7, 258};

class GpuConformanceTest : public GpuTest, public ::testing::WithParamInterface<Cell> {
 protected:
  const Cell& cell() const { return GetParam(); }

  void Check(const Invocation& call, const std::string& what) {
    CheckInputs(call, MakeInputs(call, random_), what);
  }

  void CheckInputs(const Invocation& call, std::vector<GuardedInput> inputs,
                   const std::string& what) {
    CloseOpenElements(call, inputs);
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    SentinelOutput output(call.output_bytes, /*misalignment=*/1);
    const absl::Status status = RunOne(device(), call, pointers, output.data());
    ASSERT_TRUE(status.ok()) << what << ": " << status;
    const std::vector<std::byte> expected = ReferenceOutput(call, pointers);
    EXPECT_EQ(Difference(call, expected.data(), output.data()), "") << what;
    EXPECT_TRUE(output.intact()) << what;
  }

  // A call in each layout.
  void CheckLayouts(int setting, uint32_t size) {
    for (const Layout& layout : LayoutsOf(size)) {
      const std::shared_ptr<const Invocation> call = MakeCall(cell(), setting, layout);
      ASSERT_NE(call, nullptr);
      Check(*call, std::string(layout.name) + ", size " + std::to_string(size) + ", setting " +
                       std::to_string(setting));
      if (HasFailure()) return;
    }
  }

  std::mt19937_64 random_{20260801};
};

TEST_P(GpuConformanceTest, IsSupported) {
  EXPECT_TRUE(device().Supports(cell().op->id, cell().lane));
}

TEST_P(GpuConformanceTest, AllLayouts) {
  for (int mode = 0; mode < cell().mode_count(); ++mode) {
    for (const uint32_t size : kFewSizes) CheckLayouts(mode, size);
  }
}

// Every special value in the lane input, with every special value in the last input; and strided.
TEST_P(GpuConformanceTest, AllSettings) {
  // gpu_quantization_test.cc has those without.
  if (cell().op->lane_tensor() == cell().op->input_count()) return;
  const std::vector<uint64_t>& special = SpecialValues(cell().lane);
  const auto count = static_cast<uint32_t>(special.size() * special.size());
  const size_t size = SizeOf(cell().lane);
  for (int setting = 0; setting < PlainSettingCount(*cell().op); ++setting) {
    const std::string what = "setting " + std::to_string(setting);
    const std::shared_ptr<const Invocation> call = MakeCall(cell(), setting, Packed(count));
    ASSERT_NE(call, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    for (uint32_t i = 0; i < count; ++i) {
      std::memcpy(inputs[cell().op->lane_tensor()].data() + i * size, &special[i / special.size()],
                  size);
      std::memcpy(inputs.back().data() + i * inputs.back().size() / count,
                  &special[i % special.size()], inputs.back().size() / count);
    }
    CheckInputs(*call, std::move(inputs), what);
    const std::shared_ptr<const Invocation> strided = MakeCall(cell(), setting, LayoutsOf(33)[1]);
    ASSERT_NE(strided, nullptr);
    Check(*strided, what + ", strided");
  }
}

INSTANTIATE_TEST_SUITE_P(AllCells, GpuConformanceTest, ::testing::ValuesIn(CellsWithKernels()),
                         [](const auto& instance) { return instance.param.name(); });

// What depends on the shape and the widths of elements alone.
class GpuLayoutTest : public GpuConformanceTest {};

TEST_P(GpuLayoutTest, AllSizes) {
  for (const uint32_t size : kSizes) CheckLayouts(0, size);
}

// Outputs whose elements interleave without overlapping: no loop of the nest lies inside another.
TEST_P(GpuLayoutTest, InterleavedOutput) {
  const Layout layouts[] = {
      {"2 by 3", {2, 3}, {{}, {}, {}, {3, 2}}},
      {"4 by 5 by 2", {4, 5, 2}, {{}, {0, 1, 5}, {}, {5, 4, 41}}},
  };
  for (const Layout& layout : layouts) {
    const std::shared_ptr<const Invocation> call = MakeCall(cell(), 0, layout);
    ASSERT_NE(call, nullptr);
    Check(*call, layout.name);
  }
}

// Several MiB of the widest tensor: many groups.
TEST_P(GpuLayoutTest, LargeTensors) {
  const uint32_t bytes = 9u << 20;
  size_t widest = SizeOf(cell().lane);
  for (int i = 0; i < cell().op->input_count(); ++i) {
    widest = std::max(widest, SizeOf(cell().op->InputType(i, cell().lane)));
  }
  const uint32_t count = bytes / static_cast<uint32_t>(widest) + 3;
  for (const Layout& layout : {Packed(count), LayoutsOf(count / 8)[5]}) {
    const std::shared_ptr<const Invocation> call = MakeCall(cell(), 0, layout);
    ASSERT_NE(call, nullptr);
    Check(*call, layout.name);
  }
}

INSTANTIATE_TEST_SUITE_P(AllWidths, GpuLayoutTest, ::testing::ValuesIn(CellsOfEachWidth()),
                         [](const auto& instance) { return instance.param.name(); });

// A call with an element that is left open is given up as a whole, alone or in a batch, packed or
// strided; the next one is as good as ever.
TEST_F(GpuTest, OpenElementsAreTold) {
  const Cell cell = {FindOperator("ACTIVATION_ELU"), DataType::kFloat32, DataType::kFloat32};
  // Half of an odd number of the smallest kind, and of an even one.
  constexpr float kOpen = -0x3p-149f;
  constexpr float kDecided = -0x4p-149f;
  for (const Layout& layout : {Packed(300), Layout{"strided", {300}, {{2}, {}, {}, {3}}}}) {
    const std::shared_ptr<const Invocation> made = MakeCall(cell, 0, layout);
    ASSERT_NE(made, nullptr);
    Invocation call = *made;
    call.attributes[0] = std::bit_cast<uint32_t>(0.5f);
    std::mt19937_64 random(1);
    std::vector<GuardedInput> inputs = MakeInputs(call, random);
    for (const float value : {kDecided, kOpen, kDecided}) {
      for (size_t i = 0; i < inputs[0].size() / sizeof(float); ++i) {
        std::memcpy(inputs[0].data() + i * sizeof(float), &kDecided, sizeof(float));
      }
      std::memcpy(inputs[0].data() + inputs[0].size() - sizeof(float), &value, sizeof(float));
      SentinelOutput output(call.output_bytes, 0);
      const absl::Status status = RunOne(device(), call, PointersTo(inputs), output.data());
      EXPECT_EQ(absl::IsOutOfRange(status), value == kOpen) << layout.name << ": " << status;
      EXPECT_EQ(status.ok(), value == kDecided) << layout.name << ": " << status;
    }
  }
}

TEST_F(GpuTest, TakesNoFusedActivation) {
  const Cell cell = {FindOperator("ELEMENT_WISE_ADD1"), DataType::kFloat32, DataType::kFloat32};
  for (const int setting : {0, PlainSettingCount(*cell.op)}) {
    const std::shared_ptr<const Invocation> call = MakeCall(cell, setting, Packed(3));
    ASSERT_NE(call, nullptr);
    ASSERT_EQ(call->fused_activation.has_value(), setting > 0);
    std::mt19937_64 random(1);
    const std::vector<GuardedInput> inputs = MakeInputs(*call, random);
    SentinelOutput output(call->output_bytes, 0);
    const absl::Status status = RunOne(device(), *call, PointersTo(inputs), output.data());
    EXPECT_EQ(absl::IsUnimplemented(status), setting > 0) << status;
  }
}

TEST_F(GpuTest, TakesNoScaleBias) {
  const Cell cell = {FindOperator("ELEMENT_WISE_IDENTITY"), DataType::kFloat32, DataType::kFloat32};
  const std::shared_ptr<const Invocation> call =
      MakeCall(cell, cell.setting_count() - 1, Packed(3));
  ASSERT_NE(call, nullptr);
  ASSERT_TRUE(call->scale_bias.has_value());
  std::mt19937_64 random(1);
  const std::vector<GuardedInput> inputs = MakeInputs(*call, random);
  SentinelOutput output(call->output_bytes, 0);
  EXPECT_TRUE(absl::IsUnimplemented(RunOne(device(), *call, PointersTo(inputs), output.data())));
}

}  // namespace
}  // namespace opserve::testing
