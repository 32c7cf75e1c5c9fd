#include "kernels/scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace opserve {
namespace {

using enum DataType;

template <class Number>
std::optional<float> AsFloat(Number number, DataType type) {
  const std::optional<Scalar> scalar = ScalarOf(number, type);
  return scalar ? std::optional(scalar->As<float>()) : std::nullopt;
}

TEST(ScalarTest, FloatsAreTheNearest) {
  EXPECT_EQ(AsFloat(0.1, kFloat32), 0.1f);
  EXPECT_EQ(AsFloat(0.1, kFloat16), 0x1.998p-4f);
  EXPECT_EQ(AsFloat(65519.99, kFloat16), 65504.0f);
  EXPECT_EQ(AsFloat(65520.0, kFloat16), std::numeric_limits<float>::infinity());
  EXPECT_EQ(AsFloat(-1e300, kFloat32), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(*AsFloat(std::nan(""), kFloat16)));
  EXPECT_TRUE(std::signbit(*AsFloat(-0.0, kFloat16)));
  // Halves of the least FLOAT16 go to even; one and a half of it too.
  EXPECT_EQ(AsFloat(0x1p-25, kFloat16), 0.0f);
  EXPECT_EQ(AsFloat(0x1.000001p-25, kFloat16), 0x1p-24f);
  EXPECT_EQ(AsFloat(0x1.8p-24, kFloat16), 0x1p-23f);
}

// Not by way of FLOAT64, which would make a middle of what lies beside it.
TEST(ScalarTest, IntegersAreRoundedOnce) {
  EXPECT_EQ(AsFloat((int64_t{1} << 62) + (int64_t{1} << 38) + 1, kFloat32), 0x1.000002p62f);
  EXPECT_EQ(AsFloat((int64_t{1} << 62) + (int64_t{1} << 38), kFloat32), 0x1p62f);
  EXPECT_EQ(AsFloat(-(int64_t{1} << 62) - (int64_t{1} << 38) - 1, kFloat32), -0x1.000002p62f);
  EXPECT_EQ(AsFloat(UINT64_MAX, kFloat32), 0x1p64f);
}

TEST(ScalarTest, IntegersMustFit) {
  EXPECT_EQ(ScalarOf(int64_t{-128}, kInt8)->As<int8_t>(), -128);
  EXPECT_FALSE(ScalarOf(int64_t{-129}, kInt8));
  EXPECT_FALSE(ScalarOf(int64_t{-1}, kUint64));
  EXPECT_EQ(ScalarOf(UINT64_MAX, kUint64)->As<uint64_t>(), UINT64_MAX);
  EXPECT_FALSE(ScalarOf(UINT64_MAX, kInt64));
  EXPECT_EQ(ScalarOf(-0x1p63, kInt64)->As<int64_t>(), INT64_MIN);
  EXPECT_FALSE(ScalarOf(0x1p63, kInt64));
  EXPECT_EQ(ScalarOf(0x1p63, kUint64)->As<uint64_t>(), uint64_t{1} << 63);
  EXPECT_FALSE(ScalarOf(0x1p64, kUint64));
  EXPECT_FALSE(ScalarOf(0.5, kInt32));
  EXPECT_FALSE(ScalarOf(std::nan(""), kInt32));
  EXPECT_FALSE(ScalarOf(-std::numeric_limits<double>::infinity(), kInt64));
  EXPECT_FALSE(ScalarOf(int64_t{1}, kFloat64));
}

}  // namespace
}  // namespace opserve
