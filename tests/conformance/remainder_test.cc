// Remainders next to where quotients change, on every instruction set: quotients are estimated, and
// those that are off by one are the hard ones.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

// Dividends with their divisors.
template <class T>
struct Dividends {
  void Add(T dividend, T divisor) {
    x.push_back(dividend);
    y.push_back(divisor);
  }

  std::vector<T> x;
  std::vector<T> y;
};

class RemainderTest : public ::testing::TestWithParam<int64_t> {
 protected:
  template <class T>
  static std::vector<T> Run(DataType type, const Dividends<T>& pairs) {
    std::vector<T> result(pairs.x.size());
    const std::byte* in[] = {reinterpret_cast<const std::byte*>(pairs.x.data()),
                             reinterpret_cast<const std::byte*>(pairs.y.data())};
    cpu::GetKernel(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, {type, type})(
        in, reinterpret_cast<std::byte*>(result.data()), result.size(), cpu::StoreMode::kCached,
        {});
    return result;
  }

  // Compares integers with the language's own remainder.
  template <class T>
  static void ExpectIntegers(DataType type, const Dividends<T>& pairs) {
    const std::vector<T> actual = Run(type, pairs);
    for (size_t i = 0; i < actual.size(); ++i) {
      const T by_zero = std::is_signed_v<T> ? pairs.x[i] : static_cast<T>(~T{0});
      const T expected =
          pairs.y[i] == 0 ? by_zero : static_cast<T>(int64_t{pairs.x[i]} % int64_t{pairs.y[i]});
      ASSERT_EQ(actual[i], expected) << +pairs.x[i] << " mod " << +pairs.y[i];
    }
  }

  // All dividends of 8 bits by all divisors.
  template <class T>
  static void ExpectAllBytes(DataType type) {
    Dividends<T> pairs;
    for (int y = 0; y < 256; ++y) {
      for (int x = 0; x < 256; ++x) pairs.Add(static_cast<T>(x), static_cast<T>(y));
    }
    ExpectIntegers(type, pairs);
  }

  // All divisors of 16 bits, with dividends next to their largest multiples, and some others.
  template <class T>
  static void ExpectShorts(DataType type) {
    std::mt19937 random(1);
    Dividends<T> pairs;
    for (int bits = 0; bits < 0x10000; ++bits) {
      const T y = static_cast<T>(bits);
      const int limit = std::numeric_limits<T>::max();
      const int multiple = y == 0 ? 0 : limit / y * y;
      for (int x : {multiple - 1, multiple, multiple - y, multiple - y - 1, limit, limit - 1,
                    -multiple, -limit - 1, static_cast<int>(random())}) {
        pairs.Add(static_cast<T>(x), y);
      }
    }
    ExpectIntegers(type, pairs);
  }

  static void ExpectFloats(const Dividends<float>& pairs) {
    const std::vector<float> actual = Run(DataType::kFloat32, pairs);
    for (size_t i = 0; i < actual.size(); ++i) {
      const float expected = std::fmod(pairs.x[i], pairs.y[i]);
      if (std::isnan(expected) && std::isnan(actual[i])) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected))
          << std::hexfloat << pairs.x[i] << " mod " << pairs.y[i];
    }
  }

  static void ExpectHalves(const Dividends<uint16_t>& pairs) {
    const std::vector<uint16_t> actual = Run(DataType::kFloat16, pairs);
    for (size_t i = 0; i < actual.size(); ++i) {
      const float expected = std::fmod(reference::ToFloat(reference::Float16{pairs.x[i]}),
                                       reference::ToFloat(reference::Float16{pairs.y[i]}));
      if (std::isnan(expected)) {
        ASSERT_GT(actual[i] & 0x7FFF, 0x7C00) << pairs.x[i] << " mod " << pairs.y[i];
      } else {
        ASSERT_EQ(actual[i], reference::ToHalf(expected).bits)
            << std::hex << pairs.x[i] << " mod " << pairs.y[i];
      }
    }
  }

 private:
  ScopedTarget target_{GetParam()};
};

