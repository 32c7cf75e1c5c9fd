// Operators that compute rows of elements: every one in every type on every instruction set of the
// host, over lengths of rows, sets of dimensions and layouts; bit for bit against the reference.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/cpu/row_kernels.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/conformance/targets.h"
#include "tests/testing/request_builder.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

using Dims = std::vector<uint32_t>;

// An operator of rows in one type.
struct RowCell {
  const OpTraits* op = nullptr;
  DataType type = DataType::kUnknown;
};

void PrintTo(const RowCell& cell, std::ostream* out) { *out << cell.op->name << NameOf(cell.type); }

std::vector<RowCell> AllRowCells() {
  std::vector<RowCell> cells;
  for (const OpTraits& op : OpTable()) {
    for (DataType type : kAllDataTypes) {
      if (op.shape.is_row && op.lane_types().contains(type)) cells.push_back({&op, type});
    }
  }
  return cells;
}

class RowConformanceTest : public ::testing::TestWithParam<std::tuple<RowCell, int64_t>> {
 protected:
  bool has_axes() const { return cell().op->axes_attribute() >= 0; }
  const RowCell& cell() const { return std::get<RowCell>(GetParam()); }

  // Runs a call and compares it with the reference. Operators without Axes do not look at them.
  void Check(const Dims& sizes, const Dims& input_strides, const Dims& output_strides,
             const std::vector<int64_t>& axes) {
    const std::string what = absl::StrCat(
        "sizes ", absl::StrJoin(sizes, ","), ", input ", absl::StrJoin(input_strides, ","),
        ", output ", absl::StrJoin(output_strides, ","), ", axes ", absl::StrJoin(axes, ","));
    RequestBuilder builder{std::string(cell().op->name)};
    if (has_axes()) builder.AxesOf("Axes", axes);
    builder.Input({cell().type, sizes, input_strides});
    builder.Output({cell().type, sizes, output_strides});
    const auto call = builder.Validate().invocation;
    ASSERT_NE(call, nullptr) << what;
    const std::vector<GuardedInput> inputs = MakeRowInputs(*call);
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    SentinelOutput output(call->output_bytes, random_() % 65);
    Executor().Run(*call, pointers, output.data());
    const std::vector<std::byte> expected = ReferenceOutput(*call, pointers);
    EXPECT_EQ(Difference(*call, expected.data(), output.data()), "") << what;
    EXPECT_TRUE(output.intact()) << what;
  }

  // Special values, numbers without any, and few different ones, so that some are equal.
  std::vector<GuardedInput> MakeRowInputs(const Invocation& call) {
    std::vector<GuardedInput> inputs = MakeInputs(call, random_);
    const uint64_t kind = random_() % 3;
    if (kind == 0) return inputs;
    const size_t size = SizeOf(cell().type);
    if (kind == 1) {
      std::normal_distribution<float> numbers(0, 5);
      for (size_t at = 0; at + size <= inputs[0].size(); at += size) {
        const float number = numbers(random_);
        const reference::Float16 half = reference::ToHalf(number);
        std::memcpy(inputs[0].data() + at,
                    size == sizeof(half) ? static_cast<const void*>(&half) : &number, size);
      }
      return inputs;
    }
    for (size_t at = 0; at + size <= inputs[0].size(); at += size) {
      std::memmove(inputs[0].data() + at, inputs[0].data() + random_() % 3 * size % (at + size),
                   size);
    }
    return inputs;
  }

  std::mt19937_64 random_{20261123};

 private:
  ScopedTarget target_{std::get<int64_t>(GetParam())};
};

TEST_P(RowConformanceTest, Lengths) {
  for (const uint32_t length :
       {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 31u, 32u, 33u, 100u, 1000u, 4099u}) {
    const Dims sizes = {3, length};
    for (int i = 0; i < 4; ++i) Check(sizes, {}, {}, {1});
    Check(sizes, {length + 3, 1}, {length + 1, 1}, {1});
    Check(sizes, {1, 3}, {}, {1});
    Check(sizes, {}, {1, 3}, {1});
    Check(sizes, {2 * length, 2}, {3 * length, 3}, {1});
    Check(sizes, {0, 1}, {}, {1});
    Check(sizes, {1, 0}, {}, {1});
    Check(sizes, {0, 0}, {1, 3}, {1});
    Check({length}, {}, {}, {0});
    Check({length, 3}, {}, {}, {0});
    Check({1, length, 1}, {7, 2, 0}, {}, {2, 2});
    if (HasFailure()) return;
  }
}

TEST_P(RowConformanceTest, EverySetOfDimensions) {
  if (!has_axes()) return;
  const Dims sizes = {2, 3, 4, 5};
  const Dims layouts[] = {{}, {1, 2, 6, 24}, {60, 1, 3, 12}, {70, 23, 5, 1}, {240, 80, 18, 3}};
  const Dims broadcasts[] = {{0, 1, 0, 3}, {1, 0, 2, 0}, {0, 0, 0, 0}, {0, 5, 0, 1}};
  for (uint32_t set = 0; set < 16; ++set) {
    std::vector<int64_t> axes;
    for (int64_t d = 3; d >= 0; --d) {
      if ((set >> d & 1) != 0) axes.push_back(d);
    }
    for (const Dims& output : layouts) {
      for (const Dims& input : layouts) Check(sizes, input, output, axes);
      for (const Dims& input : broadcasts) Check(sizes, input, output, axes);
    }
    for (size_t rank = 1; rank < 4; ++rank) {
      std::erase_if(axes, [rank](int64_t axis) { return axis >= static_cast<int64_t>(rank); });
      Check({sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(rank)}, {}, {}, axes);
    }
    if (HasFailure()) return;
  }
}

