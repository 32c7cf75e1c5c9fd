// Tests by the billion: all FLOAT32 values of the operators with one input, and FLOAT32 remainders
// of random and adversarial pairs, against the C library; remainders of all pairs of 16-bit
// integers. That is for the best target, where OPSERVE_EXHAUSTIVE is set (`make exhaustive`); for
// the others, and without it, one value of 61 and a tenth of the pairs.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

constexpr size_t kBlock = 1 << 14;

// Calls run(first), first = 0, kBlock, 2 * kBlock, ... below `count`, on all processors, until it
// returns false. Returns whether it never did.
bool ForBlocks(uint64_t count, const std::function<bool(uint64_t)>& run) {
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> good = true;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (uint64_t first; good && (first = next.fetch_add(kBlock)) < count;) {
        if (!run(first)) good = false;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return good;
}

// The same bits, or a quiet NaN for any NaN.
bool IsSame(float expected, float actual) {
  if (std::isnan(expected)) {
    return std::isnan(actual) && (std::bit_cast<uint32_t>(actual) & 0x00400000) != 0;
  }
  return std::bit_cast<uint32_t>(expected) == std::bit_cast<uint32_t>(actual);
}

std::string Describe(float x, float y, float actual) {
  const auto hex = [](float value) {
    char text[16];
    std::snprintf(text, sizeof(text), "0x%08x", std::bit_cast<uint32_t>(value));
    return std::string(text);
  };
  return hex(x) + ", " + hex(y) + " gives " + hex(actual);
}

class KernelExhaustiveTest : public ::testing::TestWithParam<int64_t> {
 protected:
  // Compares one mode of a one-input operator with `reference` for all values, or one of `stride`.
  template <class TOut, class Reference>
  void CheckAllFloats(OpId op, int mode, const Reference& reference) {
    const cpu::FlatKernel kernel = cpu::GetKernel(
        op, {DataType::kFloat32, TraitsOf(op).OutputTypes(DataType::kFloat32).last(), mode});
    const uint64_t stride = IsExhaustive() ? 1 : 61;
    EXPECT_TRUE(ForBlocks((uint64_t{1} << 32) / stride, [&](uint64_t first) {
      std::vector<float> inputs(kBlock);
      std::vector<TOut> outputs(kBlock);
      for (size_t i = 0; i < kBlock; ++i) {
        inputs[i] = std::bit_cast<float>(static_cast<uint32_t>((first + i) * stride));
      }
      const auto* in = reinterpret_cast<const std::byte*>(inputs.data());
      kernel(&in, reinterpret_cast<std::byte*>(outputs.data()), kBlock, cpu::StoreMode::kCached,
             {});
      for (size_t i = 0; i < kBlock; ++i) {
        if (!IsSame(reference(inputs[i]), outputs[i])) {
          ADD_FAILURE() << Describe(inputs[i], 0, outputs[i]) << ", mode " << mode;
          return false;
        }
      }
      return true;
    }));
  }

  // Compares remainders of pairs made by make(random) with fmodf.
  template <class MakePair>
  void CheckRemainders(uint64_t count, const MakePair& make) {
    const cpu::FlatKernel kernel = cpu::GetKernel(OpId::ELEMENT_WISE_MODULUS_TRUNCATE,
                                                  {DataType::kFloat32, DataType::kFloat32});
    EXPECT_TRUE(ForBlocks(count, [&](uint64_t first) {
      std::mt19937_64 random(first);
      std::vector<float> x(kBlock), y(kBlock), r(kBlock);
      for (size_t i = 0; i < kBlock; ++i) std::tie(x[i], y[i]) = make(random);
      const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data()),
                               reinterpret_cast<const std::byte*>(y.data())};
      kernel(in, reinterpret_cast<std::byte*>(r.data()), kBlock, cpu::StoreMode::kCached, {});
      for (size_t i = 0; i < kBlock; ++i) {
        if (!IsSame(std::fmod(x[i], y[i]), r[i])) {
          ADD_FAILURE() << Describe(x[i], y[i], r[i]);
          return false;
        }
      }
      return true;
    }));
  }

  // Compares the remainders of all dividends by all divisors of 16 bits, or by one of 61, with the
  // language's own.
  template <class T>
  void CheckShorts(DataType type) {
    const cpu::FlatKernel kernel =
        cpu::GetKernel(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, {type, type});
    const uint64_t stride = IsExhaustive() ? 1 : 61;
    EXPECT_TRUE(ForBlocks((uint64_t{1} << 32) / stride, [&](uint64_t first) {
      // A block has one divisor, as 2^16 is a multiple of its size.
      const T y = static_cast<T>((first >> 16) * stride);
      std::vector<T> x(kBlock), divisors(kBlock, y), r(kBlock);
      for (size_t i = 0; i < kBlock; ++i) x[i] = static_cast<T>(first + i);
      const std::byte* in[] = {reinterpret_cast<const std::byte*>(x.data()),
                               reinterpret_cast<const std::byte*>(divisors.data())};
      kernel(in, reinterpret_cast<std::byte*>(r.data()), kBlock, cpu::StoreMode::kCached, {});
      for (size_t i = 0; i < kBlock; ++i) {
        const T by_zero = std::is_signed_v<T> ? x[i] : static_cast<T>(~T{0});
        const T expected = y == 0 ? by_zero : static_cast<T>(int{x[i]} % int{y});
        if (r[i] != expected) {
          ADD_FAILURE() << x[i] << " mod " << y << " gives " << r[i];
          return false;
        }
      }
      return true;
    }));
  }

  static uint64_t PairCount() { return IsExhaustive() ? 100'000'000 : 10'000'000; }

 private:
  static bool IsExhaustive() {
    return GetParam() == RunnableTargets().front() && std::getenv("OPSERVE_EXHAUSTIVE") != nullptr;
  }

  ScopedTarget target_{GetParam()};
};

