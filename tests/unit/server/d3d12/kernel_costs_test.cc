// What kernels are expected to take, and that no command of any kernel is expected to take longer
// than it may, whatever a device has shown.

#include "server/d3d12/kernel_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "kernels/hlsl/blobs.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/row_stages.h"

namespace opserve::d3d12 {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

const nanoseconds kLimit = DeviceOptions().longest_dispatch;

// The variants of a kernel: strided ones have up to eight loops, those of rows several stages.
std::vector<KernelVariant> VariantsOf(const hlsl::KernelKey& kernel) {
  if (kernel.layout == hlsl::LayoutClass::kPacked) return {{kernel, 0}};
  std::vector<KernelVariant> variants = {{kernel, 1}, {kernel, 2}, {kernel, kMaxDimensionCount}};
  if (TraitsOf(kernel.op).shape.is_row) {
    variants.push_back({kernel, kMaxDimensionCount, hlsl::RowStage::kLargest});
    variants.push_back({kernel, kMaxDimensionCount, hlsl::RowStage::kSums});
  }
  return variants;
}

// The most blocks that a call can have: those of an output, or of the widest input, of the most
// bytes that kernels can address.
uint32_t MostBlocks(const hlsl::KernelKey& kernel) {
  const OpTraits& op = TraitsOf(kernel.op);
  const uint64_t output = SizeOf(kernel.output);
  if (kernel.layout == hlsl::LayoutClass::kStrided) {
    return static_cast<uint32_t>(kMaxKernelBytes / std::max(output, kWordBytes));
  }
  uint64_t widest = output;
  for (int i = 0; i < op.input_count(); ++i) {
    widest = std::max<uint64_t>(widest, SizeOf(op.InputType(i, kernel.lane)));
  }
  const uint32_t elements = hlsl::ElementsPerBlock(kernel.output);
  return static_cast<uint32_t>(kMaxKernelBytes / (widest * elements));
}

nanoseconds EstimateOf(const KernelCosts& costs, const KernelVariant& variant, uint64_t blocks) {
  const KernelWork work = {variant, blocks};
  return costs.Estimate({&work, 1});
}

// What the costs count of a block: the elements that become a record of a row.
uint64_t CostPerBlock(const KernelVariant& variant) {
  return variant.stage == hlsl::RowStage::kResults ? 1 : kRowPartLength;
}

std::vector<DispatchPiece> PiecesOfAll(const KernelCosts& costs, const KernelVariant& variant) {
  Dispatch dispatch;
  dispatch.block_count = static_cast<uint32_t>(MostBlocks(variant.kernel) / CostPerBlock(variant));
  dispatch.most_blocks = costs.BlocksWithin(variant, kLimit) / CostPerBlock(variant);
  return PiecesOf(variant.kernel, dispatch);
}

// Teaches `costs` that `blocks` blocks took `took`.
void Teach(KernelCosts& costs, const KernelVariant& variant, uint64_t blocks, nanoseconds took) {
  const KernelWork work = {variant, blocks};
  costs.Observe({&work, 1}, took);
}

// Calls `check` for every kernel and number of loops.
template <class Check>
void ForAllVariants(const Check& check) {
  ASSERT_FALSE(hlsl::AllBlobs().empty());
  for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
    for (const KernelVariant& variant : VariantsOf(blob.key)) {
      SCOPED_TRACE(TraitsOf(blob.key.op).name);
      check(variant);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

void ExpectShortPieces(const KernelCosts& costs, const KernelVariant& variant) {
  uint64_t blocks = 0;
  for (const DispatchPiece& piece : PiecesOfAll(costs, variant)) {
    blocks = std::max(blocks, piece.computed_blocks);
    ASSERT_LE(piece.group_count, 65535u);
  }
  ASSERT_LE(EstimateOf(costs, variant, blocks * CostPerBlock(variant)), kLimit);
}

TEST(KernelCostsTest, NoCommandIsExpectedToTakeLong) {
  KernelCosts costs;
  ForAllVariants([&](const KernelVariant& variant) { ExpectShortPieces(costs, variant); });
  // A device that takes 10 times as long as was guessed.
  ForAllVariants([&](const KernelVariant& variant) {
    const nanoseconds guess = EstimateOf(costs, variant, 10'000'000);
    Teach(costs, variant, 10'000'000, 10 * guess);
    ASSERT_GE(EstimateOf(costs, variant, 10'000'000), 9 * guess);
    ExpectShortPieces(costs, variant);
  });
}

// Where whole calls would take seconds, which is why there are pieces.
TEST(KernelCostsTest, ASlowDeviceWouldTakeSecondsForTheWhole) {
  const KernelCosts costs;
  nanoseconds longest{0};
  ForAllVariants([&](const KernelVariant& variant) {
    longest = std::max(longest, EstimateOf(costs, variant, MostBlocks(variant.kernel)));
  });
  EXPECT_GT(longest, seconds(2));
}

// As it was without pieces.
TEST(KernelCostsTest, AFastDeviceGetsOneCommand) {
  KernelCosts costs;
  ForAllVariants([&](const KernelVariant& variant) {
    Teach(costs, variant, MostBlocks(variant.kernel), milliseconds(20));
    ASSERT_EQ(PiecesOfAll(costs, variant).size(), 1u);
  });
}

// Small calls are one command before anything has been learnt.
TEST(KernelCostsTest, SmallCallsAreNotSplit) {
  const KernelCosts costs;
  ForAllVariants([&](const KernelVariant& variant) {
    ASSERT_GT(costs.BlocksWithin(variant, kLimit), 65536u);
  });
}

class LearningTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBlocks = 1'000'000;

  nanoseconds Expected() const { return EstimateOf(costs_, variant_, kBlocks); }
  void Run(nanoseconds took) { Teach(costs_, variant_, kBlocks, took); }

  const KernelVariant variant_ = {hlsl::AllBlobs()[0].key, 0};
  KernelCosts costs_;
};

TEST_F(LearningTest, TheFirstRunTakesThePlaceOfTheGuess) {
  Run(microseconds(100));
  EXPECT_EQ(Expected(), microseconds(100));
}

TEST_F(LearningTest, ALongRunRaisesTheCostAtOnce) {
  Run(microseconds(100));
  Run(milliseconds(40));
  EXPECT_EQ(Expected(), milliseconds(40));
}

// What they take beside kernels is most of it.
TEST_F(LearningTest, ShortRunsRaiseNothing) {
  Run(microseconds(100));
  Run(milliseconds(9));
  EXPECT_EQ(Expected(), microseconds(100));
  // Nor is a guess replaced by what a submission without work takes.
  KernelCosts fresh;
  const nanoseconds guess = EstimateOf(fresh, variant_, 4);
  Teach(fresh, variant_, 4, milliseconds(1));
  EXPECT_EQ(EstimateOf(fresh, variant_, 4), guess);
}

// Other numbers may take longer than those of the last run.
TEST_F(LearningTest, FasterRunsLowerTheCostStepByStep) {
  Run(milliseconds(40));
  Run(milliseconds(10));
  EXPECT_EQ(Expected(), milliseconds(35));
  for (int i = 0; i < 20; ++i) Run(milliseconds(10));
  EXPECT_EQ(Expected(), milliseconds(10));
}

TEST_F(LearningTest, KernelsOfASequenceShareItsTime) {
  const KernelVariant other = {hlsl::AllBlobs()[2].key, 0};
  Run(milliseconds(10));
  Teach(costs_, other, kBlocks, milliseconds(30));
  const std::vector<KernelWork> sequence = {{variant_, kBlocks}, {other, kBlocks}};
  costs_.Observe(sequence, milliseconds(80));
  EXPECT_EQ(Expected(), milliseconds(20));
  EXPECT_EQ(EstimateOf(costs_, other, kBlocks), milliseconds(60));
}

TEST_F(LearningTest, KernelsAreToldApart) {
  Run(milliseconds(40));
  const KernelVariant other = {hlsl::AllBlobs()[2].key, 0};
  EXPECT_EQ(EstimateOf(costs_, other, kBlocks),
            nanoseconds(static_cast<int64_t>(GuessedNanosecondsPerBlock(other) * kBlocks)));
}

}  // namespace
}  // namespace opserve::d3d12
