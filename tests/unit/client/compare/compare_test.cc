// Comparison of tensors: every type, its special values, layouts, and what is told of differences.

#include "opserve/compare.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();
constexpr float kMost = std::numeric_limits<float>::max();

// Of one dimension.
template <class T>
TensorView RowOf(const std::vector<T>& values) {
  return TensorView::Of<T>(values, {static_cast<uint32_t>(values.size())});
}

template <class T>
Comparison Compared(const std::vector<T>& expected, const std::vector<T>& actual,
                    const ComparisonOptions& options = {}) {
  const auto comparison = CompareTensors(RowOf(expected), RowOf(actual), {}, options);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.value_or(Comparison());
}

// The distance of two elements, by the largest of a comparison.
template <class T>
uint64_t UlpBetween(T expected, T actual) {
  const uint64_t ulp = Compared<T>({expected}, {actual}).largest_ulp;
  EXPECT_EQ(Compared<T>({actual}, {expected}).largest_ulp, ulp);
  return ulp;
}

Half HalfOf(float value) { return Half(value); }

TEST(CompareTest, EqualTensorsHaveNoDifference) {
  const std::vector<float> values = {-kInf, -1.5f, -0.0f, 0.0f, kLeast, 2.0f, kMost, kInf, kNan};
  const Comparison comparison = Compared(values, values, {.same_nans = true, .signed_zeros = true});
  EXPECT_TRUE(comparison.within_tolerance());
  EXPECT_EQ(comparison.elements, 9u);
  EXPECT_EQ(comparison.different, 0u);
  EXPECT_EQ(comparison.ulp_histogram[0], 9u);
  EXPECT_EQ(comparison.mean_ulp, 0);
  EXPECT_FALSE(comparison.first_different.has_value());
  EXPECT_FALSE(comparison.largest_ulp_index.has_value());
  EXPECT_THAT(comparison.worst, IsEmpty());
}

TEST(CompareTest, DistancesOfFloatsAreThoseOnTheirLine) {
  EXPECT_EQ(UlpBetween(1.0f, std::nextafterf(1.0f, 2.0f)), 1u);
  EXPECT_EQ(UlpBetween(1.0f, 2.0f), 1u << 23);
  EXPECT_EQ(UlpBetween(-kLeast, kLeast), 2u);
  EXPECT_EQ(UlpBetween(-0.0f, kLeast), 1u);
  EXPECT_EQ(UlpBetween(0.0f, -kLeast), 1u);
  EXPECT_EQ(UlpBetween(kMost, kInf), 1u);
  EXPECT_EQ(UlpBetween(-kInf, kInf), 2 * uint64_t{0x7f800000});
  EXPECT_EQ(UlpBetween(-0.0f, 0.0f), 0u);

  const double most = std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(UlpBetween(1.0, std::nextafter(1.0, 0.0)), 1u);
  EXPECT_EQ(UlpBetween(most, infinity), 1u);
  EXPECT_EQ(UlpBetween(-infinity, infinity), 2 * uint64_t{0x7ff0000000000000});
  EXPECT_EQ(UlpBetween(-std::numeric_limits<double>::denorm_min(), 0.0), 1u);

  EXPECT_EQ(UlpBetween(HalfOf(1.0f), Half::FromBits(HalfOf(1.0f).bits() + 1)), 1u);
  EXPECT_EQ(UlpBetween(HalfOf(65504.0f), HalfOf(kInf)), 1u);
  EXPECT_EQ(UlpBetween(Half::FromBits(0x8001), Half::FromBits(0x0001)), 2u);
  EXPECT_EQ(UlpBetween(HalfOf(-kInf), HalfOf(kInf)), 2 * uint64_t{0x7c00});
}

template <class T>
void ExpectExactIntegers() {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  const auto spread = static_cast<uint64_t>(kHigh) - static_cast<uint64_t>(kLow);
  EXPECT_EQ(UlpBetween(kLow, kHigh), spread);
  EXPECT_EQ(UlpBetween(kHigh, static_cast<T>(kHigh - 1)), 1u);
  EXPECT_EQ(UlpBetween(kLow, static_cast<T>(kLow + 2)), 2u);
  const Comparison comparison = Compared<T>({kLow, kHigh}, {kHigh, kHigh});
  EXPECT_EQ(comparison.largest_absolute_error, static_cast<double>(spread));
  EXPECT_EQ(comparison.sign_disagreements, std::is_signed_v<T> ? 1u : 0u);
}

