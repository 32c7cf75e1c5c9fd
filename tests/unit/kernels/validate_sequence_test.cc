#include "kernels/validate_sequence.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> FieldsOf(const SequenceValidationResult& result) {
  std::vector<std::string> fields;
  for (const Violation& violation : result.violations) fields.push_back(violation.field);
  return fields;
}

TEST(ValidateSequenceTest, ValidSequence) {
  // What a leaky rectifier looks like: a condition, a changed value, and a choice between both.
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {2, 100}});
  const TensorSource is_infinite = builder.IsInfinity(x);
  const TensorSource rounded = builder.Round(x);
  builder.If(is_infinite, rounded, x);
  const SequenceValidationResult result = builder.Validate();
  EXPECT_THAT(result.violations, IsEmpty());
  ASSERT_NE(result.sequence, nullptr);
  const SequenceInvocation& sequence = *result.sequence;
  EXPECT_THAT(sequence.input_bytes, ElementsAre(800));
  ASSERT_EQ(sequence.steps.size(), 3u);
  EXPECT_EQ(sequence.steps[2].sources[0], FromStep(0));
  EXPECT_EQ(sequence.steps[2].sources[1], FromStep(1));
  EXPECT_EQ(sequence.steps[2].sources[2], FromInput(0));
  EXPECT_EQ(sequence.call(0).output.data_type, DataType::kUint8);
  EXPECT_THAT(sequence.outputs, ElementsAre(2));
  EXPECT_EQ(sequence.total_bytes, 800u + 200 + 800 + 800);
  EXPECT_EQ(sequence.held_bytes, 800u + 800);
  EXPECT_EQ(sequence.size.edge_bytes, 800u + 800);
  EXPECT_EQ(sequence.size.steps, 3u);
  EXPECT_EQ(sequence.size.step_bytes, (800u + 200) + (800 + 800) + (200 + 800 + 800 + 800));
}

TEST(ValidateSequenceTest, NamedInputsAreFoundByName) {
  SequenceBuilder builder;
  const TensorSource a = builder.Input({DataType::kFloat32, {4}});
  const TensorSource b = builder.Input({DataType::kFloat32, {4}});
  builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder.From(b, "BTensor").From(a, "ATensor");
  const SequenceValidationResult result = builder.Validate();
  ASSERT_NE(result.sequence, nullptr);
  EXPECT_EQ(result.sequence->steps[0].sources[0], a);
  EXPECT_EQ(result.sequence->steps[0].sources[1], b);
}

TEST(ValidateSequenceTest, ViewsChangeLayouts) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {2, 3}});
  const TensorSource y = builder.Input({DataType::kFloat32, {1}});
  builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder.From(x, TestView{{3, 2}, {1, 3}}).From(y, TestView{{3, 2}, {0, 0}});
  const SequenceValidationResult result = builder.Validate();
  EXPECT_THAT(result.violations, IsEmpty());
  ASSERT_NE(result.sequence, nullptr);
  EXPECT_THAT(result.sequence->call(0).output.size_span(), ElementsAre(3, 2));
  EXPECT_EQ(result.sequence->call(0).input_bytes[1], 4u);
}

TEST(ValidateSequenceTest, AViewMayLeaveOutItsSizes) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {2, 2}, {5, 1}});
  builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder.From(x, TestView{{}, {1, 2}}).From(x, TestView{});
  const SequenceValidationResult result = builder.Validate();
  ASSERT_NE(result.sequence, nullptr);
  EXPECT_THAT(result.sequence->call(0).inputs[0].stride_span(), ElementsAre(1, 2));
  EXPECT_THAT(result.sequence->call(0).inputs[1].stride_span(), ElementsAre(5, 1));
}

