// Sequences of operators through the client library.

#include <limits>

#include "gmock/gmock.h"
#include "tests/integration/client_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// IF(IS_INFINITY(x), x, ROUND(x))
OperatorSequence Choice(TensorView x) {
  return {.inputs = {std::move(x)},
          .steps = {{.operator_name = "ELEMENT_WISE_IS_INFINITY",
                     .attributes = {{"InfinityMode", "EITHER"}},
                     .inputs = {FromInput(0)}},
                    {.operator_name = "ELEMENT_WISE_ROUND",
                     .attributes = {{"RoundingMode", "TOWARD_ZERO"}},
                     .inputs = {FromInput(0)}},
                    {.operator_name = "ELEMENT_WISE_IF",
                     .inputs = {FromStep(0), FromInput(0), FromStep(1)}}}};
}

class ClientSequenceTest : public ClientFixture {
 protected:
  ClientSequenceTest() { Start(); }
};

TEST_F(ClientSequenceTest, ReturnsTheResultOfTheLastStep) {
  const Floats x = {0.5f, -2.6f, kInfinity};
  ExecutionInfo info;
  const auto results = client_->ExecuteSequence(Choice(ViewOf(x)), {}, &info);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(1));
  EXPECT_EQ(results->front().spec, FloatsSpec(3));
  EXPECT_THAT(*results->front().tensor->Elements<float>(), ElementsAre(0, -2, kInfinity));
  EXPECT_THAT(info.device, HasSubstr("cpu"));
  EXPECT_EQ(info.sends, 1);
}

TEST_F(ClientSequenceTest, ReturnsWhatIsAskedForInThatOrder) {
  const Floats x = {2.5f, -kInfinity};
  OperatorSequence sequence = Choice(ViewOf(x));
  sequence.outputs = {{2}, {0}};
  const auto results = client_->ExecuteSequence(sequence);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(2));
  EXPECT_THAT(*(*results)[0].tensor->Elements<float>(), ElementsAre(2, -kInfinity));
  EXPECT_THAT(*(*results)[1].tensor->Elements<uint8_t>(), ElementsAre(0, 1));
}

TEST_F(ClientSequenceTest, ViewsBroadcastAndTranspose) {
  const Floats x = {10.4f, 20.4f, 30.4f, 40.4f, 50.4f, 60.4f};
  const Floats seven = {7};
  const TensorSpec transposed = {.sizes = {3, 2}, .strides = {1, 3}};
  const TensorSpec broadcast = {.sizes = {3, 2}, .strides = {0, 0}};
  const auto results = client_->ExecuteSequence(
      {.inputs = {TensorView::Of<float>(x, {2, 3}), ViewOf(seven)},
       .steps = {{.operator_name = "ELEMENT_WISE_ROUND",
                  .attributes = {{"RoundingMode", "TOWARD_ZERO"}},
                  .inputs = {FromInput(0)}},
                 {.operator_name = "ELEMENT_WISE_MODULUS_TRUNCATE",
                  .inputs = {FromStep(0, transposed), FromInput(1, broadcast)}}}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->front().spec.sizes, (std::vector<uint32_t>{3, 2}));
  EXPECT_THAT(*results->front().tensor->Elements<float>(), ElementsAre(3, 5, 6, 1, 2, 4));
}

TEST_F(ClientSequenceTest, LargeTensorsTravelWhole) {
  const Floats x(1 << 20, 2.5f);
  const auto results = client_->ExecuteSequence(Choice(ViewOf(x)));
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results->front().tensor->Elements<float>(), Each(2));
}

TEST_F(ClientSequenceTest, TensorsMayStayWhereTheyAre) {
  const TensorHandle x = Create({0.5f, -2.6f, kInfinity});
  const auto region = client_->CreateRegion(128);
  ASSERT_TRUE(region.ok()) << region.status();
  const RegionRange infinite = region->range(64, 3);
  OperatorSequence sequence = Choice(TensorView::At(x));
  sequence.outputs = {{1}, {0, infinite}, {2, x}};
  const auto results = client_->ExecuteSequence(sequence);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(3));
  EXPECT_THAT(*(*results)[0].tensor->Elements<float>(), ElementsAre(0, -2, kInfinity));
  EXPECT_FALSE((*results)[1].tensor.has_value());
  EXPECT_EQ((*results)[1].spec, (TensorSpec{DataType::kUint8, {3}, {}}));
  EXPECT_THAT(infinite.values<uint8_t>(), ElementsAre(0, 0, 1));
  EXPECT_FALSE((*results)[2].tensor.has_value());
  EXPECT_THAT(ValuesOf(x), ElementsAre(0, -2, kInfinity));
}

TEST_F(ClientSequenceTest, EveryViolationIsDecoded) {
  const Floats x = {1};
  OperatorSequence sequence = Choice(ViewOf(x));
  sequence.steps[0].attributes[0].value = int64_t{7};
  sequence.steps[1].inputs[0] = FromInput(3);
  sequence.outputs = {{2}, {5}};
  const absl::Status status = client_->ExecuteSequence(sequence).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetViolations(status)) fields.push_back(violation.field);
  EXPECT_THAT(fields, ElementsAre("steps[0].attributes[0].value", "steps[1].inputs[0].input",
                                  "outputs[1].step"));
}

TEST_F(ClientSequenceTest, TheServerTellsItsLimit) {
  const uint32_t limit = client_->GetServerInfo()->limits.max_sequence_steps;
  EXPECT_EQ(limit, options_.max_sequence_steps);
  const Floats x = {1.5f};
  OperatorSequence sequence = {.inputs = {ViewOf(x)}};
  for (uint32_t i = 0; i <= limit; ++i) {
    sequence.steps.push_back({.operator_name = "ELEMENT_WISE_ROUND",
                              .attributes = {{"RoundingMode", "TOWARD_ZERO"}},
                              .inputs = {i == 0 ? FromInput(0) : FromStep(i - 1)}});
  }
  EXPECT_TRUE(absl::IsInvalidArgument(client_->ExecuteSequence(sequence).status()));
  sequence.steps.pop_back();
  EXPECT_TRUE(client_->ExecuteSequence(sequence).ok());
}

}  // namespace
}  // namespace opserve::testing