TEST(CompareTest, DistancesOfIntegersAreExactUpToTheirEnds) {
  ExpectExactIntegers<int8_t>();
  ExpectExactIntegers<uint8_t>();
  ExpectExactIntegers<int16_t>();
  ExpectExactIntegers<uint16_t>();
  ExpectExactIntegers<int32_t>();
  ExpectExactIntegers<uint32_t>();
  ExpectExactIntegers<int64_t>();
  ExpectExactIntegers<uint64_t>();
}

// Their sum does not fit 64 bits.
TEST(CompareTest, TheMeanOfTheLargestDistancesIsRight) {
  const std::vector<uint64_t> expected(4, 0);
  const std::vector<uint64_t> actual = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
  const Comparison comparison = Compared(expected, actual);
  EXPECT_DOUBLE_EQ(comparison.mean_ulp, 0.75 * std::ldexp(1.0, 64));
  EXPECT_EQ(comparison.ulp_histogram[Comparison::kUlpBuckets - 1], 3u);
}

TEST(CompareTest, NansAreEqualUnlessTheirBitsAreAskedFor) {
  const auto other_nan = std::bit_cast<float>(0xffc00001u);
  const std::vector<float> expected = {kNan, kNan, 1, kNan};
  const std::vector<float> actual = {other_nan, 1, kNan, kNan};
  const Comparison any = Compared(expected, actual, {.tolerance = {.ulp = UINT64_MAX}});
  EXPECT_EQ(any.nan_disagreements, 2u);
  EXPECT_EQ(any.different, 2u);
  EXPECT_EQ(any.beyond_tolerance, 2u);
  EXPECT_EQ(any.sign_disagreements, 0u);
  EXPECT_EQ(any.ulp_histogram[0], 2u);
  EXPECT_EQ(any.first_different, 1u);
  ASSERT_THAT(any.worst, SizeIs(2));
  EXPECT_TRUE(any.worst[0].is_nan);
  EXPECT_EQ(any.worst[0].index, 1u);

  const Comparison same = Compared(expected, actual, {.same_nans = true});
  EXPECT_EQ(same.nan_disagreements, 3u);
  EXPECT_EQ(same.first_different, 0u);
  EXPECT_EQ(same.ulp_histogram[0], 1u);
}

TEST(CompareTest, ZerosOfBothSignsAreEqualUnlessAskedFor) {
  const std::vector<float> expected = {0.0f, -0.0f, -kLeast, -1.0f};
  const std::vector<float> actual = {-0.0f, 0.0f, kLeast, -1.0f};
  const Comparison loose = Compared(expected, actual);
  EXPECT_EQ(loose.sign_disagreements, 3u);
  EXPECT_EQ(loose.zero_sign_disagreements, 2u);
  EXPECT_EQ(loose.different, 1u);
  EXPECT_EQ(loose.ulp_histogram[0], 3u);

  const Comparison strict =
      Compared(expected, actual, {.tolerance = {.ulp = UINT64_MAX}, .signed_zeros = true});
  EXPECT_EQ(strict.different, 3u);
  EXPECT_EQ(strict.beyond_tolerance, 2u);
  EXPECT_EQ(strict.first_different, 0u);
}

TEST(CompareTest, InfinitiesAreJudgedByTheirDistance) {
  const std::vector<float> expected = {kMost, kInf, 1, kInf};
  const std::vector<float> actual = {kInf, -kInf, kInf, kInf};
  const Comparison comparison = Compared(expected, actual, {.tolerance = {.ulp = 1}});
  EXPECT_EQ(comparison.infinity_disagreements, 3u);
  EXPECT_EQ(comparison.different, 3u);
  EXPECT_EQ(comparison.beyond_tolerance, 2u);
  // Those errors are of finite values only.
  EXPECT_EQ(comparison.largest_absolute_error, 0);
  EXPECT_EQ(comparison.largest_relative_error, 0);
  EXPECT_FALSE(Compared<float>({1}, {kInf}, {.tolerance = {.absolute = 1e300}}).within_tolerance());
}

