// Tensors, views and halves.

#include "opserve/tensor.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;

// The value of a half by definition, without the code under test.
double Meaning(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(HalfTest, EveryFiniteHalfWidensExactlyAndComesBack) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    if (((bits >> 10) & 31) == 31) continue;
    const auto wide = static_cast<float>(Half::FromBits(bits));
    ASSERT_EQ(wide, Meaning(bits)) << bits;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(Half(wide).bits(), bits);
  }
}

// Between neighbours a and b: the middle goes to the even one, a bit off the middle to the nearer.
TEST(HalfTest, RoundsToNearestTiesToEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const auto middle = static_cast<float>((Meaning(bits) + Meaning(bits + 1)) / 2);
    const uint16_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(Half(middle).bits(), even) << bits;
    ASSERT_EQ(Half(std::nextafterf(middle, 0.0f)).bits(), bits);
    ASSERT_EQ(Half(std::nextafterf(middle, INFINITY)).bits(), bits + 1);
    ASSERT_EQ(Half(-middle).bits(), even | 0x8000);
  }
}

// Floats of every exponent, and those around all halves and the middles between them.
std::vector<float> InterestingFloats() {
  std::vector<float> floats;
  for (uint32_t high = 0; high < 65536; ++high) {
    for (const uint32_t low : {0u, 1u, 0x7fffu, 0xffffu}) {
      floats.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<float>(Half::FromBits(static_cast<uint16_t>(bits)));
    const uint32_t middle = std::bit_cast<uint32_t>(half) + 0x1000;
    for (uint32_t near = middle - 1; near <= middle + 1; ++near) {
      floats.push_back(std::bit_cast<float>(near));
      floats.push_back(-std::bit_cast<float>(near));
    }
    const auto exact = static_cast<float>(
        (Meaning(static_cast<uint16_t>(bits)) + Meaning(static_cast<uint16_t>(bits + 1))) / 2);
    floats.push_back(exact);
    floats.push_back(std::nextafterf(exact, 0.0f));
    floats.push_back(std::nextafterf(exact, INFINITY));
  }
  return floats;
}

TEST(HalfTest, ManyAreConvertedAsEachOfThem) {
  const std::vector<float> floats = InterestingFloats();
  std::vector<Half> halves(floats.size());
  ASSERT_EQ(ConvertHalves(floats, halves), floats.size());
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i].bits(), Half(floats[i]).bits()) << std::bit_cast<uint32_t>(floats[i]);
  }
  std::vector<Half> all(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    all[bits] = Half::FromBits(static_cast<uint16_t>(bits));
  }
  std::vector<float> wide(65536);
  ASSERT_EQ(ConvertHalves(all, wide), 65536u);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]),
              std::bit_cast<uint32_t>(static_cast<float>(all[bits])))
        << bits;
  }
}

TEST(HalfTest, AsManyAreConvertedAsBothHave) {
  const std::vector<float> floats = {1, 2, 3};
  std::vector<Half> halves(2, Half(9));
  EXPECT_EQ(ConvertHalves(floats, std::span(halves).first(1)), 1u);
  EXPECT_THAT(halves, ElementsAre(Half(1), Half(9)));
  std::vector<float> wide(4, 7);
  EXPECT_EQ(ConvertHalves(std::span<const Half>(halves), wide), 2u);
  EXPECT_THAT(wide, ElementsAre(1, 9, 7, 7));
}

TEST(HalfTest, LargeValuesBecomeInfiniteAndNanStaysNan) {
  EXPECT_EQ(Half(65519.0f).bits(), 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits(), 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits(), 0xfc00);
  EXPECT_EQ(Half(INFINITY).bits(), 0x7c00);
  EXPECT_EQ(static_cast<float>(Half::FromBits(0xfc00)), -INFINITY);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Half::FromBits(0x7c01))));
  const auto signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(signalling))));
}

TEST(TensorSpecTest, ByteSizeCountsElementsAndPadding) {
  EXPECT_EQ(*ByteSize({DataType::kFloat32, {2, 3}, {}}), 24u);
  EXPECT_EQ(*ByteSize({DataType::kFloat16, {2, 3}, {5, 1}}), 16u);
  EXPECT_EQ(*ByteSize({DataType::kUint8, {4, 3}, {0, 1}}), 3u);
  EXPECT_EQ(*ByteSize({DataType::kFloat64, {1}, {}}), 8u);
}

