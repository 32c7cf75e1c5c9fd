#include "server/service/catalogue.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/op_table.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

v1::ListOperatorsResponse List(const std::string& name, const std::string& level) {
  v1::ListOperatorsRequest request;
  request.set_name(name);
  request.set_feature_level(level);
  v1::ListOperatorsResponse response;
  EXPECT_TRUE(ListOperators(request, response).ok());
  return response;
}

absl::Status Failure(const std::string& name, const std::string& level) {
  v1::ListOperatorsRequest request;
  request.set_name(name);
  request.set_feature_level(level);
  v1::ListOperatorsResponse response;
  return ListOperators(request, response);
}

TEST(CatalogueTest, HoldsTheWholeTable) {
  const v1::ListOperatorsResponse response = List("", "");
  ASSERT_EQ(static_cast<size_t>(response.operators_size()), OpTable().size());
  for (int i = 0; i < response.operators_size(); ++i) {
    const OpTraits& op = OpTable()[static_cast<size_t>(i)];
    const v1::OperatorInfo& info = response.operators(i);
    EXPECT_EQ(info.name(), std::string(op.name));
    EXPECT_EQ(info.support_size(), static_cast<int>(op.support.size()));
    EXPECT_EQ(info.support(0).feature_level(), info.introduced());
    EXPECT_EQ(info.support(0).tensors_size(), op.tensor_count());
  }
  ASSERT_EQ(static_cast<size_t>(response.feature_levels_size()), kAllFeatureLevels.size());
  EXPECT_EQ(response.feature_levels(0).max_dimension_count(), 5u);
  EXPECT_EQ(response.feature_levels(14).value(), 0x6400u);
}

TEST(CatalogueTest, DescribesAnOperatorCompletely) {
  const v1::ListOperatorsResponse response = List("ELEMENT_WISE_MODULUS_TRUNCATE", "");
  ASSERT_THAT(response.operators(), SizeIs(1));
  const v1::OperatorInfo& op = response.operators(0);
  ASSERT_THAT(op.inputs(), SizeIs(2));
  EXPECT_EQ(op.inputs(1).name(), "BTensor");
  EXPECT_EQ(op.output().name(), "OutputTensor");
  EXPECT_THAT(op.same_sizes(0).tensors(), ElementsAre("ATensor", "BTensor", "OutputTensor"));
  EXPECT_THAT(op.same_data_type(0).tensors(), ElementsAre("ATensor", "BTensor", "OutputTensor"));
  EXPECT_THAT(op.in_place(), ElementsAre("ATensor", "BTensor"));
  EXPECT_THAT(op.attributes(), SizeIs(0));
}

TEST(CatalogueTest, LeavesOutTypeGroupsOfOne) {
  EXPECT_THAT(List("ELEMENT_WISE_IS_INFINITY", "").operators(0).same_data_type(), SizeIs(0));
}

TEST(CatalogueTest, TellsWhichTensorsAreOptionalFromWhenOn) {
  const v1::OperatorInfo now = List("ELEMENT_WISE_QUANTIZE_LINEAR", "").operators(0);
  EXPECT_FALSE(now.inputs(1).optional());
  EXPECT_TRUE(now.inputs(2).optional());
  EXPECT_EQ(now.inputs(2).optional_since(), "6_2");
  const v1::OperatorInfo early = List("ELEMENT_WISE_QUANTIZE_LINEAR", "6_1").operators(0);
  EXPECT_FALSE(early.inputs(2).optional());
  EXPECT_EQ(early.inputs(2).optional_since(), "");
}