TEST(CompareTest, ErrorsOfValues) {
  const Comparison comparison = Compared<float>({2, -8, 1}, {2.5f, -6, 1});
  EXPECT_EQ(comparison.largest_absolute_error, 2);
  EXPECT_EQ(comparison.largest_relative_error, 0.25);
  EXPECT_EQ(Compared<float>({0}, {1}).largest_relative_error,
            std::numeric_limits<double>::infinity());
}

TEST(CompareTest, EitherBoundOfTheToleranceIsEnough) {
  const std::vector<float> expected = {1e-30f, 1, 1};
  const std::vector<float> actual = {0, std::nextafterf(1, 2), 1.5f};
  EXPECT_EQ(Compared(expected, actual).beyond_tolerance, 3u);
  EXPECT_EQ(Compared(expected, actual, {.tolerance = {.ulp = 1}}).beyond_tolerance, 2u);
  EXPECT_EQ(Compared(expected, actual, {.tolerance = {.absolute = 0.25}}).beyond_tolerance, 1u);
  EXPECT_EQ(Compared(expected, actual, {.tolerance = {.absolute = 0.5}}).beyond_tolerance, 0u);
}

TEST(CompareTest, BucketsHoldWhatTheySay) {
  EXPECT_EQ(UlpRangeOf(0).most, 0u);
  for (size_t bucket = 1; bucket < Comparison::kUlpBuckets; ++bucket) {
    const UlpRange range = UlpRangeOf(bucket);
    EXPECT_EQ(range.least, UlpRangeOf(bucket - 1).most + 1);
    for (const uint64_t ulp : {range.least, range.most}) {
      const Comparison comparison = Compared<uint64_t>({0}, {ulp});
      EXPECT_EQ(comparison.ulp_histogram[bucket], 1u) << ulp;
    }
  }
  EXPECT_EQ(UlpRangeOf(4).least, 5u);
  EXPECT_EQ(UlpRangeOf(4).most, 8u);
  EXPECT_EQ(UlpRangeOf(Comparison::kUlpBuckets - 1).most, UINT64_MAX);
}

TEST(CompareTest, OneUlpIn2To24ElementsIsFoundWithItsIndex) {
  constexpr uint32_t kRows = 1 << 12;
  std::vector<float> expected(size_t{kRows} * kRows);
  std::iota(expected.begin(), expected.end(), 1.0f);
  std::vector<float> actual = expected;
  constexpr size_t kPlanted = 13'371'337;
  actual[kPlanted] = std::nextafterf(actual[kPlanted], 0);
  const auto comparison = CompareTensors(TensorView::Of<float>(expected, {kRows, kRows}),
                                         TensorView::Of<float>(actual, {kRows, kRows}));
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->different, 1u);
  EXPECT_EQ(comparison->largest_ulp, 1u);
  EXPECT_EQ(comparison->largest_ulp_index, kPlanted);
  EXPECT_EQ(comparison->first_different, kPlanted);
  EXPECT_EQ(comparison->ulp_histogram[1], 1u);
  EXPECT_EQ(comparison->ulp_histogram[0], expected.size() - 1);
  ASSERT_THAT(comparison->worst, SizeIs(1));
  EXPECT_THAT(comparison->worst[0].coordinates, ElementsAre(kPlanted / kRows, kPlanted % kRows));
}

