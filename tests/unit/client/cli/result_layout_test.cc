// The layout of results that the catalogue tells.

#include "client/cli/result_layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::HasSubstr;

OperatorInfo If() {
  OperatorInfo op;
  op.name = "IF";
  op.inputs = {{"Condition", false}, {"A", false}};
  op.output = {"Output", false};
  op.same_sizes = {{"Condition", "A", "Output"}};
  op.same_data_type = {{"A", "Output"}};
  op.support = {{"1_0",
                 {{"Condition", 1, 8, {DataType::kUint8}},
                  {"A", 1, 8, {DataType::kFloat32, DataType::kFloat16}},
                  {"Output", 1, 8, {DataType::kFloat32, DataType::kFloat16}}}}};
  return op;
}

OperatorCall CallOf(std::vector<TensorSpec> specs) {
  OperatorCall call;
  for (TensorSpec& spec : specs) call.inputs.emplace_back(std::move(spec), std::span<std::byte>());
  return call;
}

TEST(ResultLayoutTest, TypeAndSizesComeFromInputsOfTheSameGroup) {
  OperatorCall call = CallOf({{DataType::kUint8, {2, 3}, {1, 2}}, {DataType::kFloat16, {2, 3}}});
  EXPECT_EQ(ResultLayout(If(), call).value(), (TensorSpec{DataType::kFloat16, {2, 3}}));
  call.output.emplace().strides = {4, 1};
  EXPECT_EQ(ResultLayout(If(), call).value(), (TensorSpec{DataType::kFloat16, {2, 3}, {4, 1}}));
}

TEST(ResultLayoutTest, TheOnlyTypeOfTheOutputNeedsNoGroup) {
  OperatorInfo op = If();
  op.same_data_type.clear();
  op.support[0].tensors.back().data_types = {DataType::kUint8};
  const OperatorCall call = CallOf({{DataType::kUint8, {4}}});
  EXPECT_EQ(ResultLayout(op, call).value(), (TensorSpec{DataType::kUint8, {4}}));
}

TEST(ResultLayoutTest, IntegersThatNothingTellsAreAsSmallAsThereAre) {
  OperatorInfo op = If();
  op.same_data_type.clear();
  const OperatorCall call = CallOf({{DataType::kUint8, {4}}});
  std::vector<DataType>& types = op.support[0].tensors.back().data_types;
  types = {DataType::kUint8, DataType::kUint32};
  EXPECT_EQ(ResultLayout(op, call).value(), (TensorSpec{DataType::kUint8, {4}}));
  types = {DataType::kUint8, DataType::kInt8};
  EXPECT_EQ(ResultLayout(op, call).value(), (TensorSpec{DataType::kUint8, {4}}));
}

TEST(ResultLayoutTest, NamedInputsComeInAnyOrder) {
  OperatorCall call = CallOf({{DataType::kFloat16, {2, 3}}, {DataType::kUint8, {2, 3}}});
  call.inputs[0].set_name("A");
  call.inputs[1].set_name("Condition");
  EXPECT_EQ(ResultLayout(If(), call).value(), (TensorSpec{DataType::kFloat16, {2, 3}}));
}

TEST(ResultLayoutTest, CallsMayChooseAType) {
  OperatorInfo op = If();
  op.same_data_type.clear();
  OperatorCall call = CallOf({{DataType::kUint8, {4}}, {DataType::kFloat32, {4}}});
  call.output.emplace().data_type = DataType::kFloat16;
  EXPECT_EQ(ResultLayout(op, call).value(), (TensorSpec{DataType::kFloat16, {4}}));
}

TEST(ResultLayoutTest, WhatTheCatalogueDoesNotTellIsRefused) {
  const OperatorCall call = CallOf({{DataType::kUint8, {4}}, {DataType::kFloat32, {4}}});
  OperatorInfo sizes = If();
  sizes.same_sizes.clear();
  OperatorInfo types = If();
  types.same_data_type.clear();
  for (const auto& [op, words] : {std::pair(sizes, "does not tell the size of the result of IF"),
                                  std::pair(types,
                                            "does not tell the type of the result of IF; "
                                            "give --output-type")}) {
    const absl::Status status = ResultLayout(op, call).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
  const absl::Status surplus =
      ResultLayout(If(), CallOf({TensorSpec(), TensorSpec(), TensorSpec()})).status();
  EXPECT_EQ(surplus.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(surplus.message(), HasSubstr("takes 2 inputs, not 3"));
}

}  // namespace
}  // namespace opserve::cli