TEST(CatalogueTest, TellsGroupsOfEachKind) {
  const v1::OperatorInfo quantize = List("ELEMENT_WISE_QUANTIZE_LINEAR", "").operators(0);
  ASSERT_THAT(quantize.same_data_type(), SizeIs(1));
  EXPECT_THAT(quantize.same_data_type(0).tensors(), ElementsAre("ZeroPointTensor", "OutputTensor"));
  ASSERT_THAT(quantize.same_float_type(), SizeIs(1));
  EXPECT_THAT(quantize.same_float_type(0).tensors(), ElementsAre("InputTensor", "ScaleTensor"));

  const v1::OperatorInfo add = List("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "").operators(0);
  ASSERT_THAT(add.same_sizes(), SizeIs(1));
  EXPECT_THAT(add.same_sizes(0).tensors(), ElementsAre("ATensor", "BTensor", "OutputTensor"));
  EXPECT_THAT(add.same_data_type(), SizeIs(3));
  EXPECT_FALSE(add.inputs(0).one_element());
  EXPECT_TRUE(add.inputs(1).one_element());
}

TEST(CatalogueTest, TellsTheValuesOfEnums) {
  const v1::AttributeInfo mode = List("ELEMENT_WISE_ROUND", "").operators(0).attributes(0);
  EXPECT_EQ(mode.name(), "RoundingMode");
  EXPECT_EQ(mode.kind(), "enum");
  ASSERT_THAT(mode.values(), SizeIs(3));
  EXPECT_EQ(mode.values(2).name(), "TOWARD_INFINITY");
  EXPECT_EQ(mode.values(2).number(), 2);
}

TEST(CatalogueTest, TellsListsOfDimensions) {
  const v1::AttributeInfo axes = List("ACTIVATION_HARDMAX1", "").operators(0).attributes(0);
  EXPECT_EQ(axes.name(), "Axes");
  EXPECT_EQ(axes.kind(), "axes");
  EXPECT_FALSE(axes.optional());
}

TEST(CatalogueTest, TellsFamiliesAndTheMembersOfAScaleBias) {
  const v1::ListOperatorsResponse response = List("ELEMENT_WISE_CLIP", "");
  ASSERT_THAT(response.operators(), SizeIs(1));
  const v1::OperatorInfo& clip = response.operators(0);
  EXPECT_EQ(clip.family(), "selection");
  ASSERT_THAT(clip.attributes(), SizeIs(4));
  EXPECT_EQ(clip.attributes(0).name(), "Min");
  EXPECT_FALSE(clip.attributes(0).optional());
  EXPECT_EQ(clip.attributes(2).name(), "ScaleBias.Scale");
  EXPECT_EQ(clip.attributes(3).name(), "ScaleBias.Bias");
  EXPECT_EQ(clip.attributes(3).kind(), "float");
  EXPECT_TRUE(clip.attributes(3).optional());
}

TEST(CatalogueTest, ALevelLeavesOnlyTheRowInForce) {
  const v1::ListOperatorsResponse response = List("", "4_0");
  EXPECT_LT(static_cast<size_t>(response.operators_size()), OpTable().size());
  for (const v1::OperatorInfo& op : response.operators()) {
    ASSERT_THAT(op.support(), SizeIs(1));
    EXPECT_EQ(op.support(0).feature_level(),
              NameOf(FindOperator(op.name())->SupportAt(FeatureLevel::k4_0)->level));
  }
}

TEST(CatalogueTest, ALevelLeavesOutWhatCameLater) {
  EXPECT_THAT(List("ELEMENT_WISE_ROUND", "2_0").operators(), SizeIs(0));
  EXPECT_THAT(List("ELEMENT_WISE_ROUND", "2_1").operators(), SizeIs(1));
  const v1::ListOperatorsResponse early = List("", "2_0");
  for (const v1::OperatorInfo& op : early.operators()) {
    EXPECT_LE(FindOperator(op.name())->introduced(), FeatureLevel::k2_0);
  }
}

TEST(CatalogueTest, RefusesUnknownNamesAndLevels) {
  const absl::Status name = Failure("ROUMD", "");
  EXPECT_EQ(name.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(name), "OPERATOR_NOT_FOUND");
  EXPECT_THAT(std::string(name.message()), HasSubstr("ELEMENT_WISE_ROUND"));

  const absl::Status level = Failure("", "6_5");
  EXPECT_EQ(level.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Detail<rpc::BadRequest>(level, kBadRequestUrl)->field_violations(0).field(),
            "feature_level");

  const absl::Status both = Failure("ROUMD", "6_5");
  EXPECT_EQ(both.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Detail<rpc::BadRequest>(both, kBadRequestUrl)->field_violations(), SizeIs(2));
}

}  // namespace
}  // namespace opserve::testing
