#include "kernels/sequence_part.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/flat_part.h"
#include "tests/unit/kernels/sequence_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;

class SequencePartTest : public ValidSequenceTest {
 protected:
  TensorSource Add(TensorSource a, TensorSource b, TestView view_of_b = {}) {
    const TensorSource sum = builder_.Step("ELEMENT_WISE_ADD");
    builder_.From(a);
    if (view_of_b.sizes.empty()) {
      builder_.From(b);
    } else {
      builder_.From(b, std::move(view_of_b));
    }
    return sum;
  }
};

// Each stretch is one of every step, and reads no more of what is repeated than there is.
void ExpectDivided(const SequenceInvocation& sequence, uint64_t stretch) {
  SCOPED_TRACE("stretches of " + std::to_string(stretch));
  const uint64_t count = sequence.call(sequence.outputs[0]).plan.element_count;
  const std::vector<RepeatedInput> repeated = RepeatedInputsOf(sequence);
  for (uint64_t begin = 0; begin < count; begin += stretch) {
    const uint64_t elements = std::min(stretch, count - begin);
    const SequenceInvocation part = PartOf(sequence, elements);
    ASSERT_EQ(part.steps.size(), sequence.steps.size());
    EXPECT_EQ(part.outputs, sequence.outputs);
    for (uint32_t s = 0; s < part.steps.size(); ++s) {
      EXPECT_EQ(part.call(s).plan.element_count, elements);
      uint64_t iterations = 1;
      for (int l = 0; l < part.call(s).plan.loop_count; ++l) {
        iterations *= part.call(s).plan.sizes[l];
      }
      EXPECT_EQ(iterations, elements) << "step " << s << " has no loop nest of that length";
    }
    const size_t inputs = sequence.input_bytes.size();
    ASSERT_EQ(part.input_bytes.size(), inputs + repeated.size());
    for (size_t i = 0; i < repeated.size(); ++i) {
      const Invocation& call = sequence.call(repeated[i].step);
      const uint64_t place = PlaceOf(call, repeated[i].input, begin);
      EXPECT_EQ(part.steps[repeated[i].step].sources[repeated[i].input].index, inputs + i);
      EXPECT_EQ(part.input_bytes[repeated[i].source], 0u);
      EXPECT_LE(4 * place + part.input_bytes[inputs + i], sequence.input_bytes[repeated[i].source]);
    }
  }
}

void ExpectDividedWithAnyLength(const SequenceInvocation& sequence) {
  ASSERT_EQ(WhyNotInOrder(sequence), "");
  const uint64_t count = sequence.call(sequence.outputs[0]).plan.element_count;
  for (uint64_t most = 1; most <= count; ++most) {
    const uint64_t stretch = EvenStretch(sequence, most);
    ASSERT_GE(stretch, 1u);
    ASSERT_LE(stretch, most);
    ExpectDivided(sequence, stretch);
  }
  EXPECT_EQ(EvenStretch(sequence, count), count);
}

TEST_F(SequencePartTest, FlatStepsDivideAnywhereAndStayOneGroup) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {10, 100}});
  const TensorSource y = builder_.Input({DataType::kFloat32, {10, 100}});
  builder_.Modulus(builder_.Round(Add(x, y)), x);
  const SequenceInvocation& sequence = Make();
  EXPECT_EQ(WhyNotInOrder(sequence), "");
  EXPECT_TRUE(RepeatedInputsOf(sequence).empty());
  EXPECT_EQ(EvenStretch(sequence, 77), 64u);
  const SequenceInvocation part = PartOf(sequence, 77);
  EXPECT_THAT(part.input_bytes, ElementsAre(308, 308));
  EXPECT_EQ(part.output_bytes(0), 308u);
  EXPECT_EQ(part.plan.groups.size(), 1u);
  EXPECT_EQ(part.plan.groups[0].element_count, 77u);
  EXPECT_EQ(part.plan.workspace_bytes, 0u);
  EXPECT_EQ(part.total_bytes, 5 * 308u);
  EXPECT_EQ(part.held_bytes, 3 * 308u);
}

