#include "kernels/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace opserve {
namespace {

using Dims = std::vector<uint32_t>;
using Offsets = std::vector<uint64_t>;  // one per tensor

TensorDesc Strided(const Dims& sizes, const Dims& strides) {
  TensorDesc desc = PackedDesc(DataType::kFloat32, sizes);
  desc.has_strides = true;
  std::copy(strides.begin(), strides.end(), desc.strides.begin());
  return desc;
}

TensorDesc Packed(const Dims& sizes) { return PackedDesc(DataType::kFloat32, sizes); }

// Calls `visit` with the offsets of all tensors for every element, by the coordinates of `sizes`.
void VisitAll(std::span<const uint64_t> sizes, const std::vector<Offsets>& strides,
              const std::function<void(const Offsets&)>& visit) {
  std::function<void(size_t, const Offsets&)> loop = [&](size_t d, const Offsets& at) {
    if (d == sizes.size()) return visit(at);
    Offsets next = at;
    for (uint64_t i = 0; i < sizes[d]; ++i) {
      loop(d + 1, next);
      for (size_t t = 0; t < next.size(); ++t) next[t] += strides[t][d];
    }
  };
  loop(0, Offsets(strides.size(), 0));
}

// The mapping from output offsets to input offsets that a nest realises; the meaning of a layout.
std::map<uint64_t, Offsets> MappingOf(std::span<const uint64_t> sizes,
                                      const std::vector<Offsets>& strides) {
  std::map<uint64_t, Offsets> mapping;
  VisitAll(sizes, strides, [&](const Offsets& at) {
    const bool is_new = mapping.emplace(at.back(), at).second;
    EXPECT_TRUE(is_new) << "output element visited twice";
  });
  return mapping;
}

std::map<uint64_t, Offsets> MappingOf(const std::vector<TensorDesc>& tensors) {
  const auto sizes = tensors[0].size_span();
  std::vector<Offsets> strides;
  for (const TensorDesc& tensor : tensors) {
    strides.emplace_back(tensor.stride_span().begin(), tensor.stride_span().end());
  }
  return MappingOf(Offsets(sizes.begin(), sizes.end()), strides);
}

std::map<uint64_t, Offsets> MappingOf(const Plan& plan) {
  std::vector<Offsets> strides;
  for (int t = 0; t < plan.tensor_count; ++t) {
    strides.emplace_back(plan.strides[t].begin(), plan.strides[t].begin() + plan.loop_count);
  }
  return MappingOf({plan.sizes.data(), static_cast<size_t>(plan.loop_count)}, strides);
}

TEST(PlanTest, PackedIsOneFlatLoop) {
  const Plan plan = MakePlan(std::vector{Packed({2, 3, 4}), Packed({2, 3, 4})});
  EXPECT_TRUE(plan.is_packed());
  EXPECT_EQ(plan.loop_count, 1);
  EXPECT_EQ(plan.sizes[0], 24u);
  EXPECT_FALSE(plan.output_has_gaps);
}

TEST(PlanTest, EqualTransposedLayoutsAreOneFlatLoopToo) {
  const TensorDesc transposed = Strided({3, 5}, {1, 3});
  EXPECT_TRUE(MakePlan(std::vector{transposed, transposed}).is_packed());
}

TEST(PlanTest, SingleElementIsPackedWhateverItsStrides) {
  EXPECT_TRUE(MakePlan(std::vector{Strided({1, 1}, {0, 7}), Packed({1, 1})}).is_packed());
}

TEST(PlanTest, BroadcastOfRowsAndColumnsKeepsTwoLoops) {
  const Plan rows = MakePlan(std::vector{Strided({4, 5}, {0, 1}), Packed({4, 5})});
  EXPECT_EQ(rows.loop_count, 2);
  EXPECT_EQ(rows.strides[0][0], 0u);
  EXPECT_EQ(rows.strides[0][1], 1u);
  const Plan scalar = MakePlan(std::vector{Strided({4, 5}, {0, 0}), Packed({4, 5})});
  EXPECT_EQ(scalar.loop_count, 1);
  EXPECT_FALSE(scalar.is_packed());
}

TEST(PlanTest, OutputOrderDecidesTheLoops) {
  const Plan plan = MakePlan(std::vector{Packed({3, 5}), Strided({3, 5}, {1, 3})});
  EXPECT_EQ(plan.strides[1][plan.loop_count - 1], 1u);
}

TEST(PlanTest, EightDimensionsCollapse) {
  const Dims sizes = {2, 1, 3, 2, 1, 2, 3, 2};
  EXPECT_TRUE(MakePlan(std::vector{Packed(sizes), Packed(sizes)}).is_packed());
}

TEST(PlanTest, KnowsGapsOfTheOutput) {
  EXPECT_TRUE(MakePlan(std::vector{Packed({2, 3}), Strided({2, 3}, {4, 1})}).output_has_gaps);
  EXPECT_FALSE(MakePlan(std::vector{Packed({2, 3}), Strided({2, 3}, {1, 2})}).output_has_gaps);
}

// Elements of a row by their offsets, in its order, for all rows of a plan or of descriptors.
using RowOffsets = std::set<std::vector<std::vector<uint64_t>>>;

RowOffsets RowsOf(std::span<const uint64_t> sizes, const std::vector<Offsets>& strides,
                  const std::vector<bool>& is_within) {
  std::map<std::vector<uint64_t>, std::vector<std::vector<uint64_t>>> rows;
  uint64_t count = 1;
  for (uint64_t size : sizes) count *= size;
  for (uint64_t i = 0; i < count; ++i) {
    std::vector<uint64_t> outside;
    std::vector<uint64_t> offsets(strides.size());
    uint64_t rest = count;
    for (size_t d = 0; d < sizes.size(); ++d) {
      rest /= sizes[d];
      const uint64_t at = i / rest % sizes[d];
      outside.push_back(is_within[d] ? 0 : at);
      for (size_t t = 0; t < strides.size(); ++t) offsets[t] += at * strides[t][d];
    }
    rows[outside].push_back(offsets);
  }
  RowOffsets all;
  for (auto& [outside, row] : rows) all.insert(std::move(row));
  return all;
}

RowOffsets RowsOf(const Plan& plan) {
  std::vector<Offsets> strides;
  for (int t = 0; t < plan.tensor_count; ++t) {
    strides.emplace_back(plan.strides[t].begin(), plan.strides[t].begin() + plan.loop_count);
  }
  std::vector<bool> is_within;
  for (int l = 0; l < plan.loop_count; ++l) is_within.push_back(l >= *plan.row_begin);
  return RowsOf({plan.sizes.data(), static_cast<size_t>(plan.loop_count)}, strides, is_within);
}

// Every set of dimensions: the same rows, in the order of the dimensions, never packed.
TEST(PlanTest, RowsKeepTheirElementsAndTheirOrder) {
  const Dims sizes = {2, 3, 1, 4};
  const std::vector<uint64_t> wide(sizes.begin(), sizes.end());
  const TensorDesc inputs[] = {Packed(sizes), Strided(sizes, {1, 2, 0, 6}),
                               Strided(sizes, {0, 1, 9, 0})};
  const TensorDesc outputs[] = {Packed(sizes), Strided(sizes, {4, 8, 1, 1}),
                                Strided(sizes, {1, 20, 5, 4})};
  for (uint32_t dimensions = 0; dimensions < 16; ++dimensions) {
    std::vector<bool> is_within;
    for (int d = 0; d < 4; ++d) is_within.push_back((dimensions >> d & 1) != 0);
    for (const TensorDesc& input : inputs) {
      for (const TensorDesc& output : outputs) {
        const std::vector<TensorDesc> tensors = {input, output};
        const Plan plan = MakeRowPlan(tensors, dimensions);
        std::vector<Offsets> strides;
        for (const TensorDesc& tensor : tensors) {
          strides.emplace_back(tensor.stride_span().begin(), tensor.stride_span().end());
        }
        EXPECT_EQ(RowsOf(plan), RowsOf(wide, strides, is_within)) << dimensions;
        EXPECT_EQ(plan.row_count() * plan.row_length(), 24u);
        EXPECT_EQ(plan.output_has_gaps, MakePlan(tensors).output_has_gaps);
        EXPECT_FALSE(plan.is_packed());
      }
    }
  }
}

TEST(PlanTest, RowsOfPackedTensorsAreTwoLoops) {
  const Plan plan = MakeRowPlan(std::vector{Packed({2, 3, 4, 5}), Packed({2, 3, 4, 5})}, 0b1100);
  EXPECT_EQ(plan.loop_count, 2);
  EXPECT_EQ(plan.row_begin, 1);
  EXPECT_EQ(plan.row_length(), 20u);
  EXPECT_EQ(plan.row_count(), 6u);
  const Plan one = MakeRowPlan(std::vector{Packed({1, 1}), Packed({1, 1})}, 0b10);
  EXPECT_EQ(one.row_length(), 1u);
  EXPECT_EQ(one.row_count(), 1u);
}

// The plan visits exactly the elements of the descriptors, pairs them in the same way, and reaches
// no farther: checked against a walk by coordinates, on random layouts.
TEST(PlanTest, RandomLayoutsKeepTheirMeaningAndBounds) {
  std::mt19937 random(7);
  int collapsed = 0;
  for (int round = 0; round < 5000; ++round) {
    const size_t rank = 1 + random() % 8;
    Dims sizes(rank);
    for (uint32_t& size : sizes) size = 1 + random() % 3;
    std::vector<TensorDesc> tensors;
    const size_t inputs = 1 + random() % 3;
    for (size_t t = 0; t < inputs; ++t) {
      Dims strides(rank);
      const TensorDesc packed = Packed(sizes);
      for (size_t d = 0; d < rank; ++d) {
        const uint32_t choices[] = {0, packed.strides[d], static_cast<uint32_t>(random() % 9)};
        strides[d] = choices[random() % 3];
      }
      tensors.push_back(random() % 3 == 0 ? packed : Strided(sizes, strides));
    }
    // An output without overlap: packed strides of a random permutation, some padded.
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = d;
    if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    Dims strides(rank);
    uint32_t stride = 1;
    for (size_t d : order) {
      strides[d] = stride;
      stride = stride * sizes[d] + (random() % 8 == 0 ? random() % 3 : 0);
    }
    tensors.push_back(Strided(sizes, strides));

    const Plan plan = MakePlan(tensors);
    EXPECT_EQ(MappingOf(plan), MappingOf(tensors));
    EXPECT_EQ(plan.element_count, *ElementCount(sizes));
    for (int t = 0; t < plan.tensor_count; ++t) {
      uint64_t extent = 1;
      for (int l = 0; l < plan.loop_count; ++l) {
        extent += (plan.sizes[l] - 1) * plan.strides[t][l];
      }
      EXPECT_EQ(plan.element_count == 1 ? 1 : extent,
                *ExtentInElements(sizes, tensors[t].stride_span()));
    }
    collapsed += plan.loop_count < static_cast<int>(rank) ? 1 : 0;
  }
  EXPECT_GT(collapsed, 1000);
}

}  // namespace
}  // namespace opserve