TEST(ValidateSequenceTest, AViewMustStayInItsSource) {
  for (const auto& [view, is_good] :
       std::vector<std::pair<TestView, bool>>{{{{6}, {}}, true},
                                              {{{7}, {}}, false},
                                              {{{2, 3}, {3, 1}}, true},
                                              {{{2, 3}, {4, 1}}, false},
                                              {{{6}, {1}}, true},
                                              {{{1000, 1000}, {0, 0}}, true},
                                              {{{2, 1000}, {5, 0}}, true},
                                              {{{2, 1000}, {6, 0}}, false},
                                              {{{2, 2}, {4294967295u, 4294967295u}}, false}}) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, {6}});
    builder.Step("ELEMENT_WISE_ROUND");
    builder.From(x, view).Int("RoundingMode", 0);
    const SequenceValidationResult result =
        builder.Validate({.tensors = {.max_tensor_bytes = UINT64_MAX}});
    EXPECT_EQ(result.sequence != nullptr, is_good);
    const std::vector<std::string> expected = {"steps[0].inputs[0].view"};
    EXPECT_EQ(FieldsOf(result), is_good ? std::vector<std::string>() : expected);
  }
}

TEST(ValidateSequenceTest, AViewOfAPaddedResultMayCoverItsPadding) {
  for (const auto& [sizes, is_good] : std::vector<std::pair<std::vector<uint32_t>, bool>>{
           {{6}, true}, {{7}, false}, {{2, 3}, true}, {{3, 3}, false}}) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, {2, 2}});
    const TensorSource padded = builder.Round(x);
    builder.Output({DataType::kFloat32, {2, 2}, {4, 1}});
    builder.Step("ELEMENT_WISE_ROUND");
    builder.From(padded, TestView{sizes, {}}).Int("RoundingMode", 0);
    EXPECT_EQ(builder.Validate().sequence != nullptr, is_good) << sizes.size() << ' ' << sizes[0];
  }
}

TEST(ValidateSequenceTest, ViewsHaveNoNameAndNoType) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Step("ELEMENT_WISE_ROUND");
  builder.From(x, TestView{{6}, {}}).Int("RoundingMode", 0);
  builder.last().inputs[0].view->name = "InputTensor";
  builder.last().inputs[0].view->data_type = 1;
  EXPECT_THAT(FieldsOf(builder.Validate()),
              ElementsAre("steps[0].inputs[0].view.name", "steps[0].inputs[0].view.data_type"));
}

TEST(ValidateSequenceTest, FaultsOfViewsAreTheirs) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Step("ELEMENT_WISE_ROUND");
  builder.From(x, TestView{{2, 0}, {}}).Int("RoundingMode", 0);
  builder.Step("ELEMENT_WISE_ROUND");
  builder.From(x, TestView{{2, 3}, {1}}).Int("RoundingMode", 0);
  builder.Return(FromStep(0)).Return(FromStep(1));
  EXPECT_THAT(FieldsOf(builder.Validate()),
              ElementsAre("steps[0].inputs[0].view.sizes[1]", "steps[1].inputs[0].view.strides"));
}

TEST(ValidateSequenceTest, FaultsOfSourcesAreTheInputs) {
  SequenceBuilder builder;
  const TensorSource a = builder.Input({DataType::kFloat32, {6}});
  const TensorSource b = builder.Input({DataType::kFloat16, {7}});
  builder.Modulus(a, b);
  const SequenceValidationResult result = builder.Validate();
  EXPECT_THAT(FieldsOf(result), ElementsAre("steps[0].inputs[1]", "steps[0].inputs[1]"));
  EXPECT_EQ(result.sequence, nullptr);
}

TEST(ValidateSequenceTest, EveryViolationOfEveryStepOnce) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  const TensorSource bad = builder.Input({DataType::kFloat32, {0}});
  const TensorSource round = builder.Step("ELEMENT_WISE_ROUND");
  builder.From(x).Int("RoundingMode", 9);
  // Its inputs are at fault elsewhere, its attribute here.
  const TensorSource other = builder.Step("ELEMENT_WISE_ROUND");
  builder.From(bad).Int("Mode", 0);
  // Nothing but its inputs is at fault.
  const TensorSource both = builder.Modulus(round, other);
  builder.Step("ELEMENT_WISE_ROUNT");
  builder.From(both);
  const SequenceValidationResult result = builder.Validate();
  EXPECT_EQ(result.sequence, nullptr);
  EXPECT_EQ(result.unknown_operator, "ELEMENT_WISE_ROUNT");
  EXPECT_THAT(FieldsOf(result), ElementsAre("inputs[1].sizes[0]", "steps[0].attributes[0].value",
                                            "steps[1].attributes[0].name", "steps[1].attributes",
                                            "steps[3].operator"));
}

