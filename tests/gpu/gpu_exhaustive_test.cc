// Many values on a Direct3D 12 device: all FLOAT16 values of the operators with one input, all
// pairs of bytes, and millions of FLOAT32 remainders, random and adversarial, against the
// CPU's kernels, which tests/conformance holds to the C library.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attribute_settings.h"
#include "kernels/cpu/cpu_executor.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/open_elements.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

class GpuExhaustiveTest : public GpuTest {
 protected:
  // Runs a packed call on device and processor, and compares.
  void Check(const Invocation& call, const std::vector<GuardedInput>& inputs) {
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    std::vector<std::byte> output(call.output_bytes);
    const absl::Status status = RunOne(device(), call, pointers, output.data());
    ASSERT_TRUE(status.ok()) << status;
    std::vector<std::byte> expected(call.output_bytes);
    executor_.Run(call, pointers, expected.data());
    EXPECT_EQ(Difference(call, expected.data(), output.data()), "");
  }

  // Runs FLOAT remainders, and arithmetic, of pairs made by make(random); bits of both in the low
  // end.
  void CheckPairs(DataType type, uint32_t count,
                  const std::function<std::pair<uint32_t, uint32_t>()>& make) {
    const size_t size = SizeOf(type);
    std::vector<GuardedInput> inputs;
    inputs.emplace_back(count * size);
    inputs.emplace_back(count * size);
    for (uint32_t i = 0; i < count; ++i) {
      const auto [x, y] = make();
      std::memcpy(inputs[0].data() + i * size, &x, size);
      std::memcpy(inputs[1].data() + i * size, &y, size);
    }
    for (const char* name :
         {"ELEMENT_WISE_MODULUS_TRUNCATE", "ELEMENT_WISE_MODULUS_FLOOR", "ELEMENT_WISE_ADD",
          "ELEMENT_WISE_SUBTRACT", "ELEMENT_WISE_MULTIPLY", "ELEMENT_WISE_DIVIDE",
          "ELEMENT_WISE_MEAN", "ELEMENT_WISE_DIFFERENCE_SQUARE"}) {
      SCOPED_TRACE(name);
      const Cell cell = {FindOperator(name), type, type};
      const auto call = MakeCall(cell, 0, Packed(count));
      ASSERT_NE(call, nullptr);
      Check(*call, inputs);
    }
  }

  std::mt19937_64 random_{20260901};

 private:
  CpuExecutor executor_{1};
};

// All values of every type of at most 16 bits, in every operator with one input.
TEST_F(GpuExhaustiveTest, AllSmallValues) {
  int calls = 0;
  for (const Cell& cell : CellsWithKernels()) {
    const size_t size = SizeOf(cell.lane);
    if (cell.op->input_count() != 1 || size > 2) continue;
    const uint32_t count = uint32_t{1} << (8 * size);
    for (int setting = 0; setting < PlainSettingCount(*cell.op); ++setting) {
      SCOPED_TRACE(cell.name() + ", setting " + std::to_string(setting));
      const auto call = MakeCall(cell, setting, Packed(count));
      ASSERT_NE(call, nullptr);
      std::vector<GuardedInput> inputs;
      inputs.emplace_back(count * size);
      for (uint32_t i = 0; i < count; ++i) std::memcpy(inputs[0].data() + i * size, &i, size);
      CloseOpenElements(*call, inputs);
      Check(*call, inputs);
      ++calls;
    }
  }
  EXPECT_GE(calls, 6);  // ROUND and IS_INFINITY of FLOAT16 have three modes each
}

// All pairs of bytes, in every operator with two inputs.
TEST_F(GpuExhaustiveTest, AllPairsOfBytes) {
  int calls = 0;
  for (const Cell& cell : CellsWithKernels()) {
    if (cell.op->input_count() != 2 || SizeOf(cell.lane) != 1) continue;
    SCOPED_TRACE(cell.name());
    const auto call = MakeCall(cell, 0, Packed(65536));
    ASSERT_NE(call, nullptr);
    std::vector<GuardedInput> inputs = MakeInputs(*call, random_);
    for (size_t i = 0; i < 65536; ++i) {
      inputs[0].data()[i] = static_cast<std::byte>(i >> 8);
      inputs[1].data()[i] = static_cast<std::byte>(i & 0xFF);
    }
    Check(*call, inputs);
    ++calls;
  }
  EXPECT_GE(calls, 2);
}