TEST_P(RemainderTest, OfAllBytes) {
  ExpectAllBytes<int8_t>(DataType::kInt8);
  ExpectAllBytes<uint8_t>(DataType::kUint8);
}

TEST_P(RemainderTest, OfShortsNextToMultiplesOfAllDivisors) {
  ExpectShorts<int16_t>(DataType::kInt16);
  ExpectShorts<uint16_t>(DataType::kUint16);
}

TEST_P(RemainderTest, OfFloatsNextToMultiples) {
  std::mt19937_64 random(1);
  Dividends<float> pairs;
  for (int i = 0; i < 100'000; ++i) {
    const float significand =
        std::bit_cast<float>(0x3F800000 | static_cast<uint32_t>(random() >> 41));
    const float y = std::ldexp(significand, static_cast<int>(random() % 200) - 100);
    // Quotients of all lengths, halves of them too: there, estimates round up or down.
    const uint64_t quotient = random() >> (64 - 1 - random() % 26);
    const float x =
        static_cast<float>(0.5 * static_cast<double>(quotient) * static_cast<double>(y));
    pairs.Add(x, y);
    pairs.Add(std::nextafter(x, 0.0f), y);
    pairs.Add(-std::nextafter(x, std::numeric_limits<float>::infinity()), y);
    pairs.Add(x, -std::nextafter(y, 0.0f));
  }
  ExpectFloats(pairs);
}

TEST_P(RemainderTest, OfFloatsOfAnyExponents) {
  std::mt19937_64 random(2);
  Dividends<float> pairs;
  for (int i = 0; i < 20'000; ++i) {
    pairs.Add(std::bit_cast<float>(static_cast<uint32_t>(random())),
              std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  // Divisors whose inverses are no normal numbers, or none at all.
  for (float y : {0x1p-149f, 0x1.8p-127f, 0x1p126f, 0x1.8p126f, 0x1.fffffep127f, 0.0f,
                  std::numeric_limits<float>::infinity()}) {
    for (float factor :
         {0.25f, 0.4999999f, 0.5f, 0.75f, 0.9999999f, 1.0f, 1.5f, 3.9999998f, 1e3f}) {
      for (int i = 0; i < 16; ++i) pairs.Add(factor * y, y);
    }
  }
  ExpectFloats(pairs);
}

// All FLOAT16, infinities and NaNs among them, by divisors of every exponent.
TEST_P(RemainderTest, OfAllHalves) {
  for (uint32_t exponent = 0; exponent < 0x8000; exponent += 0x400) {
    for (uint32_t significand : {0x000u, 0x001u, 0x155u, 0x2ABu, 0x3FFu}) {
      Dividends<uint16_t> pairs;
      for (uint32_t x = 0; x < 0x10000; ++x) {
        pairs.Add(static_cast<uint16_t>(x), static_cast<uint16_t>(exponent | significand));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectHalves(pairs));
    }
  }
}

// A vector of FLOAT16 among which one operand alone needs more than an estimate.
TEST_P(RemainderTest, OfHalvesBesideOneOfAnotherKind) {
  for (uint16_t special : {0x0000, 0x0001, 0x03FF, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0xFC00}) {
    Dividends<uint16_t> pairs;
    for (int lane = 0; lane < 64; ++lane) {
      for (int i = 0; i < 64; ++i) {
        const auto x = static_cast<uint16_t>(0x5000 + 17 * i);
        const auto y = static_cast<uint16_t>(0x4000 + 3 * i);
        pairs.Add(i == lane ? special : x, y);
        pairs.Add(x, i == lane ? special : y);
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectHalves(pairs));
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, RemainderTest, ::testing::ValuesIn(RunnableTargets()),
                         [](const auto& instance) { return TargetName(instance.param); });

}  // namespace
}  // namespace opserve::testing