// Several threads, buffers of several rows, and rows that are longer than a buffer.
TEST_P(RowConformanceTest, ManyRowsAndLongOnes) {
  if (std::get<int64_t>(GetParam()) != RunnableTargets().front()) return;
  Check({70'001, 17}, {1, 70'001}, {}, {1});
  Check({7001, 17}, {}, {}, {1});
  Check({7001, 17}, {1, 7001}, {1, 7001}, {1});
  Check({3, 40'001}, {2 * 40'001, 2}, {}, {1});
  if (!has_axes()) return;
  Check({17, 7001}, {}, {}, {0});
  Check({60, 1000}, {}, {}, {});
  Check({60, 1000}, {1, 60}, {2, 120}, {});
  Check({10, 7, 900}, {}, {900, 9000, 1}, {1});
}

std::string NameOfRowInstance(
    const ::testing::TestParamInfo<std::tuple<RowCell, int64_t>>& instance) {
  const auto& [cell, target] = instance.param;
  return absl::StrCat(cell.op->name, "_", NameOf(cell.type), "_", TargetName(target));
}

INSTANTIATE_TEST_SUITE_P(AllCells, RowConformanceTest,
                         ::testing::Combine(::testing::ValuesIn(AllRowCells()),
                                            ::testing::ValuesIn(RunnableTargets())),
                         NameOfRowInstance);

TEST(RowKernelsTest, AreThereForRowsOnly) {
  for (const OpTraits& op : OpTable()) {
    for (DataType type : kAllDataTypes) {
      EXPECT_EQ(cpu::GetRowKernel(op.id, type) != nullptr,
                op.shape.is_row && op.lane_types().contains(type))
          << op.name << " " << NameOf(type);
      if (!op.shape.is_row) continue;
      EXPECT_EQ(cpu::GetKernel(op.id, {type, type}), nullptr) << op.name;
    }
  }
}

// What the reference says could be as wrong as the kernel.
TEST(HardmaxTest, ChoosesByScan) {
  const std::pair<std::array<float, 4>, size_t> cases[] = {{{1, 3, 2, 3}, 1},
                                                           {{-0.0f, 0, 0, -1}, 0},
                                                           {{kNan, kInf, 1, 2}, 0},
                                                           {{1, kNan, 2, kNan}, 2},
                                                           {{-kInf, -kInf, -kInf, -kInf}, 0},
                                                           {{-kInf, -kInf, -1, kNan}, 2},
                                                           {{-2, -1, -1, -3}, 1},
                                                           {{1, 2, kInf, kInf}, 2},
                                                           {{-1, -0.0f, 0, 1e-45f}, 3}};
  for (const auto& [row, chosen] : cases) {
    RequestBuilder builder("ACTIVATION_HARDMAX");
    const auto call = builder.Input({DataType::kFloat32, {4}}).Validate().invocation;
    ASSERT_NE(call, nullptr);
    std::array<float, 4> result = {};
    const auto* const input = reinterpret_cast<const std::byte*>(row.data());
    Executor().Run(*call, std::span(&input, 1), reinterpret_cast<std::byte*>(result.data()));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(result[i], i == chosen ? 1.0f : 0.0f) << row[0] << " " << row[1];
      EXPECT_FALSE(std::signbit(result[i]));
    }
  }
}

// Between steps that run block by block, over rows that lie across blocks.
TEST(RowSequenceTest, StepsAroundRowsGiveWhatSingleCallsGive) {
  constexpr uint32_t kRows = 50;
  constexpr uint32_t kColumns = 40'000;
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {kRows, kColumns}});
  TensorSource last = builder.Round(builder.Round(x));
  const TensorSource rows = builder.Step("ACTIVATION_HARDMAX");
  builder.From(last);
  last = builder.Modulus(builder.Round(rows), x);
  builder.Return(last);
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  ASSERT_EQ(sequence->plan.groups.size(), 3u);

  std::mt19937 random(7);
  std::vector<float> input(size_t{kRows} * kColumns);
  for (float& value : input) value = static_cast<float>(random() % 1000) + 1.5f;
  std::vector<float> output(input.size());
  std::vector<std::byte> workspace(sequence->plan.workspace_bytes);
  const auto* const in = reinterpret_cast<const std::byte*>(input.data());
  auto* const out = reinterpret_cast<std::byte*>(output.data());
  Executor().RunSequence(*sequence, std::span(&in, 1), std::span(&out, 1), workspace.data());
  for (uint32_t r = 0; r < kRows; ++r) {
    const auto begin = input.begin() + r * kColumns;
    const auto is_less = [](float a, float b) { return std::nearbyint(a) < std::nearbyint(b); };
    const auto chosen = std::max_element(begin, begin + kColumns, is_less) - begin;
    for (uint32_t c = 0; c < kColumns; ++c) {
      const float expected = c == chosen ? 1.0f : 0.0f;
      ASSERT_EQ(output[r * kColumns + c], expected) << "row " << r << ", column " << c;
    }
  }
}

}  // namespace
}  // namespace opserve::testing