// FLOAT32 values of some operators: every 971st bit pattern, 4 million in each mode.
TEST_F(GpuExhaustiveTest, Float32Values) {
  constexpr uint64_t kStride = 971;
  constexpr uint32_t kCount = 4 << 20;
  for (const char* name : {"ELEMENT_WISE_ROUND", "ELEMENT_WISE_CEIL", "ELEMENT_WISE_FLOOR",
                           "ELEMENT_WISE_CLIP", "ELEMENT_WISE_RECIP", "ELEMENT_WISE_SQRT",
                           "ACTIVATION_SOFTSIGN", "ACTIVATION_LINEAR", "ACTIVATION_HARD_SWISH"}) {
    const OpTraits* const op = FindOperator(name);
    const Cell cell = {op, DataType::kFloat32, op->OutputTypes(DataType::kFloat32).last()};
    for (int setting = 0; setting < cell.mode_count(); ++setting) {
      SCOPED_TRACE(cell.name() + ", setting " + std::to_string(setting));
      const auto call = MakeCall(cell, setting, Packed(kCount));
      ASSERT_NE(call, nullptr);
      std::vector<GuardedInput> inputs;
      inputs.emplace_back(call->input_bytes[0]);
      for (uint64_t first = 0; first < uint64_t{1} << 32; first += kStride * kCount) {
        for (uint64_t i = 0; i < kCount; ++i) {
          const auto bits = static_cast<uint32_t>(first + i * kStride);
          std::memcpy(inputs[0].data() + i * sizeof(bits), &bits, sizeof(bits));
        }
        Check(*call, inputs);
        if (HasFailure()) return;
      }
    }
  }
}

constexpr uint32_t kPairs = 1 << 20;

TEST_F(GpuExhaustiveTest, PairsOfAnyBits) {
  CheckPairs(DataType::kFloat32, kPairs, [this] {
    const uint64_t bits = random_();
    return std::pair(static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32));
  });
}

// The same number, or one next to it, with either sign: differences lose most of their digits.
TEST_F(GpuExhaustiveTest, PairsOfNeighbours) {
  CheckPairs(DataType::kFloat32, kPairs, [this] {
    const uint64_t bits = random_();
    const auto x = static_cast<uint32_t>(bits);
    const auto sign = static_cast<uint32_t>(bits >> 63) << 31;
    return std::pair(x, (x ^ sign) + static_cast<uint32_t>(bits >> 32 & 0xFFFFFF) % 33 - 16);
  });
}

// Dividends next to multiples of the divisor.
TEST_F(GpuExhaustiveTest, PairsNearMultiples) {
  CheckPairs(DataType::kFloat32, kPairs, [this] {
    const uint64_t bits = random_();
    const auto y = static_cast<uint32_t>(bits);
    const auto quotient = static_cast<float>(random_() >> (38 + bits % 24));
    const auto multiple = std::bit_cast<uint32_t>(std::bit_cast<float>(y) * quotient);
    return std::pair(multiple + static_cast<uint32_t>(random_() % 5) - 2, y);
  });
}

// Large quotients, divisors with few bits, denormals on either side.
TEST_F(GpuExhaustiveTest, PairsWithLargeQuotientsAndDenormals) {
  CheckPairs(DataType::kFloat32, kPairs, [this] {
    const uint64_t bits = random_();
    const auto divisor = static_cast<uint32_t>(bits) >> (bits >> 60) << (bits >> 60);
    const uint32_t exponent = ((divisor >> 23 & 0xFF) + 20 + (bits >> 32) % 230) & 0xFF;
    const auto mantissa = static_cast<uint32_t>(random_());
    const uint32_t x =
        bits % 4 == 0 ? mantissa & 0x80FFFFFF : (mantissa & 0x807FFFFF) | exponent << 23;
    return std::pair(x, bits % 8 < 3 ? divisor & 0x81FFFFFF : divisor);
  });
}

TEST_F(GpuExhaustiveTest, PairsOfHalves) {
  CheckPairs(DataType::kFloat16, kPairs, [this] {
    const uint64_t bits = random_();
    return std::pair(static_cast<uint32_t>(bits & 0xFFFF), static_cast<uint32_t>(bits >> 48));
  });
}

}  // namespace
}  // namespace opserve::testing
