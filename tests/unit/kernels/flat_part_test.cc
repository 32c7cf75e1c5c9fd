#include "kernels/flat_part.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/validate.h"

namespace opserve {
namespace {

using Dims = std::vector<uint32_t>;
// Of each element that is computed: where it is in every tensor.
using Visits = std::vector<std::vector<uint64_t>>;

// The sum of FLOAT32 tensors; no strides: packed.
std::shared_ptr<const Invocation> AddCall(const Dims& sizes, const Dims& a, const Dims& b,
                                          const Dims& output = {}) {
  const auto view_of = [&](const Dims& strides) {
    TensorDescView view = {.data_type = static_cast<int>(DataType::kFloat32), .sizes = sizes};
    if (!strides.empty()) view.strides = strides;
    return view;
  };
  const auto bytes_of = [&](const Dims& strides) {
    TensorDesc desc = PackedDesc(DataType::kFloat32, sizes);
    std::copy(strides.begin(), strides.end(), desc.strides.begin());
    return *ExactSizeInBytes(desc);
  };
  OperatorRequest request;
  request.operator_name = "ELEMENT_WISE_ADD";
  request.inputs = {view_of(a), view_of(b)};
  if (!output.empty()) request.output = view_of(output);
  request.payload_bytes = {bytes_of(a), bytes_of(b)};
  const ValidationResult result = Validate(request, {.max_tensor_bytes = UINT64_MAX});
  for (const Violation& violation : result.violations) ADD_FAILURE() << violation.description;
  return result.invocation;
}

// The elements of the loop nest in its order, each tensor from its `begin` on.
Visits VisitsOf(const Plan& plan, const std::vector<uint64_t>& begin) {
  Visits visits;
  const std::function<void(int, const std::vector<uint64_t>&)> loop =
      [&](int l, std::vector<uint64_t> at) {
        if (l == plan.loop_count) return visits.push_back(at);
        for (uint64_t i = 0; i < plan.sizes[l]; ++i) {
          loop(l + 1, at);
          for (size_t t = 0; t < at.size(); ++t) at[t] += plan.strides[t][l];
        }
      };
  loop(0, begin);
  return visits;
}

// All stretches together are the call, and none reads beyond what it says.
void ExpectDivided(const Invocation& call, uint64_t stretch) {
  SCOPED_TRACE("stretches of " + std::to_string(stretch));
  Visits visits;
  const uint64_t count = call.plan.element_count;
  for (uint64_t begin = 0; begin < count; begin += stretch) {
    const uint64_t elements = std::min(stretch, count - begin);
    const Invocation part = PartOf(call, elements);
    EXPECT_EQ(part.plan.element_count, elements);
    EXPECT_EQ(part.output_bytes, 4 * elements);
    const std::vector<uint64_t> places = {PlaceOf(call, 0, begin), PlaceOf(call, 1, begin), begin};
    for (std::vector<uint64_t>& visit : VisitsOf(part.plan, places)) {
      for (int i = 0; i < 2; ++i) EXPECT_LT(4 * (visit[i] - places[i]), part.input_bytes[i]);
      visits.push_back(std::move(visit));
    }
  }
  EXPECT_EQ(visits, VisitsOf(call.plan, {0, 0, 0}));
}

void ExpectDividedWithAnyLength(const Invocation& call) {
  ASSERT_TRUE(IsInOrder(call));
  const uint64_t count = call.plan.element_count;
  for (uint64_t most = 1; most <= count; ++most) {
    const uint64_t stretch = EvenStretch(call, most);
    ASSERT_GE(stretch, 1u);
    ASSERT_LE(stretch, most);
    ExpectDivided(call, stretch);
  }
  EXPECT_EQ(EvenStretch(call, count), count);
}

TEST(FlatPartTest, PackedCallsAreFlat) {
  const auto call = AddCall({2, 3, 5}, {}, {});
  EXPECT_TRUE(IsFlat(*call));
  EXPECT_EQ(EvenStretch(*call, 7), 7u);
  ExpectDividedWithAnyLength(*call);
}

TEST(FlatPartTest, AScalarIsEverywhere) {
  const auto call = AddCall({2, 3, 5}, {}, {0, 0, 0});
  EXPECT_FALSE(IsFlat(*call));
  EXPECT_TRUE(RunsAlong(*call, 0));
  EXPECT_FALSE(RunsAlong(*call, 1));
  EXPECT_EQ(EvenStretch(*call, 7), 7u);
  EXPECT_EQ(PartOf(*call, 7).input_bytes[1], 4u);
  ExpectDividedWithAnyLength(*call);
}

TEST(FlatPartTest, ARowIsRepeated) {
  const auto call = AddCall({7, 6}, {0, 1}, {});
  EXPECT_FALSE(RunsAlong(*call, 0));
  EXPECT_TRUE(RunsAlong(*call, 1));
  // Whole rows, or parts of one of the same length.
  EXPECT_EQ(EvenStretch(*call, 17), 12u);
  EXPECT_EQ(EvenStretch(*call, 5), 3u);
  EXPECT_EQ(PartOf(*call, 12).plan.loop_count, 2);
  EXPECT_TRUE(PartOf(*call, 6).plan.is_packed());
  ExpectDividedWithAnyLength(*call);
}

TEST(FlatPartTest, AColumnIsRepeated) { ExpectDividedWithAnyLength(*AddCall({7, 6}, {}, {1, 0})); }

TEST(FlatPartTest, AValuePerChannelIsRepeated) {
  const auto call = AddCall({3, 4, 5}, {}, {0, 1, 0});
  // Two channels of four.
  EXPECT_EQ(EvenStretch(*call, 19), 10u);
  EXPECT_EQ(EvenStretch(*call, 59), 40u);
  ExpectDividedWithAnyLength(*call);
}

TEST(FlatPartTest, LayoutsThatAreNoRepetition) {
  // A transposed input beside a packed one, and one that skips elements.
  ExpectDividedWithAnyLength(*AddCall({6, 5}, {}, {1, 6}));
  ExpectDividedWithAnyLength(*AddCall({6, 5}, {11, 2}, {}));
  // In the order of the output, which is transposed.
  const auto call = AddCall({6, 5}, {1, 6}, {}, {1, 6});
  EXPECT_TRUE(RunsAlong(*call, 0));
  EXPECT_FALSE(RunsAlong(*call, 1));
  ExpectDividedWithAnyLength(*call);
}

TEST(FlatPartTest, ResultsWithGapsAreNotInOrder) {
  EXPECT_FALSE(IsInOrder(*AddCall({6, 5}, {}, {}, {7, 1})));
}

TEST(FlatPartTest, RowsDivideIntoTheLargestPartThatFits) {
  constexpr uint32_t kPrime = 2'147'483'647;
  EXPECT_EQ(EvenStretch(*AddCall({2, kPrime}, {}, {0, 1}), 1 << 20), 1u);
  EXPECT_EQ(EvenStretch(*AddCall({2, 1'000'000}, {}, {0, 1}), 131'072), 125'000u);
  EXPECT_EQ(EvenStretch(*AddCall({2, 1 << 30}, {}, {0, 1}), 100'000), 65'536u);
}

TEST(FlatPartTest, StretchesAreOfWholeCacheLines) {
  EXPECT_EQ(EvenStretch(*AddCall({100'000}, {}, {0}), 1000), 960u);
  EXPECT_EQ(EvenStretch(*AddCall({1000, 96}, {}, {0, 1}), 1100), 960u);
  EXPECT_EQ(EvenStretch(*AddCall({1000, 64}, {}, {0, 1}), 200), 192u);
}

}  // namespace
}  // namespace opserve
