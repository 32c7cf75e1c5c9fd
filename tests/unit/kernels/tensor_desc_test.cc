#include "kernels/tensor_desc.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <vector>

namespace opserve {
namespace {

using Dims = std::vector<uint32_t>;

TensorDesc Desc(DataType type, const Dims& sizes, const Dims& strides = {}) {
  TensorDesc desc = PackedDesc(type, sizes);
  if (!strides.empty()) {
    desc.has_strides = true;
    std::copy(strides.begin(), strides.end(), desc.strides.begin());
  }
  return desc;
}

TEST(TensorDescTest, ElementCountIsCheckedForOverflow) {
  EXPECT_EQ(ElementCount(Dims{}), 1u);
  EXPECT_EQ(ElementCount(Dims{2, 3, 4}), 24u);
  EXPECT_EQ(ElementCount(Dims{UINT32_MAX, UINT32_MAX}), uint64_t{UINT32_MAX} * UINT32_MAX);
  EXPECT_EQ(ElementCount(Dims{UINT32_MAX, UINT32_MAX, 2}), std::nullopt);
  EXPECT_EQ(ElementCount(Dims{65536, 65536, 65536, 65536}), std::nullopt);
}

TEST(TensorDescTest, ExtentIsCheckedForOverflow) {
  EXPECT_EQ(ExtentInElements(Dims{2, 3}, Dims{5, 1}), 8u);
  EXPECT_EQ(ExtentInElements(Dims{2, 3}, Dims{0, 1}), 3u);
  const Dims huge(8, UINT32_MAX);
  EXPECT_EQ(ExtentInElements(huge, huge), std::nullopt);
  // The last offset is 2^64 - 1, and the extent would be 0.
  EXPECT_EQ(ExtentInElements(Dims{UINT32_MAX, 4}, Dims{UINT32_MAX, UINT32_MAX}), std::nullopt);
}

TEST(TensorDescTest, BytesAreCheckedForOverflow) {
  // The extent is 2^61, just too much for elements of 8 bytes.
  const Dims sizes = {1u << 30, 1u << 31};
  EXPECT_EQ(ExactSizeInBytes(Desc(DataType::kFloat64, sizes, {1u << 31, 1})), std::nullopt);
  EXPECT_EQ(ExactSizeInBytes(Desc(DataType::kFloat32, sizes, {1u << 31, 1})), uint64_t{1} << 63);
}

// Samples of DirectML's documentation; bytes are rounded up to 4 there.
TEST(TensorDescTest, SizesAgreeWithTheDocumentedSamples) {
  EXPECT_EQ(RoundUpToFour(*ExactSizeInBytes(Desc(DataType::kFloat16, {1}))), 4u);
  EXPECT_EQ(RoundUpToFour(*ExactSizeInBytes(Desc(DataType::kUint8, {2, 3}))), 8u);
  EXPECT_EQ(RoundUpToFour(*ExactSizeInBytes(Desc(DataType::kFloat32, {2, 3}, {5, 1}))), 32u);
  EXPECT_EQ(RoundUpToFour(*ExactSizeInBytes(Desc(DataType::kFloat32, {2, 3}, {0, 1}))), 12u);
  EXPECT_EQ(*ExactSizeInBytes(Desc(DataType::kUint8, {2, 3})), 6u);
}

TEST(TensorDescTest, PackedStridesRunFromTheLastDimension) {
  const TensorDesc desc = PackedDesc(DataType::kInt8, Dims{2, 3, 4});
  EXPECT_EQ(std::vector<uint32_t>(desc.stride_span().begin(), desc.stride_span().end()),
            (Dims{12, 4, 1}));
}

TEST(HasOverlapTest, AcceptsLayoutsInUse) {
  EXPECT_FALSE(HasOverlap(Dims{2, 3}, Dims{3, 1}));                       // packed
  EXPECT_FALSE(HasOverlap(Dims{2, 3}, Dims{1, 2}));                       // transposed
  EXPECT_FALSE(HasOverlap(Dims{2, 3}, Dims{8, 2}));                       // padded
  EXPECT_FALSE(HasOverlap(Dims{1, 3, 1}, Dims{0, 1, 0}));                 // sizes of 1
  EXPECT_FALSE(HasOverlap(Dims{1u << 15, 1u << 15}, Dims{1, 1u << 15}));  // large, transposed
}

TEST(HasOverlapTest, FindsSharedAddresses) {
  EXPECT_TRUE(HasOverlap(Dims{2}, Dims{0}));
  EXPECT_TRUE(HasOverlap(Dims{2, 3}, Dims{2, 1}));
  EXPECT_TRUE(HasOverlap(Dims{2, 2}, Dims{1, 1}));
}

// Offsets of i * 256 + j * 257 differ for i and j below 256.
TEST(HasOverlapTest, IsExactUpToABound) {
  EXPECT_FALSE(HasOverlap(Dims{256, 256}, Dims{256, 257}));
  EXPECT_TRUE(HasOverlap(Dims{257, 256}, Dims{256, 257}));
}

TEST(HasOverlapTest, EqualsExhaustiveSearchOnRandomLayouts) {
  std::mt19937 random(20240701);
  int overlaps = 0;
  for (int round = 0; round < 20'000; ++round) {
    const size_t rank = 1 + random() % 4;
    Dims sizes(rank), strides(rank);
    for (size_t d = 0; d < rank; ++d) {
      sizes[d] = 1 + random() % 4;
      strides[d] = random() % 14;
    }
    std::set<uint64_t> seen;
    bool expected = false;
    std::function<void(size_t, uint64_t)> visit = [&](size_t d, uint64_t offset) {
      if (d == rank) {
        expected = !seen.insert(offset).second || expected;
        return;
      }
      for (uint32_t i = 0; i < sizes[d]; ++i) visit(d + 1, offset + uint64_t{i} * strides[d]);
    };
    visit(0, 0);
    EXPECT_EQ(HasOverlap(sizes, strides), expected);
    overlaps += expected ? 1 : 0;
  }
  EXPECT_GT(overlaps, 1000);
  EXPECT_LT(overlaps, 19'000);
}

}  // namespace
}  // namespace opserve