// The same values in any two layouts are equal, and a difference has the same place in all.
TEST(CompareTest, EveryPairOfLayoutsIsWalkedInTheSameOrder) {
  const std::vector<uint32_t> sizes = {3, 1, 4, 5};
  const std::vector<std::vector<uint32_t>> layouts = {
      {}, {20, 20, 5, 1}, {1, 0, 3, 12}, {40, 7, 10, 2}, {1, 60, 15, 3}};
  constexpr uint32_t kOddOne = 37;  // {1, 0, 3, 2}
  const auto fill = [&](const std::vector<uint32_t>& layout, int16_t odd) {
    const TensorSpec spec{DataType::kInt16, sizes, layout};
    std::vector<int16_t> values(*ByteSize(spec) / 2, -1);
    const std::vector<uint32_t> strides = layout.empty() ? PackedStrides(sizes) : layout;
    for (uint32_t i = 0; i < 60; ++i) {
      const uint32_t at = i / 20 * strides[0] + i % 20 / 5 * strides[2] + i % 5 * strides[3];
      values[at] = static_cast<int16_t>(i == kOddOne ? odd : i);
    }
    return values;
  };
  for (const std::vector<uint32_t>& of_expected : layouts) {
    for (const std::vector<uint32_t>& of_actual : layouts) {
      const std::vector<int16_t> expected = fill(of_expected, 1000);
      const std::vector<int16_t> actual = fill(of_actual, 1003);
      const TensorView input = TensorView::Of<int16_t>(actual, sizes, of_actual);
      const auto comparison = CompareTensors(TensorView::Of<int16_t>(expected, sizes, of_expected),
                                             input, std::span(&input, 1));
      ASSERT_TRUE(comparison.ok()) << comparison.status();
      EXPECT_EQ(comparison->different, 1u);
      ASSERT_THAT(comparison->worst, SizeIs(1));
      EXPECT_EQ(comparison->worst[0].index, kOddOne);
      EXPECT_EQ(comparison->worst[0].ulp, 3u);
      EXPECT_THAT(comparison->worst[0].coordinates, ElementsAre(1, 0, 3, 2));
      EXPECT_EQ(comparison->worst[0].inputs[0]->bits, 1003u);
    }
  }
}

TEST(CompareTest, RepeatedElementsCountEachTime) {
  const std::vector<float> row = {1, 2};
  const std::vector<float> other = {1, 2.5f};
  const auto comparison = CompareTensors(TensorView::Of<float>(row, {3, 2}, {0, 1}),
                                         TensorView::Of<float>(other, {3, 2}, {0, 1}));
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->elements, 6u);
  EXPECT_EQ(comparison->different, 3u);
}

TEST(CompareTest, TheWorstElementsComeFirst) {
  const std::vector<float> expected = {0, 1, 1, 1, 1, 1};
  const std::vector<float> actual = {0.001f, 1.5f, 1.25f, kNan, 1.5f, 1.000001f};
  const Comparison comparison =
      Compared(expected, actual, {.tolerance = {.absolute = 0.01}, .worst_elements = 4});
  std::vector<uint64_t> places;
  for (const ElementDifference& worst : comparison.worst) places.push_back(worst.index);
  // The first is farther off in ulp than all others, and within the tolerance.
  EXPECT_THAT(places, ElementsAre(3, 1, 4, 2));
  EXPECT_EQ(comparison.largest_ulp_index, 0u);
  EXPECT_EQ(comparison.different, 6u);
  EXPECT_EQ(comparison.beyond_tolerance, 4u);
  EXPECT_THAT(Compared(expected, actual, {.worst_elements = 0}).worst, IsEmpty());
}

// Against a list of all differences, sorted.
TEST(CompareTest, TheWorstOfManyAreThoseOfASort) {
  std::mt19937 random(7);
  std::vector<uint8_t> expected(5000);
  std::vector<uint8_t> actual(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = static_cast<uint8_t>(random());
    actual[i] = static_cast<uint8_t>(random());
  }
  std::vector<std::pair<int, size_t>> sorted;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != actual[i]) sorted.emplace_back(-std::abs(expected[i] - actual[i]), i);
  }
  std::sort(sorted.begin(), sorted.end());
  const Comparison comparison = Compared(expected, actual, {.worst_elements = 100});
  EXPECT_EQ(comparison.different, sorted.size());
  ASSERT_THAT(comparison.worst, SizeIs(100));
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(comparison.worst[i].index, sorted[i].second);
    EXPECT_EQ(comparison.worst[i].ulp, static_cast<uint64_t>(-sorted[i].first));
  }
}

