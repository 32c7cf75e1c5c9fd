#include "kernels/nan_bits.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

TEST(NanBitsTest, MovesReadNoBits) {
  for (const OpId op :
       {OpId::ELEMENT_WISE_IDENTITY, OpId::ELEMENT_WISE_IF, OpId::ACTIVATION_IDENTITY,
        OpId::ELEMENT_WISE_ABS, OpId::ELEMENT_WISE_MAX, OpId::ELEMENT_WISE_LOGICAL_EQUALS}) {
    EXPECT_FALSE(ReadsBits(op)) << TraitsOf(op).name;
  }
  for (const OpId op :
       {OpId::ELEMENT_WISE_BIT_AND, OpId::ELEMENT_WISE_BIT_OR, OpId::ELEMENT_WISE_BIT_XOR,
        OpId::ELEMENT_WISE_BIT_NOT, OpId::ELEMENT_WISE_BIT_COUNT}) {
    EXPECT_TRUE(ReadsBits(op)) << TraitsOf(op).name;
  }
}

class SequenceNanBitsTest : public ::testing::Test {
 protected:
  TensorSource Input() { return builder_.Input({kFloat, {4}}); }
  TensorSource Step(const std::string& op, std::initializer_list<TensorSource> sources) {
    const TensorSource result = builder_.Step(op);
    for (const TensorSource& source : sources) builder_.From(source);
    return result;
  }
  bool Shows() {
    const auto last = static_cast<uint32_t>(builder_.request().steps.size() - 1);
    builder_.Return(FromStep(last));
    const SequenceValidationResult result = builder_.Validate();
    EXPECT_NE(result.sequence, nullptr);
    return result.sequence != nullptr && result.sequence->shows_nan_bits;
  }

  SequenceBuilder builder_;
};

TEST_F(SequenceNanBitsTest, ComputedNansShowInBits) {
  Step("ELEMENT_WISE_BIT_NOT", {builder_.Round(Input())});
  EXPECT_TRUE(Shows());
}

TEST_F(SequenceNanBitsTest, AlsoInTheirCount) {
  Step("ELEMENT_WISE_BIT_COUNT", {builder_.Round(Input())});
  EXPECT_TRUE(Shows());
}

TEST_F(SequenceNanBitsTest, AlsoAfterMoves) {
  const TensorSource moved = Step("ELEMENT_WISE_IDENTITY", {builder_.Round(Input())});
  Step("ELEMENT_WISE_BIT_XOR", {Input(), Step("ELEMENT_WISE_ABS", {moved})});
  EXPECT_TRUE(Shows());
}

TEST_F(SequenceNanBitsTest, NansOfInputsAreTheSameEverywhere) {
  Step("ELEMENT_WISE_BIT_NOT", {Step("ELEMENT_WISE_NEGATE", {Input()})});
  EXPECT_FALSE(Shows());
}

TEST_F(SequenceNanBitsTest, NothingReadsThem) {
  Step("ELEMENT_WISE_IDENTITY", {builder_.Round(Step("ELEMENT_WISE_BIT_NOT", {Input()}))});
  EXPECT_FALSE(Shows());
}

TEST_F(SequenceNanBitsTest, FlagsHoldNone) {
  Step("ELEMENT_WISE_BIT_NOT", {builder_.IsInfinity(builder_.Round(Input()))});
  EXPECT_FALSE(Shows());
}

}  // namespace
}  // namespace opserve::testing
