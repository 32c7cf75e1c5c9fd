// Every operator in every type on every instruction set of the host: sizes around those of vectors,
// all layouts, special values; bit for bit against the reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/attribute_settings.h"
#include "kernels/cpu/bound_kernel.h"
#include "kernels/cpu/cpu_executor.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

// Around the number of lanes of every vector size, and around tiles.
constexpr uint32_t kSizes[] = {1,  2,  3,  7,  8,  9,   15,  16,  17,  31,
                               32, 33, 63, 64, 65, 127, 128, 129, 1025};
// What is split among threads.
constexpr uint32_t kSharedSize = 70001;

class KernelConformanceTest : public ::testing::TestWithParam<std::tuple<Cell, int64_t>> {
 protected:
  const Cell& cell() const { return std::get<Cell>(GetParam()); }

  // Runs one call and compares it with the reference.
  void Check(const Invocation& call, const std::string& what, size_t misalignment) {
    const std::vector<GuardedInput> inputs = MakeInputs(call, random_);
    CheckInputs(call, inputs, what, misalignment);
  }

  void CheckInputs(const Invocation& call, const std::vector<GuardedInput>& inputs,
                   const std::string& what, size_t misalignment) {
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    SentinelOutput output(call.output_bytes, misalignment);
    Executor().Run(call, pointers, output.data());
    const std::vector<std::byte> expected = ReferenceOutput(call, pointers);
    EXPECT_EQ(Difference(call, expected.data(), output.data()), "") << what;
    EXPECT_TRUE(output.intact()) << what;
  }

  // A call in each layout.
  void CheckLayouts(int setting, uint32_t size) {
    for (const Layout& layout : LayoutsFor(setting, size)) {
      const std::shared_ptr<const Invocation> call = MakeCall(cell(), setting, layout);
      ASSERT_NE(call, nullptr);
      const std::string what = std::string(layout.name) + ", size " + std::to_string(size) +
                               ", setting " + std::to_string(setting);
      Check(*call, what, /*misalignment=*/0);
      if (HasFailure()) return;
    }
  }

  // All sizes with every kernel; what attributes change is the same in all of them.
  std::vector<uint32_t> SizesFor(int setting) const {
    if (setting < cell().mode_count()) return {std::begin(kSizes), std::end(kSizes)};
    return {5, 129};
  }

  // Attributes do not meet layouts but in the step that a ScaleBias adds.
  std::vector<Layout> LayoutsFor(int setting, uint32_t size) const {
    const int first_scale_bias = PlainSettingCount(*cell().op);
    if (setting < cell().mode_count() || setting == first_scale_bias) return LayoutsOf(size);
    return {Packed(size)};
  }

  std::mt19937_64 random_{20260801};

 private:
  ScopedTarget target_{std::get<int64_t>(GetParam())};
};

TEST_P(KernelConformanceTest, AllLayouts) {
  for (int setting = 0; setting < cell().setting_count(); ++setting) {
    for (uint32_t size : SizesFor(setting)) {
      CheckLayouts(setting, size);
      if (HasFailure()) return;
    }
  }
}

// Inputs end right before a forbidden page, so that odd sizes misalign them; the output moves
// through all alignments.
TEST_P(KernelConformanceTest, Misaligned) {
  for (int mode = 0; mode < cell().mode_count(); ++mode) {
    for (size_t misalignment = 0; misalignment < 65; ++misalignment) {
      const uint32_t size = 200 + static_cast<uint32_t>(misalignment);
      const auto call = MakeCall(cell(), mode, Packed(size));
      ASSERT_NE(call, nullptr);
      std::vector<GuardedInput> inputs;
      for (GuardedInput& input : MakeInputs(*call, random_)) {
        // One byte more, so that elements lie across their natural boundaries.
        GuardedInput& moved = inputs.emplace_back(input.size() + misalignment % 8);
        std::copy_n(input.data(), input.size(), moved.data());
      }
      CheckInputs(*call, inputs, "misaligned by " + std::to_string(misalignment), misalignment);
      if (HasFailure()) return;
    }
  }
}

// What splits calls among threads knows nothing of types and instruction sets.
class KernelThreadsTest : public KernelConformanceTest {};

TEST_P(KernelThreadsTest, AllLayouts) { CheckLayouts(/*setting=*/0, kSharedSize); }

// Streaming stores are for large results only; kernels must be right with them at any size.
class KernelStreamingTest : public KernelConformanceTest {};

TEST_P(KernelStreamingTest, StreamingStores) {
  for (int mode = 0; mode < cell().mode_count(); ++mode) {
    for (size_t misalignment = 0; misalignment < 65; ++misalignment) {
      const auto call = MakeCall(cell(), mode, Packed(1 + 9 * static_cast<uint32_t>(misalignment)));
      ASSERT_NE(call, nullptr);
      const std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
      const std::vector<const std::byte*> pointers = PointersTo(inputs);
      SentinelOutput output(call->output_bytes, misalignment);
      cpu::BoundKernel(*call).Run(pointers.data(), output.data(), call->plan.element_count,
                                  cpu::StoreMode::kStreaming);
      const std::vector<std::byte> expected = ReferenceOutput(*call, pointers);
      EXPECT_EQ(Difference(*call, expected.data(), output.data()), "") << misalignment;
      EXPECT_TRUE(output.intact()) << misalignment;
      if (HasFailure()) return;
    }
  }
}