TEST(TensorSpecTest, ByteSizeRefusesWhatHasNoSize) {
  const TensorSpec wrong[] = {
      {DataType::kUnknown, {2}, {}},
      {DataType::kFloat32, {}, {}},
      {DataType::kFloat32, {2, 0}, {}},
      {DataType::kFloat32, {2, 3}, {1}},
      {DataType::kFloat32, {UINT32_MAX, UINT32_MAX, 2}, {}},
      {DataType::kFloat64, {1u << 31, 1u << 31}, {}},
      {DataType::kUint8, {UINT32_MAX, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}},
  };
  for (const TensorSpec& spec : wrong) {
    EXPECT_EQ(ByteSize(spec).status().code(), absl::StatusCode::kInvalidArgument) << ToString(spec);
  }
}

TEST(TensorTest, HoldsExactlyTheBytesOfItsSpec) {
  const TensorSpec spec{DataType::kFloat32, {3}, {}};
  const auto tensor = Tensor::FromBytes(spec, std::string(12, '\0'));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->spec(), spec);
  EXPECT_EQ(tensor->bytes().size(), 12u);

  const auto short_one = Tensor::FromBytes(spec, std::string(11, '\0'));
  EXPECT_EQ(short_one.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(short_one.status().message(), "FLOAT32 {3} needs 12 bytes, not 11");
}

TEST(TensorTest, GivesTypedValuesOfItsOwnTypeOnly) {
  const float values[] = {1.5f, -2.0f};
  const auto tensor = Tensor::FromBytes({DataType::kFloat32, {2}, {}},
                                        std::string(reinterpret_cast<const char*>(values), 8));
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(*tensor->Elements<float>(), ElementsAre(1.5f, -2.0f));
  EXPECT_EQ(tensor->Elements<int32_t>().status(),
            absl::InvalidArgumentError("the tensor is FLOAT32 {2}, not INT32"));
  EXPECT_TRUE(absl::IsInvalidArgument(Tensor().Elements<float>().status()));
}

TEST(TensorTest, TheOldNameGivesNoValuesOfAWrongType) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const auto tensor = Tensor::FromBytes({DataType::kUint8, {2}, {}}, "ab");
  ASSERT_TRUE(tensor.ok());
  EXPECT_THAT(tensor->values<uint8_t>(), ElementsAre('a', 'b'));
  EXPECT_TRUE(tensor->values<int8_t>().empty());
#pragma GCC diagnostic pop
}

TEST(TensorTest, GivesFloatsOfBothFloatTypesThatTheyHold) {
  const Half halves[] = {Half(0.5f), Half::FromBits(0x7c00), Half(-65504.0f)};
  const auto half = Tensor::FromBytes({DataType::kFloat16, {3}, {}},
                                      std::string(reinterpret_cast<const char*>(halves), 6));
  ASSERT_TRUE(half.ok());
  EXPECT_THAT(*half->ToFloats(),
              ElementsAre(0.5f, std::numeric_limits<float>::infinity(), -65504.0f));
  const float floats[] = {1.5f, -2.0f};
  const auto single = Tensor::FromBytes({DataType::kFloat32, {2}, {}},
                                        std::string(reinterpret_cast<const char*>(floats), 8));
  EXPECT_THAT(*single->ToFloats(), ElementsAre(1.5f, -2.0f));
  const auto bytes = Tensor::FromBytes({DataType::kUint8, {2}, {}}, "ab");
  EXPECT_EQ(bytes->ToFloats().status(),
            absl::InvalidArgumentError("the tensor is UINT8 {2}, not FLOAT32 or FLOAT16"));
}

