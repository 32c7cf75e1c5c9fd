// Tables of results: to the bit what the kernels compute, made for what is called often, kept where
// they are faster, and few.

#include "kernels/cpu/result_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cpu/bound_kernel.h"
#include "kernels/cpu/cpu_executor.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"

namespace opserve::testing {
namespace {

using cpu::BoundKernel;
using cpu::ResultTable;
using cpu::ResultTables;
using cpu::StoreMode;

class ResultTableTest : public ::testing::Test {
 protected:
  static constexpr size_t kNumbers = 1 << 16;
  static constexpr size_t kBytes = kNumbers * sizeof(uint16_t);

  ResultTableTest() : numbers_(kBytes) {
    std::vector<uint16_t> numbers(kNumbers);
    std::iota(numbers.begin(), numbers.end(), uint16_t{0});
    std::memcpy(numbers_.data(), numbers.data(), kBytes);
  }

  static std::shared_ptr<const Invocation> Call(absl::string_view op, uint32_t count) {
    const Cell cell = {FindOperator(op), DataType::kFloat16, DataType::kFloat16};
    return MakeCall(cell, 0, Packed(count));
  }

  // Every number there is, in order.
  GuardedInput numbers_;
};

// Takes long for each element.
void Slowly(const std::byte* input, std::byte* output, size_t count) {
  for (size_t i = 0; i < 2 * count; ++i) {
    volatile unsigned turns = 100;
    while (turns != 0) turns = turns - 1;
    output[i] = ~input[i];
  }
}

// Takes next to no time.
void Quickly(const std::byte* input, std::byte* output, size_t count) {
  std::memcpy(output, input, 2 * count);
}

TEST_F(ResultTableTest, HoldsWhatEachKernelComputes) {
  size_t served = 0;
  for (const Cell& cell : AllCells()) {
    for (const int setting : {0, cell.setting_count() - 1}) {
      const auto call = MakeCall(cell, setting, Packed(kNumbers));
      ASSERT_NE(call, nullptr);
      if (!ResultTables::Serve(*call)) continue;
      const BoundKernel kernel(*call);
      std::vector<std::byte> expected(kBytes);
      const std::byte* const from = numbers_.data();
      kernel.Run(&from, expected.data(), kNumbers, StoreMode::kCached);
      const ResultTable table([&](const std::byte* input, std::byte* output, size_t count) {
        kernel.Run(&input, output, count, StoreMode::kCached);
      });
      std::vector<std::byte> results(kBytes);
      table.Run(from, results.data(), kNumbers);
      EXPECT_EQ(std::memcmp(expected.data(), results.data(), kBytes), 0)
          << cell.name() << ", setting " << setting;
      ++served;
    }
  }
  EXPECT_GT(served, 50u);
}

TEST_F(ResultTableTest, WritesAnyCountAnywhereAndInPlace) {
  const ResultTable table(&Slowly);
  for (const size_t count : {0, 1, 7, 8, 9, 16, 10'001}) {
    const std::byte* const from = numbers_.data() + kBytes - 2 * count;
    std::vector<std::byte> expected(2 * count);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = ~from[i];
    for (const size_t misalignment : {0, 1, 2, 16}) {
      SentinelOutput output(2 * count, misalignment);
      table.Run(from, output.data(), count);
      EXPECT_EQ(std::memcmp(output.data(), expected.data(), expected.size()), 0) << count;
      EXPECT_TRUE(output.intact()) << count;
      SentinelOutput place(2 * count, misalignment);
      std::copy_n(from, 2 * count, place.data());
      table.Run(place.data(), place.data(), count);
      EXPECT_EQ(std::memcmp(place.data(), expected.data(), expected.size()), 0) << count;
    }
  }
}

TEST_F(ResultTableTest, ServesUnaryFunctionsOfHalves) {
  EXPECT_TRUE(ResultTables::Serve(*Call("ELEMENT_WISE_EXP", 10)));
  EXPECT_TRUE(ResultTables::Serve(*Call("ACTIVATION_ELU", 10)));
  EXPECT_FALSE(ResultTables::Serve(*Call("ELEMENT_WISE_ADD", 10))) << "two inputs";
  EXPECT_FALSE(ResultTables::Serve(*Call("ELEMENT_WISE_IDENTITY", 10))) << "only moves";
  const Cell single = {FindOperator("ELEMENT_WISE_EXP"), DataType::kFloat32, DataType::kFloat32};
  EXPECT_FALSE(ResultTables::Serve(*MakeCall(single, 0, Packed(10))));
  const Cell flags = {FindOperator("ELEMENT_WISE_IS_NAN"), DataType::kFloat16, DataType::kUint8};
  EXPECT_FALSE(ResultTables::Serve(*MakeCall(flags, 0, Packed(10))));
}

TEST_F(ResultTableTest, IsMadeWhereMuchIsComputedAndItIsFaster) {
  const auto call = Call("ELEMENT_WISE_EXP", 10);
  constexpr uint64_t kHalf = ResultTables::kElementsBeforeTable / 2;
  ResultTables tables;
  EXPECT_EQ(tables.Find(*call, kHalf, &Slowly), nullptr);
  const auto table = tables.Find(*call, kHalf, &Slowly);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(tables.Find(*call, 1, &Slowly), table) << "made once";
  EXPECT_EQ(tables.Find(*Call("ELEMENT_WISE_LOG", 10), kHalf, &Slowly), nullptr);

  EXPECT_EQ(tables.Find(*Call("ELEMENT_WISE_ABS", 10), 2 * kHalf, &Quickly), nullptr);
  EXPECT_EQ(tables.Find(*Call("ELEMENT_WISE_ABS", 10), 2 * kHalf, &Slowly), nullptr)
      << "decided once";
}

TEST_F(ResultTableTest, IsOneForEachSettingOfTheAttributes) {
  Invocation call = *Call("ACTIVATION_ELU", 10);
  ResultTables tables;
  const auto table = [&] { return tables.Find(call, ResultTables::kElementsBeforeTable, &Slowly); };
  const auto first = table();
  ASSERT_NE(first, nullptr);
  call.attributes[0] ^= 1;
  const auto of_other_alpha = table();
  EXPECT_NE(of_other_alpha, first);
  call.scale_bias = ScaleBias{0x3f800000, 0};
  EXPECT_NE(table(), of_other_alpha);
  call.scale_bias.reset();
  call.fused_activation = FusedActivation{};
  EXPECT_NE(table(), of_other_alpha);
  call.fused_activation.reset();
  EXPECT_EQ(table(), of_other_alpha);
  call.attributes[0] ^= 1;
  EXPECT_EQ(table(), first);
}

TEST_F(ResultTableTest, TheLeastRecentlyUsedGoes) {
  Invocation call = *Call("ACTIVATION_ELU", 10);
  ResultTables tables;
  const auto use = [&](uint64_t alpha, uint64_t elements) {
    call.attributes[0] = alpha;
    return tables.Find(call, elements, &Slowly);
  };
  const auto kept = use(0, ResultTables::kElementsBeforeTable);
  ASSERT_NE(kept, nullptr);
  ASSERT_NE(use(1, ResultTables::kElementsBeforeTable), nullptr);
  for (uint64_t alpha = 2; alpha <= ResultTables::kMostFunctions; ++alpha) {
    EXPECT_EQ(use(0, 1), kept);
    use(alpha, 1);
  }
  EXPECT_EQ(use(0, 1), kept);
  EXPECT_EQ(use(1, 1), nullptr) << "forgotten";
}

// From 2^20 elements on a table is there, if it is faster here.
TEST_F(ResultTableTest, ExecutorsGiveTheSameWithAndWithoutOne) {
  constexpr uint32_t kCount = ResultTables::kElementsBeforeTable + 4321;
  std::vector<uint16_t> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i) numbers[i] = static_cast<uint16_t>(i * 40503);
  const auto* const from = reinterpret_cast<const std::byte*>(numbers.data());
  for (const absl::string_view op : {"ELEMENT_WISE_TANH", "ACTIVATION_SOFTPLUS"}) {
    const auto call = Call(op, kCount);
    std::vector<std::byte> expected(call->output_bytes);
    BoundKernel(*call).Run(&from, expected.data(), kCount, StoreMode::kCached);
    const CpuExecutor executor(2);
    for (int i = 0; i < 2; ++i) {
      std::vector<std::byte> results(call->output_bytes);
      executor.Run(*call, {{from}}, results.data());
      EXPECT_EQ(results, expected) << op;
      std::fill(results.begin(), results.end(), std::byte{});
      executor.RunPart(*call, kCount, {{from}}, results.data());
      EXPECT_EQ(results, expected) << op;
      std::fill(results.begin(), results.end(), std::byte{});
      executor.RunPieces(*call, {{TensorBytes(from)}}, results.data());
      EXPECT_EQ(results, expected) << op;
      std::copy_n(from, results.size(), results.begin());
      executor.RunInPlace(*call, {{TensorBytes(results.data())}}, 0);
      EXPECT_EQ(results, expected) << op;
    }
  }
}

}  // namespace
}  // namespace opserve::testing