// Every special value in the lane input, or the first, with every special value in the last input.
TEST_P(KernelConformanceTest, PairsOfSpecialValues) {
  const int last = cell().op->input_count() - 1;
  const int lane = cell().op->lane_tensor();
  const int first = lane > last ? 0 : lane;
  const auto type = [&](int i) { return cell().op->InputType(i, cell().lane); };
  const std::vector<uint64_t>& a = SpecialValues(type(first));
  const std::vector<uint64_t>& b = SpecialValues(type(last));
  const bool is_pair = last > 0;
  const auto count = static_cast<uint32_t>(a.size() * (is_pair ? b.size() : 1));
  for (int setting = 0; setting < cell().setting_count(); ++setting) {
    const auto call = MakeCall(cell(), setting, Packed(count));
    ASSERT_NE(call, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    const size_t a_size = SizeOf(type(first));
    const size_t b_size = SizeOf(type(last));
    for (uint32_t i = 0; i < count; ++i) {
      std::memcpy(inputs[first].data() + i * a_size, &a[is_pair ? i / b.size() : i], a_size);
      if (!is_pair || cell().op->inputs[last].is_single) continue;
      std::memcpy(inputs[last].data() + i * b_size, &b[i % b.size()], b_size);
    }
    CheckInputs(*call, inputs, "setting " + std::to_string(setting), /*misalignment=*/0);
  }
}

// Operators with one input of a type of at most 16 bits: all values.
class KernelAllValuesTest : public KernelConformanceTest {};

TEST_P(KernelAllValuesTest, EqualReference) {
  const size_t size = SizeOf(cell().lane);
  const uint32_t count = uint32_t{1} << (8 * size);
  for (int setting = 0; setting < cell().setting_count(); ++setting) {
    const auto call = MakeCall(cell(), setting, Packed(count));
    ASSERT_NE(call, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    for (uint32_t i = 0; i < count; ++i) std::memcpy(inputs[0].data() + i * size, &i, size);
    CheckInputs(*call, inputs, "setting " + std::to_string(setting), /*misalignment=*/0);
  }
}

// Operators with two inputs of one byte: all pairs.
class KernelAllPairsTest : public KernelConformanceTest {};

TEST_P(KernelAllPairsTest, EqualReference) {
  for (int setting = 0; setting < cell().setting_count(); ++setting) {
    const auto call = MakeCall(cell(), setting, Packed(65536));
    ASSERT_NE(call, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    for (size_t i = 0; i < 65536; ++i) {
      inputs[0].data()[i] = static_cast<std::byte>(i >> 8);
      inputs[1].data()[i] = static_cast<std::byte>(i & 0xFF);
    }
    CheckInputs(*call, inputs, "setting " + std::to_string(setting), /*misalignment=*/0);
  }
}

// The cells with this many inputs and a lane type of at most this many bytes.
std::vector<Cell> SmallCells(int input_count, size_t max_bytes) {
  std::vector<Cell> cells;
  for (const Cell& cell : AllCells()) {
    if (cell.op->input_count() == input_count && SizeOf(cell.lane) <= max_bytes) {
      cells.push_back(cell);
    }
  }
  return cells;
}

// The first cell of each operator.
std::vector<Cell> CellOfEachOperator() {
  std::vector<Cell> cells;
  for (const Cell& cell : AllCells()) {
    if (cells.empty() || cells.back().op != cell.op) cells.push_back(cell);
  }
  return cells;
}

std::string NameOfInstance(const ::testing::TestParamInfo<std::tuple<Cell, int64_t>>& instance) {
  return std::get<Cell>(instance.param).name() + "_" +
         TargetName(std::get<int64_t>(instance.param));
}

INSTANTIATE_TEST_SUITE_P(AllCells, KernelConformanceTest,
                         ::testing::Combine(::testing::ValuesIn(AllCells()),
                                            ::testing::ValuesIn(RunnableTargets())),
                         NameOfInstance);
INSTANTIATE_TEST_SUITE_P(Operators, KernelThreadsTest,
                         ::testing::Combine(::testing::ValuesIn(CellOfEachOperator()),
                                            ::testing::Values(RunnableTargets().front())),
                         NameOfInstance);
INSTANTIATE_TEST_SUITE_P(PackableCells, KernelStreamingTest,
                         ::testing::Combine(::testing::ValuesIn(PackableCells()),
                                            ::testing::ValuesIn(RunnableTargets())),
                         NameOfInstance);
INSTANTIATE_TEST_SUITE_P(SmallCells, KernelAllValuesTest,
                         ::testing::Combine(::testing::ValuesIn(SmallCells(1, 2)),
                                            ::testing::ValuesIn(RunnableTargets())),
                         NameOfInstance);
INSTANTIATE_TEST_SUITE_P(SmallCells, KernelAllPairsTest,
                         ::testing::Combine(::testing::ValuesIn(SmallCells(2, 1)),
                                            ::testing::ValuesIn(RunnableTargets())),
                         NameOfInstance);

}  // namespace
}  // namespace opserve::testing
