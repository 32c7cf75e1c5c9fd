#include "kernels/sequence_plan.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/kernels/sequence_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using Kind = ResultPlace::Kind;

std::vector<uint32_t> GroupSizes(const SequenceInvocation& sequence) {
  std::vector<uint32_t> sizes;
  for (const StepGroup& group : sequence.plan.groups) sizes.push_back(group.size());
  return sizes;
}

std::vector<Kind> PlacesOf(const SequenceInvocation& sequence) {
  std::vector<Kind> kinds;
  for (const ResultPlace& place : sequence.plan.results) kinds.push_back(place.kind);
  return kinds;
}

using SequencePlanTest = ValidSequenceTest;

TEST_F(SequencePlanTest, FlatStepsAreOneGroupAndNeedNoMemory) {
  TensorSource x = builder_.Input({DataType::kFloat32, {10, 100}});
  for (int i = 0; i < 8; ++i) x = builder_.Round(x);
  const SequenceInvocation& sequence = Make();
  EXPECT_THAT(GroupSizes(sequence), ElementsAre(8));
  EXPECT_EQ(sequence.plan.groups[0].element_count, 1000u);
  // One is read while the other is written.
  EXPECT_EQ(sequence.plan.groups[0].slot_count, 2u);
  EXPECT_EQ(sequence.plan.workspace_bytes, 0u);
  EXPECT_EQ(sequence.plan.results[7].kind, Kind::kOutput);
}

TEST_F(SequencePlanTest, ValuesThatStayAliveKeepTheirSlots) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {100}});
  const TensorSource a = builder_.Round(x);
  const TensorSource b = builder_.Round(a);
  const TensorSource c = builder_.Round(b);
  builder_.Modulus(a, c);
  const SequenceInvocation& sequence = Make();
  EXPECT_EQ(sequence.plan.groups[0].slot_count, 3u);
  EXPECT_NE(sequence.plan.results[0].at, sequence.plan.results[1].at);
  EXPECT_NE(sequence.plan.results[0].at, sequence.plan.results[2].at);
  EXPECT_NE(sequence.plan.results[1].at, sequence.plan.results[2].at);
}

TEST_F(SequencePlanTest, OutputsInTheMiddleStayInTheGroup) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {100}});
  const TensorSource a = builder_.Round(x);
  const TensorSource b = builder_.Round(a);
  builder_.Return(b).Return(a);
  const SequenceInvocation& sequence = Make();
  EXPECT_THAT(GroupSizes(sequence), ElementsAre(2));
  EXPECT_THAT(PlacesOf(sequence), ElementsAre(Kind::kOutput, Kind::kOutput));
  EXPECT_EQ(sequence.plan.results[0].at, 1u);
  EXPECT_EQ(sequence.plan.groups[0].slot_count, 0u);
}

TEST_F(SequencePlanTest, OneBroadcastValueIsFlat) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {10, 10}});
  const TensorSource y = builder_.Input({DataType::kFloat32, {1}});
  const TensorSource a = builder_.Round(x);
  builder_.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder_.From(a).From(y, TestView{{10, 10}, {0, 0}});
  EXPECT_THAT(GroupSizes(Make()), ElementsAre(2));
}

TEST_F(SequencePlanTest, ABroadcastOfTheGroupsOwnResultEndsIt) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {10, 10}});
  const TensorSource a = builder_.Round(x);
  const TensorSource b = builder_.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder_.From(x).From(a, TestView{{10, 10}, {0, 0}});
  builder_.Round(b);
  const SequenceInvocation& sequence = Make();
  EXPECT_THAT(GroupSizes(sequence), ElementsAre(1, 2));
  EXPECT_THAT(PlacesOf(sequence), ElementsAre(Kind::kWorkspace, Kind::kSlot, Kind::kOutput));
}

// Rows may lie across blocks; even those of one element are not run block by block.
TEST_F(SequencePlanTest, RowsAreGroupsOfTheirOwn) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {100, 1}});
  const TensorSource before = builder_.Round(builder_.Round(x));
  const TensorSource along = builder_.Step("ACTIVATION_HARDMAX1");
  builder_.From(before).Int("Axes", 0);
  const TensorSource across = builder_.Step("ACTIVATION_HARDMAX1");
  builder_.From(along).Int("Axes", 1);
  builder_.Round(builder_.Round(across));
  EXPECT_THAT(GroupSizes(Make()), ElementsAre(2, 1, 1, 2));
}

TEST_F(SequencePlanTest, OtherLayoutsAreGroupsOfTheirOwn) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {10, 20}});
  const TensorSource a = builder_.Round(builder_.Round(x));
  const TensorSource transposed = builder_.Step("ELEMENT_WISE_ROUND");
  builder_.From(a, TestView{{20, 10}, {1, 20}}).Int("RoundingMode", 0);
  builder_.Round(builder_.Round(transposed));
  const SequenceInvocation& sequence = Make();
  EXPECT_THAT(GroupSizes(sequence), ElementsAre(2, 1, 2));
  EXPECT_THAT(PlacesOf(sequence), ElementsAre(Kind::kSlot, Kind::kWorkspace, Kind::kWorkspace,
                                              Kind::kSlot, Kind::kOutput));
  // Both are alive while the third step runs.
  EXPECT_EQ(sequence.plan.workspace_bytes, 2 * 832u);
  EXPECT_EQ(sequence.held_bytes, 800u + 800 + 2 * 832);
}

TEST_F(SequencePlanTest, AnotherElementCountIsAnotherGroup) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {100}});
  const TensorSource a = builder_.Round(builder_.Round(x));
  builder_.Step("ELEMENT_WISE_ROUND");
  builder_.From(a, TestView{{99}, {}}).Int("RoundingMode", 0);
  EXPECT_THAT(GroupSizes(Make()), ElementsAre(2, 1));
}

TEST_F(SequencePlanTest, TheWorkspaceIsUsedAgain) {
  // Padded results are no flat ones, so that each step is a group.
  TensorSource x = builder_.Input({DataType::kFloat32, {16, 15}});
  for (int i = 0; i < 20; ++i) {
    x = builder_.Round(x);
    builder_.Output({DataType::kFloat32, {16, 15}, {16, 1}});
  }
  const SequenceInvocation& sequence = Make();
  EXPECT_EQ(sequence.plan.groups.size(), 20u);
  EXPECT_EQ(sequence.plan.workspace_bytes, 2 * 1024u);
}

TEST_F(SequencePlanTest, GroupsAreBounded) {
  TensorSource x = builder_.Input({DataType::kFloat32, {100}});
  for (uint32_t i = 0; i < kMaxGroupSteps + 1; ++i) x = builder_.Round(x);
  const SequenceValidationResult result = builder_.Validate({.max_steps = 100});
  ASSERT_NE(result.sequence, nullptr);
  EXPECT_THAT(GroupSizes(*result.sequence), ElementsAre(kMaxGroupSteps, 1));
}

}  // namespace
}  // namespace opserve::testing