TEST(ValidateSequenceTest, ReferencesMustPointBack) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Round(x);
  builder.Round(FromStep(1));
  builder.Round(FromStep(7));
  builder.Round(FromInput(1));
  builder.Round({});
  EXPECT_THAT(FieldsOf(builder.Validate()),
              ElementsAre("steps[1].inputs[0].step", "steps[2].inputs[0].step",
                          "steps[3].inputs[0].input", "steps[4].inputs[0]"));
}

TEST(ValidateSequenceTest, WhatIsNotUsedIsAMistake) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Input({DataType::kFloat32, {6}});
  builder.Round(x);
  builder.Round(x);
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("inputs[1]", "steps[0]"));
}

TEST(ValidateSequenceTest, Outputs) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Return(builder.Round(x)).Return(builder.Round(x));
  const SequenceValidationResult good = builder.Validate();
  ASSERT_NE(good.sequence, nullptr);
  EXPECT_THAT(good.sequence->outputs, ElementsAre(0, 1));
  builder.Return(FromStep(1)).Return(FromStep(2));
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("outputs[2].step", "outputs[3].step"));
}

TEST(ValidateSequenceTest, PayloadsMustFit) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat16, {3}});
  builder.Round(x);
  builder.request().payload_bytes = {8};
  EXPECT_NE(builder.Validate().sequence, nullptr);
  builder.request().payload_bytes = {7};
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("payloads[0]"));
  builder.request().payload_bytes = {6, 6};
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("payloads"));
}

TEST(ValidateSequenceTest, TheFeatureLevelHoldsForAllSteps) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {1, 2, 3}});
  builder.Round(builder.Round(x));
  builder.request().feature_level = "3_0";
  EXPECT_NE(builder.Validate().sequence, nullptr);
  builder.request().feature_level = "2_1";
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("steps[0].inputs[0]"));
  builder.request().feature_level = "9_9";
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("feature_level"));
}

TEST(ValidateSequenceTest, InputsHaveNoNames) {
  SequenceBuilder builder;
  builder.Round(builder.Input({DataType::kFloat32, {6}, {}, "ATensor"}));
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("inputs[0].name"));
}

TEST(ValidateSequenceTest, ResultsAreLimited) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {1}});
  builder.Step("ELEMENT_WISE_ROUND");
  builder.From(x, TestView{{1000}, {0}}).Int("RoundingMode", 0);
  EXPECT_NE(builder.Validate({.tensors = {.max_tensor_bytes = 4000}}).sequence, nullptr);
  EXPECT_THAT(FieldsOf(builder.Validate({.tensors = {.max_tensor_bytes = 3999}})),
              ElementsAre("steps[0].output.sizes"));
}

TEST(ValidateSequenceTest, NumbersOfThings) {
  SequenceBuilder none;
  EXPECT_THAT(FieldsOf(none.Validate()), ElementsAre("steps"));

  SequenceBuilder builder;
  TensorSource x = builder.Input({DataType::kFloat32, {6}});
  for (int i = 0; i < 64; ++i) x = builder.Round(x);
  EXPECT_NE(builder.Validate().sequence, nullptr);
  builder.Round(x);
  const SequenceValidationResult result = builder.Validate();
  EXPECT_THAT(FieldsOf(result), ElementsAre("steps"));
  EXPECT_THAT(result.violations[0].description, HasSubstr("65"));
  EXPECT_NE(builder.Validate({.max_steps = 65}).sequence, nullptr);

  builder.request().inputs.resize(64 * kMaxInputs + 1);
  builder.request().outputs.resize(100);
  builder.request().steps.resize(1);
  EXPECT_THAT(FieldsOf(builder.Validate()), ElementsAre("inputs", "outputs"));
}

// A step that names its source a million times must not cost more than reading the request.
TEST(ValidateSequenceTest, AbsurdStepsAreCheap) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {6}});
  builder.Step("ELEMENT_WISE_ROUND");
  builder.last().inputs.resize(1'000'000, {.source = x});
  builder.Int("RoundingMode", 0);
  const SequenceValidationResult result = builder.Validate();
  EXPECT_THAT(FieldsOf(result), ElementsAre("steps[0].inputs"));
}

}  // namespace
}  // namespace opserve::testing
