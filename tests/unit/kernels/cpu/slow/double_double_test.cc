#include "kernels/cpu/slow/double_double.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/kernels/cpu/slow/real.h"

namespace opserve::cpu::slow {
namespace {

constexpr int kRounds = 20000;

// Sums of two doubles with low parts of any smallness, some zero.
class RandomNumbers {
 public:
  DoubleDouble Next() {
    const double high = std::ldexp(digits_(engine_), exponent_(engine_));
    const int gap = gap_(engine_);
    if (gap == 0) return high;
    return ExactSum(high, std::ldexp(digits_(engine_), std::ilogb(high) - 53 - gap));
  }

 private:
  std::mt19937_64 engine_{1};
  std::uniform_real_distribution<double> digits_{-1, 1};
  std::uniform_int_distribution<int> exponent_{-20, 20};
  std::uniform_int_distribution<int> gap_{0, 80};
};

template <class Operation, class Reference>
void ExpectErrorsBelow(int exponent, Operation operation, Reference reference) {
  RandomNumbers numbers;
  for (int i = 0; i < kRounds; ++i) {
    const DoubleDouble a = numbers.Next();
    // Every second time nearly cancels a sum.
    const DoubleDouble other = numbers.Next();
    const DoubleDouble b = i % 2 == 0 ? other : -a + Scaled(other, -60);
    const Real exact_a(a);
    const Real exact_b(b);
    Real exact;
    reference(exact.get(), exact_a.get(), exact_b.get());
    if (mpfr_zero_p(exact.get())) continue;
    const DoubleDouble result = operation(a, b);
    ASSERT_LE(RelativeErrorExponent(result, exact), exponent) << a.high << " and " << b.high;
    ASSERT_EQ(result.high + result.low, result.high);
  }
}

TEST(DoubleDouble, Adds) {
  ExpectErrorsBelow(
      -104, [](auto& a, auto& b) { return a + b; },
      [](auto r, auto a, auto b) { mpfr_add(r, a, b, MPFR_RNDN); });
}

TEST(DoubleDouble, Subtracts) {
  ExpectErrorsBelow(
      -104, [](auto& a, auto& b) { return a - -b; },
      [](auto r, auto a, auto b) { mpfr_add(r, a, b, MPFR_RNDN); });
}

TEST(DoubleDouble, Multiplies) {
  ExpectErrorsBelow(
      -103, [](auto& a, auto& b) { return a * b; },
      [](auto r, auto a, auto b) { mpfr_mul(r, a, b, MPFR_RNDN); });
}

TEST(DoubleDouble, Divides) {
  ExpectErrorsBelow(
      -102, [](auto& a, auto& b) { return a / b; },
      [](auto r, auto a, auto b) { mpfr_div(r, a, b, MPFR_RNDN); });
}

TEST(DoubleDouble, HasSquareRoots) {
  ExpectErrorsBelow(
      -104, [](auto& a, auto&) { return SquareRoot(Magnitude(a)); },
      [](auto r, auto a, auto) {
        mpfr_abs(r, a, MPFR_RNDN);
        mpfr_sqrt(r, r, MPFR_RNDN);
      });
  EXPECT_EQ(SquareRoot(0), DoubleDouble(0));
}

TEST(DoubleDouble, KeepsLowPartsOfAnySmallness) {
  EXPECT_EQ(0.5 + DoubleDouble(0x1p-150), DoubleDouble(0.5, 0x1p-150));
  EXPECT_EQ(1 - (1 + DoubleDouble(0x1p-300)), DoubleDouble(-0x1p-300));
  EXPECT_EQ(3 * DoubleDouble(0.5, 0x1p-150), DoubleDouble(1.5, 0x3p-150));
  EXPECT_EQ(1 / DoubleDouble(2, 0x1p-150), DoubleDouble(0.5, -0x1p-152));
  EXPECT_EQ(SquareRoot({4, 0x1p-150}), DoubleDouble(2, 0x1p-152));
}

TEST(DoubleDouble, Compares) {
  const DoubleDouble above_one = {1, 0x1p-150};
  EXPECT_GT(above_one, DoubleDouble(1));
  EXPECT_LT(DoubleDouble(1), above_one);
  EXPECT_FALSE(above_one < above_one);
  EXPECT_FALSE(above_one == DoubleDouble(1));
  EXPECT_TRUE(IsNegative(-0.0));
  EXPECT_EQ(Magnitude({-1, 0x1p-60}), DoubleDouble(1, -0x1p-60));
  EXPECT_EQ(WithSign(2, -0.0), DoubleDouble(-2));
}

// ------------------------------------------------------------------ Rounding to odd

TEST(RoundedToOdd, KeepsDoubles) {
  for (const double x : {0.0, 1.0, -1.5, 0x1.fffffffffffffp-200, 0x1p-1074, 3.0}) {
    EXPECT_EQ(RoundedToOdd(x), x);
  }
  EXPECT_TRUE(std::signbit(RoundedToOdd(-0.0)));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(RoundedToOdd(infinity), infinity);
  EXPECT_EQ(RoundedToOdd({-infinity, std::nan("")}), -infinity);
  EXPECT_TRUE(std::isnan(RoundedToOdd(std::nan(""))));
}

TEST(RoundedToOdd, TruncatesAndSetsTheLastBit) {
  EXPECT_EQ(RoundedToOdd({1, 0x1p-150}), 1 + 0x1p-52);
  EXPECT_EQ(RoundedToOdd({1, -0x1p-150}), 1 - 0x1p-53);
  EXPECT_EQ(RoundedToOdd({-1, 0x1p-150}), -1 + 0x1p-53);
  EXPECT_EQ(RoundedToOdd({-1, -0x1p-150}), -1 - 0x1p-52);
  EXPECT_EQ(RoundedToOdd({1 + 0x1p-52, 0x1p-53}), 1 + 0x1p-52);
  EXPECT_EQ(RoundedToOdd({1 + 0x1p-52, -0x1p-150}), 1 + 0x1p-52);
  EXPECT_EQ(RoundedToOdd({1 + 0x2p-52, -0x1p-150}), 1 + 0x1p-52);
}

// A float or the middle between two, and a rest of any smallness: with and without one.
TEST(RoundedToOdd, RoundsOnceToFloat) {
  std::mt19937_64 engine{2};
  std::uniform_int_distribution<int> digits(1 << 24, (1 << 25) - 1);
  std::uniform_int_distribution<int> exponent(-160, -10);
  std::uniform_int_distribution<int> gap(30, 130);
  for (int i = 0; i < kRounds; ++i) {
    const double near = std::ldexp(digits(engine), exponent(engine) - 24);
    const double rest = std::ldexp(i % 3 - 1, std::ilogb(near) - gap(engine));
    for (const double sign : {1.0, -1.0}) {
      const DoubleDouble x = ExactSum(sign * near, sign * rest);
      const Real exact(x);
      Real rounded;
      // As FLOAT32 does, subnormal numbers included: 24 digits, none below 2^-149.
      const int last = std::max(exact.Exponent() - 23, -149);
      mpfr_mul_2si(rounded.get(), exact.get(), -last, MPFR_RNDN);
      mpfr_rint(rounded.get(), rounded.get(), MPFR_RNDN);
      mpfr_mul_2si(rounded.get(), rounded.get(), last, MPFR_RNDN);
      ASSERT_EQ(static_cast<float>(RoundedToOdd(x)), mpfr_get_d(rounded.get(), MPFR_RNDN))
          << near << " and " << rest;
    }
  }
}

}  // namespace
}  // namespace opserve::cpu::slow