TEST(CompareTest, InputsOfTheSameSizesAreShown) {
  const std::vector<float> expected = {1, 2, 3, 4};
  const std::vector<float> actual = {1, 2, 3, 5};
  const std::vector<Half> half = {HalfOf(0.5f)};
  const std::vector<uint8_t> bytes = {7, 8};
  const std::vector<TensorView> inputs = {
      TensorView::Of<Half>(half, {2, 2}, {0, 0}), TensorView::Of<uint8_t>(bytes, {2}),
      TensorView::At(TensorHandle{"t"}, {DataType::kFloat32, {2, 2}, {}}),
      TensorView::Of<uint8_t>(bytes, {2, 2}, {0, 1})};
  const auto comparison = CompareTensors(TensorView::Of<float>(expected, {2, 2}),
                                         TensorView::Of<float>(actual, {2, 2}), inputs);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const ElementDifference& worst = comparison->worst[0];
  EXPECT_EQ(ToString(worst.expected), "4");
  EXPECT_EQ(ToString(worst.actual), "5");
  ASSERT_THAT(worst.inputs, SizeIs(4));
  EXPECT_EQ(worst.inputs[0], (ElementValue{DataType::kFloat16, 0x3800}));
  EXPECT_EQ(worst.inputs[1], std::nullopt);
  EXPECT_EQ(worst.inputs[2], std::nullopt);
  EXPECT_EQ(worst.inputs[3], (ElementValue{DataType::kUint8, 8}));
}

// Memory need not be aligned for the elements.
TEST(CompareTest, TensorsMayLieAnywhere) {
  std::vector<std::byte> bytes(2 * sizeof(double) + 1);
  const double values[] = {1, 2};
  std::memcpy(bytes.data() + 1, values, sizeof(values));
  const TensorSpec spec{DataType::kFloat64, {2}, {}};
  const auto comparison = CompareTensors(TensorView(spec, std::as_bytes(std::span(values))),
                                         TensorView(spec, std::span(bytes).subspan(1)));
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->different, 0u);
}

TEST(CompareTest, WhatIsNoPairIsRefused) {
  const std::vector<float> four(4);
  const std::vector<int32_t> integers(4);
  const auto refusal = [](const TensorView& expected, const TensorView& actual) {
    const absl::Status status = CompareTensors(expected, actual).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(TensorView::Of<float>(four, {2, 2}), RowOf(four)),
            "the actual tensor is FLOAT32 {4}, the expected one FLOAT32 {2, 2}; type and sizes "
            "must be the same");
  EXPECT_THAT(refusal(RowOf(four), RowOf(integers)), HasSubstr("INT32 {4}"));
  EXPECT_EQ(refusal(TensorView::Of<float>(four, {5}), RowOf(four)),
            "the expected tensor: FLOAT32 {5} needs 20 bytes, not 16");
  EXPECT_THAT(refusal(RowOf(four), TensorView()), HasSubstr("a tensor needs a data type"));
  EXPECT_THAT(refusal(RowOf(four), TensorView::At(TensorHandle{"t"})),
              HasSubstr("the actual tensor is at the server"));
}

TEST(CompareTest, ElementsHaveShortTextsAndAllTheirBits) {
  const auto text = [](auto value) {
    ElementValue element{kDataTypeOf<decltype(value)>, 0};
    std::memcpy(&element.bits, &value, sizeof(value));
    return ToString(element) + " " + ToHex(element);
  };
  EXPECT_EQ(text(0.1f), "0.1 0x3dcccccd");
  EXPECT_EQ(text(-0.0f), "-0 0x80000000");
  EXPECT_EQ(text(kNan), "nan 0x7fc00000");
  EXPECT_EQ(text(0.1), "0.1 0x3fb999999999999a");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-inf 0xfff0000000000000");
  EXPECT_EQ(text(HalfOf(0.1f)), "0.1 0x2e66");
  EXPECT_EQ(text(Half::FromBits(0x7c00)), "inf 0x7c00");
  EXPECT_EQ(text(Half::FromBits(0x8001)), "-6e-08 0x8001");
  EXPECT_EQ(text(std::numeric_limits<int64_t>::min()), "-9223372036854775808 0x8000000000000000");
  EXPECT_EQ(text(UINT64_MAX), "18446744073709551615 0xffffffffffffffff");
  EXPECT_EQ(text(int8_t{-1}), "-1 0xff");
  EXPECT_EQ(text(int16_t{-2}), "-2 0xfffe");
  EXPECT_EQ(text(int32_t{-3}), "-3 0xfffffffd");
  EXPECT_EQ(text(uint16_t{9}), "9 0x0009");
  EXPECT_EQ(ToString(ElementValue()), "");
  EXPECT_EQ(ToHex(ElementValue()), "");
}

}  // namespace
}  // namespace opserve