TEST_P(KernelExhaustiveTest, Round) {
  constexpr OpId kRound = OpId::ELEMENT_WISE_ROUND;
  CheckAllFloats<float>(kRound, 0, [](float x) { return std::nearbyint(x); });
  CheckAllFloats<float>(kRound, 1, [](float x) { return std::trunc(x); });
  CheckAllFloats<float>(kRound, 2, [](float x) { return std::round(x); });
}

TEST_P(KernelExhaustiveTest, IsInfinity) {
  constexpr OpId kIsInfinity = OpId::ELEMENT_WISE_IS_INFINITY;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  CheckAllFloats<uint8_t>(kIsInfinity, 0, [](float x) { return std::isinf(x) ? 1.0f : 0.0f; });
  CheckAllFloats<uint8_t>(kIsInfinity, 1, [](float x) { return x == kInf ? 1.0f : 0.0f; });
  CheckAllFloats<uint8_t>(kIsInfinity, 2, [](float x) { return x == -kInf ? 1.0f : 0.0f; });
}

TEST_P(KernelExhaustiveTest, RemaindersOfAnyBits) {
  CheckRemainders(PairCount() / 2, [](std::mt19937_64& random) {
    const uint64_t bits = random();
    return std::pair(std::bit_cast<float>(static_cast<uint32_t>(bits)),
                     std::bit_cast<float>(static_cast<uint32_t>(bits >> 32)));
  });
}

// Dividends next to multiples of the divisor, where a rounded quotient goes wrong.
TEST_P(KernelExhaustiveTest, RemaindersNearMultiples) {
  CheckRemainders(PairCount() / 4, [](std::mt19937_64& random) {
    const uint64_t bits = random();
    const float y = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const auto quotient = static_cast<float>(random() >> (38 + bits % 24));
    const float multiple = y * quotient;
    const auto ulps = static_cast<uint32_t>(random() % 5) - 2;
    return std::pair(std::bit_cast<float>(std::bit_cast<uint32_t>(multiple) + ulps), y);
  });
}

// Quotients around the limits of the one-division paths, divisors with few bits, denormals.
TEST_P(KernelExhaustiveTest, RemaindersWithLargeQuotientsAndDenormals) {
  CheckRemainders(PairCount() / 4, [](std::mt19937_64& random) {
    const uint64_t bits = random();
    const auto divisor = static_cast<uint32_t>(bits) >> (bits >> 60) << (bits >> 60);
    // A dividend whose exponent is 20 to 56 above, or any denormal or small number.
    const uint32_t exponent = ((divisor >> 23 & 0xFF) + 20 + (bits >> 32) % 37) & 0xFF;
    const auto mantissa = static_cast<uint32_t>(random());
    const uint32_t x =
        bits % 4 == 0 ? mantissa & 0x80FFFFFF : (mantissa & 0x807FFFFF) | exponent << 23;
    const uint32_t y = bits % 8 == 0 ? divisor & 0x81FFFFFF : divisor;
    return std::pair(std::bit_cast<float>(x), std::bit_cast<float>(y));
  });
}

TEST_P(KernelExhaustiveTest, RemaindersOf16Bits) {
  CheckShorts<int16_t>(DataType::kInt16);
  CheckShorts<uint16_t>(DataType::kUint16);
}

INSTANTIATE_TEST_SUITE_P(AllTargets, KernelExhaustiveTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