TEST_F(SequencePartTest, AValueIsRepeated) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {4, 25}});
  const TensorSource value = builder_.Input({DataType::kFloat32, {1}});
  builder_.Round(Add(x, value, {{4, 25}, {0, 0}}));
  const SequenceInvocation& sequence = Make();
  ExpectDividedWithAnyLength(sequence);
  EXPECT_THAT(PartOf(sequence, 10).input_bytes, ElementsAre(40, 0, 4));
  EXPECT_EQ(PartOf(sequence, 10).plan.groups.size(), 1u);
}

TEST_F(SequencePartTest, ARowThatTwoStepsReadInTwoWaysHasTwoInputs) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {2, 6, 6}});
  const TensorSource row = builder_.Input({DataType::kFloat32, {6}});
  // Along the rows, and along the columns.
  const TensorSource sum = Add(x, row, {{2, 6, 6}, {0, 0, 1}});
  Add(sum, row, {{2, 6, 6}, {0, 1, 0}});
  const SequenceInvocation& sequence = Make();
  ASSERT_EQ(RepeatedInputsOf(sequence).size(), 2u);
  ExpectDividedWithAnyLength(sequence);
  EXPECT_THAT(PartOf(sequence, 12).input_bytes, ElementsAre(48, 0, 24, 8));
  // What lies between steps that do not go through the caches together.
  EXPECT_GT(PartOf(sequence, 12).plan.workspace_bytes, 0u);
}

TEST_F(SequencePartTest, LoopsOfTwoStepsShortenEachOther) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {4, 6, 10}});
  const TensorSource of_channels = builder_.Input({DataType::kFloat32, {6}});
  const TensorSource row = builder_.Input({DataType::kFloat32, {10}});
  const TensorSource sum = Add(x, of_channels, {{4, 6, 10}, {0, 1, 0}});
  Add(builder_.Round(sum), row, {{4, 6, 10}, {0, 0, 1}});
  const SequenceInvocation& sequence = Make();
  // Two channels of six are as many rows of ten.
  EXPECT_EQ(EvenStretch(sequence, 25), 20u);
  ExpectDividedWithAnyLength(sequence);
}

TEST_F(SequencePartTest, TheStepThatIsNotComputedInOrderIsNamed) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {1, 1, 4, 25}});
  builder_.Round(x);
  builder_.Step("ACTIVATION_SOFTMAX");
  builder_.From(FromStep(0));
  EXPECT_EQ(WhyNotInOrder(Make()),
            "the elements of step 1 are not computed one by one in the order in which they come");
}

TEST_F(SequencePartTest, AResultThatIsReadOtherwiseIsNamed) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {5, 5}});
  const TensorSource rounded = builder_.Round(x);
  Add(rounded, rounded, {{5, 5}, {1, 5}});
  EXPECT_EQ(WhyNotInOrder(Make()),
            "step 1 reads the result of step 0 in another order than that in which it comes");
}

TEST_F(SequencePartTest, AStepOfAnotherLengthIsNamed) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {5, 5}});
  const TensorSource row = builder_.Input({DataType::kFloat32, {5}});
  Add(x, builder_.Round(row), {{5, 5}, {0, 1}});
  EXPECT_EQ(WhyNotInOrder(Make()), "step 0 computes 5 elements, and the result has 25");
}

TEST_F(SequencePartTest, AnInputThatIsReadInTwoOrdersIsNamed) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {5, 5}});
  Add(builder_.Round(x), x, {{5, 5}, {1, 5}});
  EXPECT_EQ(WhyNotInOrder(Make()), "step 1 reads input 0 in another order than a step before it");
}

TEST_F(SequencePartTest, AnInputOfWhichAPartIsReadIsNamed) {
  const TensorSource x = builder_.Input({DataType::kFloat32, {5}});
  const TensorSource y = builder_.Input({DataType::kFloat32, {10}});
  Add(x, y, {{5}, {}});
  EXPECT_EQ(WhyNotInOrder(Make()), "step 0 reads only a part of input 1");
}

}  // namespace
}  // namespace opserve::testing