TEST(TensorTest, CopiesShareTheBytesAndOutliveTheOriginal) {
  Tensor copy;
  const std::byte* data;
  {
    const auto tensor = Tensor::FromBytes({DataType::kUint8, {100}, {}}, std::string(100, 'x'));
    ASSERT_TRUE(tensor.ok());
    copy = *tensor;
    data = tensor->bytes().data();
  }
  EXPECT_EQ(copy.bytes().data(), data);
  EXPECT_EQ(copy.Elements<uint8_t>()->back(), 'x');
}

TEST(TensorTest, SharesMemoryWithItsOwner) {
  const auto values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const TensorSpec spec{DataType::kFloat32, {2}, {}};
  const auto bytes = std::as_bytes(std::span(*values));
  Tensor tensor = *Tensor::FromShared(spec, bytes.subspan(4), values);
  EXPECT_EQ(tensor.bytes().data(), bytes.data() + 4);
  EXPECT_THAT(*tensor.Elements<float>(), ElementsAre(2, 3));
  EXPECT_EQ(values.use_count(), 2);
  const Tensor moved = std::move(tensor);
  EXPECT_TRUE(tensor.bytes().empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(values.use_count(), 2);

  EXPECT_TRUE(absl::IsInvalidArgument(Tensor::FromShared(spec, bytes, values).status()));
  const auto misaligned = Tensor::FromShared(spec, bytes.subspan(2, 8), values);
  EXPECT_EQ(misaligned.status().message(), "memory that is not aligned for FLOAT32");
}

TEST(TensorTest, PackedFollowsStrides) {
  // 2 x 3, transposed and padded: element (i, j) is at i + 3 * j.
  const auto tensor =
      Tensor::FromBytes({DataType::kUint8, {2, 3}, {1, 3}}, std::string("\0\1\2\3\4\5\6\7", 8));
  ASSERT_TRUE(tensor.ok());
  const Tensor packed = tensor->Packed();
  EXPECT_EQ(packed.spec(), (TensorSpec{DataType::kUint8, {2, 3}, {}}));
  EXPECT_THAT(*packed.Elements<uint8_t>(), ElementsAre(0, 3, 6, 1, 4, 7));
}

TEST(TensorTest, WhatIsTooLargeToBePackedThrows) {
  // 2^64 bytes, and more than a string may have.
  const TensorSpec specs[] = {{DataType::kFloat32, {1u << 31, 1u << 31}, {0, 0}},
                              {DataType::kUint8, {1u << 31, 1u << 31, 2}, {0, 0, 0}}};
  for (const TensorSpec& spec : specs) {
    const auto tensor = Tensor::FromBytes(spec, std::string(SizeOf(spec.data_type), '\1'));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_THROW(tensor->Packed(), std::bad_alloc);
  }
}

TEST(TensorTest, NothingIsLeftInOneThatWasMovedFrom) {
  auto tensor = Tensor::FromBytes({DataType::kFloat16, {2}, {}}, std::string(4, '\1'));
  ASSERT_TRUE(tensor.ok());
  const Tensor taken = *std::move(tensor);
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_TRUE(tensor->Elements<Half>()->empty());
  EXPECT_TRUE(tensor->ToFloats()->empty());
  // NOLINTEND(bugprone-use-after-move)
}

template <class Values>
concept HasView = requires(Values&& values) {
  TensorView::Of<float>(std::forward<Values>(values), {2});
};
static_assert(HasView<std::vector<float>&> && HasView<const std::vector<float>&>);
static_assert(HasView<std::span<float>> && HasView<std::span<const float>>);
static_assert(HasView<float (&)[2]> && HasView<std::array<float, 2>&>);
static_assert(!HasView<std::vector<float>> && !HasView<const std::vector<float>>,
              "its values would be gone before they are used");
static_assert(!HasView<std::array<float, 2>> && !HasView<float[2]>);

TEST(TensorViewTest, PointsAtTheCallersMemory) {
  const std::vector<Half> values(6);
  const TensorView view = TensorView::Of<Half>(values, {2, 3}, {3, 1});
  EXPECT_EQ(view.spec(), (TensorSpec{DataType::kFloat16, {2, 3}, {3, 1}}));
  EXPECT_EQ(static_cast<const void*>(view.bytes().data()), values.data());
  EXPECT_EQ(view.bytes().size(), 12u);
}

}  // namespace
}  // namespace opserve
