#include "server/pool/verify/result_check.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "server/pool/verify/float_format.h"
#include "server/pool/verify/sample_call.h"

namespace opserve::testing {
namespace {

SampleCall Call(OpId op, DataType lane, uint32_t count) {
  std::mt19937_64 random(1);
  return SampleCall::Make({.op = op, .lane = lane, .count = count}, random).value();
}

std::vector<std::byte> Bytes(std::vector<uint32_t> elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

std::optional<Difference> Compare(OpId op, std::vector<uint32_t> expected,
                                  std::vector<uint32_t> actual) {
  const SampleCall call = Call(op, DataType::kFloat32, static_cast<uint32_t>(expected.size()));
  return FirstDifference(call.invocation(), Bytes(std::move(expected)).data(),
                         Bytes(std::move(actual)).data());
}

constexpr uint32_t kQuiet = 0x7FC00000;
constexpr uint32_t kOtherQuiet = 0xFFC00005;
constexpr uint32_t kSignalling = 0x7F800001;
constexpr uint32_t kInfinity = 0x7F800000;

TEST(ResultCheckTest, TellsTheFirstDifference) {
  const auto difference = Compare(OpId::ELEMENT_WISE_ROUND, {1, 2, 3, 4}, {1, 2, 0x30, 0x40});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->element, 2u);
  EXPECT_EQ(difference->expected, 3u);
  EXPECT_EQ(difference->actual, 0x30u);
  EXPECT_EQ(difference->ToString(), "element 2 is 0x30 instead of 0x3");
}

TEST(ResultCheckTest, EqualBitsAreEqual) {
  EXPECT_FALSE(Compare(OpId::ELEMENT_WISE_ROUND, {1, kQuiet}, {1, kQuiet}).has_value());
}

TEST(ResultCheckTest, ComputedNansAreAClass) {
  const OpId round = OpId::ELEMENT_WISE_ROUND;
  EXPECT_FALSE(Compare(round, {kQuiet}, {kOtherQuiet}).has_value());
  EXPECT_FALSE(Compare(round, {kSignalling}, {kQuiet}).has_value());
  EXPECT_TRUE(Compare(round, {kQuiet}, {kSignalling}).has_value());
  EXPECT_TRUE(Compare(round, {kQuiet}, {kInfinity}).has_value());
  EXPECT_TRUE(Compare(round, {kInfinity}, {kQuiet}).has_value());
}

TEST(ResultCheckTest, SignsOfZeroCount) {
  EXPECT_TRUE(Compare(OpId::ELEMENT_WISE_ROUND, {0}, {0x80000000}).has_value());
}

TEST(ResultCheckTest, MovedNansKeepTheirBits) {
  EXPECT_TRUE(Compare(OpId::ELEMENT_WISE_IF, {kQuiet}, {kOtherQuiet}).has_value());
  EXPECT_FALSE(Compare(OpId::ELEMENT_WISE_IF, {kQuiet}, {kQuiet}).has_value());
}

TEST(ResultCheckTest, IntegersHaveNoNans) {
  const SampleCall call = Call(OpId::ELEMENT_WISE_MODULUS_TRUNCATE, DataType::kUint32, 1);
  EXPECT_TRUE(
      FirstDifference(call.invocation(), Bytes({kQuiet}).data(), Bytes({kOtherQuiet}).data()));
}

TEST(SamplerTest, PicksAnEvenShare) {
  for (const double rate : {0.0, 0.001, 0.1, 1.0 / 3, 0.5, 0.9, 1.0}) {
    Sampler sampler(rate);
    const int most = static_cast<int>(1000 * rate) + 1;
    int picked = 0;
    for (int i = 0; i < 1000; ++i) picked += sampler.Next() ? 1 : 0;
    EXPECT_LE(picked, most) << rate;
    EXPECT_GE(picked, most - 2) << rate;
  }
}

TEST(SamplerTest, ZeroIsNoneAndOneIsAll) {
  Sampler none(0);
  Sampler all(1);
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(none.Next());
    EXPECT_TRUE(all.Next());
  }
}

TEST(SamplerTest, SamplesLieFarApart) {
  Sampler tenth(0.1);
  int since = 0;
  for (int i = 0; i < 1000; ++i) {
    ++since;
    if (!tenth.Next()) continue;
    EXPECT_GE(since, 9);
    EXPECT_LE(since, 11);
    since = 0;
  }
}

TEST(SampleValuesTest, FloatsAreAllClassesOfNumbers) {
  for (const DataType type : {DataType::kFloat64, DataType::kFloat32, DataType::kFloat16}) {
    const FloatFormat format = FormatOf(type);
    const std::vector<uint64_t> values = SpecialValuesOf(type);
    const auto has = [&values](uint64_t bits) {
      return std::find(values.begin(), values.end(), bits) != values.end();
    };
    EXPECT_TRUE(has(0) && has(format.sign()));
    EXPECT_TRUE(has(1) && has(format.infinity()) && has(format.infinity() | format.sign()));
    EXPECT_TRUE(has(format.one()));
    EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                            [&format](uint64_t bits) { return format.is_nan(bits); }));
  }
}

}  // namespace
}  // namespace opserve::testing
