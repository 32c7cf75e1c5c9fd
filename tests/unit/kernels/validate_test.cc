#include "kernels/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernels/validate_tensor.h"
#include "tests/testing/request_builder.h"

namespace opserve {
namespace {

using opserve::testing::RequestBuilder;
using opserve::testing::TestTensor;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Matcher;
using ::testing::UnorderedElementsAre;
using enum DataType;

Matcher<const Violation&> IsViolation(const std::string& field, const std::string& text) {
  return AllOf(Field(&Violation::field, field), Field(&Violation::description, HasSubstr(text)));
}

// A correct request of ELEMENT_WISE_ROUND.
RequestBuilder& MakeRound(RequestBuilder& builder) {
  return builder.Enum("RoundingMode", "TOWARD_ZERO").Input({kFloat32, {2, 3}});
}

TEST(ValidateTest, AcceptsTheFourOperators) {
  RequestBuilder round("ELEMENT_WISE_ROUND");
  const ValidationResult result = MakeRound(round).Validate();
  EXPECT_THAT(result.violations, IsEmpty());
  ASSERT_NE(result.invocation, nullptr);
  EXPECT_EQ(result.invocation->op, OpId::ELEMENT_WISE_ROUND);
  EXPECT_EQ(result.invocation->mode(), 1);
  EXPECT_EQ(result.invocation->lane_type, kFloat32);
  EXPECT_EQ(result.invocation->output_bytes, 24u);
  EXPECT_TRUE(result.invocation->plan.is_packed());

  RequestBuilder select("ELEMENT_WISE_IF");
  select.Input({kUint8, {4}}).Input({kFloat64, {4}}).Input({kFloat64, {4}});
  ASSERT_THAT(select.Validate().violations, IsEmpty());
  EXPECT_EQ(select.Validate().invocation->lane_type, kFloat64);
  EXPECT_EQ(select.Validate().invocation->output.data_type, kFloat64);

  RequestBuilder infinity("ELEMENT_WISE_IS_INFINITY");
  infinity.Int("InfinityMode", 2).Input({kFloat16, {5, 1, 2}});
  ASSERT_THAT(infinity.Validate().violations, IsEmpty());
  EXPECT_EQ(infinity.Validate().invocation->output.data_type, kUint8);
  EXPECT_EQ(infinity.Validate().invocation->output_bytes, 10u);

  RequestBuilder modulus("ELEMENT_WISE_MODULUS_TRUNCATE");
  modulus.Input({kInt64, {2, 2}}).Input({kInt64, {2, 2}, {0, 1}});
  EXPECT_THAT(modulus.Validate().violations, IsEmpty());
}

TEST(ValidateTest, FindsEveryFaultOnce) {
  RequestBuilder builder("ELEMENT_WISE_ROUND");
  builder.Enum("RoundingMode", "UP")
      .Enum("Mode", "UP")
      .Input({kInt32, {2, 0}})
      .Output({kFloat32, {2, 3}, {1, 1}});
  builder.request().payload_bytes.push_back(4);
  EXPECT_THAT(builder.Validate().violations,
              UnorderedElementsAre(
                  IsViolation("attributes[0].value", "\"UP\""),
                  IsViolation("attributes[1].name", "no attribute \"Mode\"; it has RoundingMode"),
                  IsViolation("inputs[0].data_type",
                              "INT32 is not supported for InputTensor at feature "
                              "level 6_4; allowed: FLOAT32, FLOAT16."),
                  IsViolation("inputs[0].sizes[1]", "The size (0)"),
                  IsViolation("payloads", "(2) differs from the number of inputs (1)"),
                  IsViolation("output.strides", "share an address")));
}

TEST(ValidateTest, UnknownOperatorOffersTheNearestAndChecksTheRest) {
  RequestBuilder builder("ELEMENT_WISE_RUOND");
  builder.Input({kFloat32, {0}});
  const ValidationResult result = builder.Validate();
  EXPECT_TRUE(result.unknown_operator);
  EXPECT_THAT(result.violations,
              ElementsAre(IsViolation("operator", "did you mean ELEMENT_WISE_ROUND?"),
                          IsViolation("inputs[0].sizes[0]", "(0)")));
  EXPECT_THAT(RequestBuilder("").Validate().violations,
              ElementsAre(IsViolation("operator", "missing")));
}

TEST(ValidateTest, LongNamesAreCutInMessages) {
  RequestBuilder builder(std::string(100'000, 'x'));
  ASSERT_EQ(builder.Validate().violations.size(), 1u);
  EXPECT_LT(builder.Validate().violations[0].description.size(), 200u);
}

TEST(ValidateTest, LongNamesAreCutBetweenCharacters) {
  std::string name = "a";
  for (int i = 0; i < 100; ++i) name += "é";
  const ValidationResult result = RequestBuilder(name).Validate();
  ASSERT_EQ(result.violations.size(), 1u);
  EXPECT_THAT(result.violations[0].description, HasSubstr("é...\""));
}

TEST(ValidateTest, LevelsAreEnforced) {
  RequestBuilder unknown("ELEMENT_WISE_ROUND");
  EXPECT_THAT(MakeRound(unknown).Level("9_9").Validate().violations,
              ElementsAre(IsViolation("feature_level", "\"9_9\"; known are 1_0, 2_0")));

  RequestBuilder early("ELEMENT_WISE_ROUND");
  EXPECT_THAT(MakeRound(early).Level("2_0").Validate().violations,
              ElementsAre(IsViolation("operator", "introduced at feature level 2_1")));

  RequestBuilder rank("ELEMENT_WISE_ROUND");
  EXPECT_THAT(MakeRound(rank).Level("2_1").Validate().violations,
              ElementsAre(IsViolation("inputs[0].sizes",
                                      "(2) is not supported for InputTensor at "
                                      "feature level 2_1; allowed: exactly 4")));

  RequestBuilder type("ELEMENT_WISE_MODULUS_TRUNCATE");
  type.Level("5_2").Input({kInt64, {1}}).Input({kInt64, {1}});
  EXPECT_THAT(type.Validate().violations,
              ElementsAre(IsViolation("inputs[0].data_type", "INT64 is not supported for ATensor"),
                          IsViolation("inputs[1].data_type", "at feature level 5_2")));
}

// Every operator, level, type and dimension count against the traits: nothing else is accepted.
TEST(ValidateTest, AcceptsExactlyWhatTheTableSupports) {
  for (const OpTraits& op : OpTable()) {
    for (FeatureLevel level : kAllFeatureLevels) {
      for (DataType type : kAllDataTypes) {
        for (uint8_t rank = 1; rank <= kMaxDimensionCount; ++rank) {
          const SupportRow* row = op.SupportAt(level);
          RequestBuilder builder{std::string(op.name)};
          builder.Level(NameOf(level));
          for (const AttributeTraits& attribute : op.attributes) {
            const bool has_minimum = attribute.minimum_until > FeatureLevel::k1_0;
            builder.Int(std::string(attribute.name),
                        attribute.kind == AttributeKind::kDataType ? static_cast<int64_t>(type)
                        : has_minimum ? static_cast<int64_t>(attribute.minimum)
                                      : 0);
          }
          for (int i = 0; i < op.input_count(); ++i) {
            std::vector<uint32_t> sizes(rank, 2);
            std::fill_n(sizes.begin(), rank - std::min(rank, op.max_effective_rank), 1);
            if (op.inputs[i].is_single) sizes.assign(rank, 1);
            builder.Input({op.InputType(i, type), sizes});
          }
          const bool expected = row != nullptr && rank >= row->min_dimension_count &&
                                rank <= row->max_dimension_count &&
                                row->types[op.lane_tensor()].contains(type);
          EXPECT_EQ(builder.Validate().violations.empty(), expected)
              << op.name << " " << NameOf(level) << " " << NameOf(type) << " rank " << int{rank};
        }
      }
    }
  }
}

TEST(ValidateTest, Attributes) {
  RequestBuilder missing("ELEMENT_WISE_ROUND");
  EXPECT_THAT(missing.Input({kFloat32, {1}}).Validate().violations,
              ElementsAre(IsViolation("attributes",
                                      "RoundingMode is missing; allowed: "
                                      "HALVES_TO_NEAREST_EVEN (0), TOWARD_ZERO")));
  RequestBuilder twice("ELEMENT_WISE_ROUND");
  EXPECT_THAT(MakeRound(twice).Int("RoundingMode", 0).Validate().violations,
              ElementsAre(IsViolation("attributes[1].name", "more than once")));
  for (int64_t number : {-1L, 3L, INT64_MAX, INT64_MIN}) {
    RequestBuilder range("ELEMENT_WISE_ROUND");
    range.Int("RoundingMode", number).Input({kFloat32, {1}});
    EXPECT_THAT(range.Validate().violations,
                ElementsAre(IsViolation("attributes[0].value", std::to_string(number))));
  }
  RequestBuilder kind("ELEMENT_WISE_ROUND");
  kind.Input({kFloat32, {1}}).request().attributes = {{"RoundingMode", 1.0}};
  EXPECT_THAT(kind.Validate().violations, ElementsAre(IsViolation("attributes[0].value", "1")));
  RequestBuilder none("ELEMENT_WISE_ROUND");
  none.Input({kFloat32, {1}}).request().attributes = {{"RoundingMode", {}}};
  EXPECT_THAT(none.Validate().violations, ElementsAre(IsViolation("attributes[0].value", "none")));
  RequestBuilder surplus("ELEMENT_WISE_MODULUS_TRUNCATE");
  surplus.Int("X", 1).Input({kInt8, {1}}).Input({kInt8, {1}});
  EXPECT_THAT(surplus.Validate().violations,
              ElementsAre(IsViolation("attributes[0].name", "it has none")));
}

TEST(ValidateTest, FloatAttributesAreTheNearestFloats) {
  RequestBuilder clip("ELEMENT_WISE_CLIP");
  clip.Input({kFloat16, {1}}).Float("Min", 0.1).Int("Max", 2);
  const auto call = clip.Validate().invocation;
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->attributes[0], std::bit_cast<uint32_t>(0.1f));
  EXPECT_EQ(call->attributes[1], std::bit_cast<uint32_t>(2.0f));
  EXPECT_EQ(call->mode(), 0);
  // By way of FLOAT64 it would be 2^54.
  RequestBuilder integer("ACTIVATION_LEAKY_RELU");
  integer.Input({kFloat32, {1}}).Int("Alpha", (1LL << 54) + (1LL << 30) + 1);
  EXPECT_EQ(integer.Validate().invocation->attributes[0],
            std::bit_cast<uint32_t>(0x1p54f + 0x1p31f));
  // Integers that INT64 does not have.
  RequestBuilder large("ELEMENT_WISE_CLIP");
  large.Input({kFloat32, {1}}).request().attributes = {{"Min", uint64_t{1} << 63},
                                                       {"Max", UINT64_MAX}};
  const auto clipped = large.Validate().invocation;
  ASSERT_NE(clipped, nullptr);
  EXPECT_EQ(clipped->attributes[0], std::bit_cast<uint32_t>(0x1p63f));
  EXPECT_EQ(clipped->attributes[1], std::bit_cast<uint32_t>(0x1p64f));
  RequestBuilder missing("ELEMENT_WISE_CLIP");
  EXPECT_THAT(missing.Input({kFloat16, {1}}).Float("Max", 0).Validate().violations,
              ElementsAre(IsViolation("attributes", "Min is missing; allowed: a number")));
  RequestBuilder text("ELEMENT_WISE_THRESHOLD");
  EXPECT_THAT(text.Input({kFloat16, {1}}).Enum("Min", "low").Validate().violations,
              ElementsAre(IsViolation("attributes[0].value", "\"low\" of Min is not allowed")));
}

// Nobody takes the number for an integer, or for another one.
TEST(ValidateTest, RefusedNumbersReadBack) {
  const auto refused = [](double number) {
    RequestBuilder builder("ELEMENT_WISE_ROUND");
    builder.Input({kFloat32, {1}}).Float("RoundingMode", number);
    const std::vector<Violation> violations = builder.Validate().violations;
    return violations.empty() ? std::string() : violations.front().description;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refused(1), HasSubstr("The value 1.0 of RoundingMode is not allowed"));
  EXPECT_THAT(refused(-0.0), HasSubstr("The value -0.0 of"));
  EXPECT_THAT(refused(0.1), HasSubstr("The value 0.1 of"));
  EXPECT_THAT(refused(1.0000001), HasSubstr("The value 1.0000001 of"));
  EXPECT_THAT(refused(9007199254740992), HasSubstr("The value 9007199254740992.0 of"));
  EXPECT_THAT(refused(0x1p64), HasSubstr("The value 18446744073709551616.0 of"));
  EXPECT_THAT(refused(1e300), HasSubstr("The value 1e+300 of"));
  EXPECT_THAT(refused(nan), HasSubstr("The value nan of"));
  EXPECT_THAT(refused(std::numeric_limits<double>::infinity()), HasSubstr("The value inf of"));
}

TEST(ValidateTest, AttributesHaveTheMinimumOfTheLevel) {
  const auto violations = [](absl::string_view level, double steepness) {
    RequestBuilder builder("ACTIVATION_SOFTPLUS");
    builder.Level(std::string(level)).Input({kFloat16, {1}}).Float("Steepness", steepness);
    return builder.Validate().violations;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(violations("6_3", 1), IsEmpty());
  EXPECT_THAT(violations("6_3", 0.5),
              ElementsAre(IsViolation("attributes[0].value",
                                      "0.5 of Steepness is not allowed below feature level 6_4; "
                                      "allowed: at least 1")));
  EXPECT_THAT(violations("3_0", nan), ElementsAre(IsViolation("attributes[0].value", "nan")));
  // One that is just below does not pass for the minimum.
  EXPECT_THAT(violations("3_0", 0x1.fffffep-1),
              ElementsAre(IsViolation("attributes[0].value", "The value 0.99999994 of")));
  EXPECT_THAT(violations("6_4", -0.5), IsEmpty());
  EXPECT_THAT(violations("6_4", nan), IsEmpty());
}

TEST(ValidateTest, ScaleAndBiasComeTogether) {
  RequestBuilder both("ELEMENT_WISE_ABS");
  both.Input({kInt8, {1}}).Float("ScaleBias.Bias", -1).Float("ScaleBias.Scale", 2.5);
  const auto call = both.Validate().invocation;
  ASSERT_NE(call, nullptr);
  ASSERT_TRUE(call->scale_bias.has_value());
  EXPECT_EQ(call->scale_bias->scale, std::bit_cast<uint32_t>(2.5f));
  EXPECT_EQ(call->scale_bias->bias, std::bit_cast<uint32_t>(-1.0f));
  RequestBuilder neither("ELEMENT_WISE_ABS");
  EXPECT_FALSE(neither.Input({kInt8, {1}}).Validate().invocation->scale_bias.has_value());
  RequestBuilder half("ELEMENT_WISE_ABS");
  EXPECT_THAT(half.Input({kInt8, {1}}).Float("ScaleBias.Scale", 2).Validate().violations,
              ElementsAre(IsViolation("attributes", "ScaleBias.Bias is missing")));
  RequestBuilder twice("ELEMENT_WISE_ABS");
  twice.Input({kInt8, {1}}).Float("ScaleBias.Bias", 1).Float("ScaleBias.Bias", 1);
  EXPECT_THAT(twice.Validate().violations,
              ElementsAre(IsViolation("attributes[1].name", "given more than once"),
                          IsViolation("attributes", "ScaleBias.Scale is missing")));
  RequestBuilder other("ELEMENT_WISE_NEGATE");
  EXPECT_THAT(other.Input({kInt8, {1}}).Float("ScaleBias.Scale", 2).Validate().violations,
              ElementsAre(IsViolation("attributes[0].name", "has no attribute")));
}

TEST(ValidateTest, ScalarsAreOfTheTensorsType) {
  const auto clip = [](DataType type, const std::string& named, AttributeView min) {
    RequestBuilder builder("ELEMENT_WISE_CLIP1");
    builder.Input({type, {1}}).Enum("MinMaxDataType", named).Int("Max", 7);
    builder.request().attributes.push_back(min);
    return builder.Validate();
  };
  const auto bits_of_min = [&](DataType type, AttributeView min) {
    const ValidationResult result = clip(type, std::string(NameOf(type)), min);
    return result.invocation != nullptr ? result.invocation->attributes[1] : 0xBAD;
  };
  EXPECT_EQ(bits_of_min(kInt8, {"Min", int64_t{-128}}), static_cast<uint64_t>(-128));
  EXPECT_EQ(bits_of_min(kUint64, {"Min", UINT64_MAX}), UINT64_MAX);
  EXPECT_EQ(bits_of_min(kFloat16, {"Min", 0.1}), std::bit_cast<uint32_t>(0x1.998p-4f));
  EXPECT_EQ(bits_of_min(kFloat32, {"Min", int64_t{3}}), std::bit_cast<uint32_t>(3.0f));
  EXPECT_EQ(bits_of_min(kInt16, {"Min", -3.0}), static_cast<uint64_t>(-3));
  EXPECT_THAT(clip(kInt8, "INT8", {"Min", int64_t{128}}).violations,
              ElementsAre(IsViolation("attributes[2].value", "128 of Min is not allowed")));
  EXPECT_THAT(clip(kInt8, "INT8", {"Min", 0.5}).violations,
              ElementsAre(IsViolation("attributes[2].value", "0.5 of Min is not allowed")));
  EXPECT_THAT(clip(kInt64, "INT64", {"Min", UINT64_MAX}).violations,
              ElementsAre(IsViolation("attributes[2].value", "18446744073709551615")));
  EXPECT_THAT(clip(kInt8, "INT16", {"Min", int64_t{1}}).violations,
              ElementsAre(IsViolation("attributes",
                                      "INT16 of MinMaxDataType differs from the data type "
                                      "INT8 of InputTensor")));
  EXPECT_THAT(clip(kInt8, "INT9", {"Min", int64_t{1}}).violations,
              ElementsAre(IsViolation("attributes[0].value", "\"INT9\" of MinMaxDataType")));
  RequestBuilder missing("ELEMENT_WISE_CLIP1");
  EXPECT_THAT(missing.Input({kInt8, {1}}).Int("Min", 1).Int("Max", 2).Validate().violations,
              ElementsAre(IsViolation("attributes", "MinMaxDataType is missing")));
}

TEST(ValidateTest, ActivationsAreFusedWithTheirAttributes) {
  const auto add = [](std::vector<AttributeView> attributes, const std::string& level = "") {
    RequestBuilder builder("ELEMENT_WISE_ADD1");
    builder.Level(level).Input({kFloat16, {1}}).Input({kFloat16, {1}});
    builder.request().attributes = std::move(attributes);
    return builder.Validate();
  };
  const AttributeView elu = {kFusedActivation, "ACTIVATION_ELU"};
  EXPECT_FALSE(add({}).invocation->fused_activation.has_value());
  const auto fused = add({{"FusedActivation.Alpha", 2.0}, elu}).invocation->fused_activation;
  ASSERT_TRUE(fused.has_value());
  EXPECT_EQ(fused->op, OpId::ACTIVATION_ELU);
  EXPECT_EQ(fused->attributes[0], std::bit_cast<uint32_t>(2.0f));
  EXPECT_THAT(add({elu}).violations,
              ElementsAre(IsViolation("attributes",
                                      "FusedActivation.Alpha is missing, which "
                                      "ACTIVATION_ELU needs")));
  EXPECT_THAT(add({elu, {"FusedActivation.Alpha", 1.0}, {"FusedActivation.Beta", 1.0}}).violations,
              ElementsAre(IsViolation("attributes", "Beta is given, but ACTIVATION_ELU has none")));
  EXPECT_THAT(add({{"FusedActivation.Beta", 1.0}}).violations,
              ElementsAre(IsViolation("attributes", "FusedActivation is not")));
  EXPECT_THAT(
      add({{kFusedActivation, "ACTIVATION_SWISH"}, {"FusedActivation.Beta", 1.0}}).violations,
      ElementsAre(IsViolation("attributes[0].value", "allowed: ACTIVATION_CELU")));
  EXPECT_THAT(add({{kFusedActivation, "ACTIVATION_GELU"}}, "3_0").violations,
              ElementsAre(IsViolation("attributes",
                                      "ACTIVATION_GELU, given as FusedActivation, "
                                      "was introduced at feature level 5_1")));
  EXPECT_THAT(
      add({{kFusedActivation, "ACTIVATION_SOFTPLUS"}, {"FusedActivation.Steepness", 0.5}}, "6_3")
          .violations,
      ElementsAre(IsViolation("attributes", "0.5 of FusedActivation.Steepness")));
}

TEST(ValidateTest, ExponentsHaveATypeOfTheirOwnFromLevel30On) {
  const auto violations = [](const std::string& level) {
    RequestBuilder builder("ELEMENT_WISE_POW");
    builder.Level(level).Input({kFloat32, {1, 1, 1, 1}}).Input({kFloat16, {1, 1, 1, 1}});
    return builder.Validate().violations;
  };
  EXPECT_THAT(violations("2_1"),
              ElementsAre(IsViolation("inputs[1].data_type",
                                      "FLOAT16 of ExponentTensor differs from the data type "
                                      "FLOAT32 of InputTensor")));
  EXPECT_THAT(violations("3_0"), IsEmpty());
}

TEST(ValidateTest, GatheredRowsAreBounded) {
  const auto violations = [](uint32_t length, std::vector<uint32_t> strides) {
    RequestBuilder builder("ACTIVATION_SOFTMAX");
    return builder.Input({kFloat16, {2, length}, std::move(strides)}).Validate().violations;
  };
  const uint32_t most = kMaxGatheredRow;
  EXPECT_THAT(violations(most, {1, 2}), IsEmpty());
  EXPECT_THAT(violations(most + 1, {1, 2}),
              ElementsAre(IsViolation("inputs[0]", "have 4194305 elements that do not lie")));
  EXPECT_THAT(violations(most + 1, {}), IsEmpty());
  EXPECT_THAT(violations(most + 1, {most + 5, 1}), IsEmpty());
  RequestBuilder output("ACTIVATION_SOFTMAX");
  output.Input({kFloat16, {2, most + 1}}).Output({kUnknown, {}, {1, 2}});
  EXPECT_THAT(output.Validate().violations,
              ElementsAre(IsViolation("inputs[0]", "have 4194305 elements that do not lie")));
}

TEST(ValidateTest, ElementsOf64BitsAreNotScaled) {
  for (const DataType type : {kFloat64, kInt64, kUint64}) {
    RequestBuilder wide("ELEMENT_WISE_IDENTITY");
    wide.Input({type, {1}}).Float("ScaleBias.Scale", 2).Float("ScaleBias.Bias", 0);
    EXPECT_THAT(wide.Validate().violations,
                ElementsAre(IsViolation("attributes", "not allowed for the data type")));
  }
}

// Flags are as small as the level has them, unless the client asks for wider ones.
TEST(ValidateTest, ClientsChooseTheTypeOfFlags) {
  const auto make = [](RequestBuilder& builder, absl::string_view level) -> RequestBuilder& {
    return builder.Level(std::string(level))
        .Input({kFloat32, {1, 1, 1, 1}})
        .Input({kFloat32, {1, 1, 1, 1}});
  };
  RequestBuilder small("ELEMENT_WISE_LOGICAL_EQUALS");
  EXPECT_EQ(make(small, "2_0").Validate().invocation->output.data_type, kUint8);
  RequestBuilder old("ELEMENT_WISE_LOGICAL_EQUALS");
  EXPECT_EQ(make(old, "1_0").Validate().invocation->output.data_type, kUint32);
  RequestBuilder wide("ELEMENT_WISE_LOGICAL_EQUALS");
  make(wide, "2_0").Output({kUint32, {1, 1, 1, 1}});
  EXPECT_EQ(wide.Validate().invocation->output_bytes, 4u);
  RequestBuilder other("ELEMENT_WISE_LOGICAL_EQUALS");
  make(other, "2_0").Output({kFloat32, {1, 1, 1, 1}});
  EXPECT_THAT(other.Validate().violations,
              ElementsAre(IsViolation("output.data_type", "FLOAT32 is not supported")));
}

TEST(ValidateTest, MissingAndSurplusTensors) {
  RequestBuilder few("ELEMENT_WISE_MODULUS_TRUNCATE");
  EXPECT_THAT(few.Input({kInt8, {1}}).Validate().violations,
              ElementsAre(IsViolation("inputs", "BTensor is missing")));
  RequestBuilder many("ELEMENT_WISE_ROUND");
  EXPECT_THAT(MakeRound(many).Input({kFloat32, {2, 3}}).Validate().violations,
              ElementsAre(IsViolation("inputs[1]", "surplus")));
  RequestBuilder absurd("ELEMENT_WISE_ROUND");
  absurd.Int("RoundingMode", 0);
  absurd.request().inputs.resize(1'000'000);
  absurd.request().payload_bytes.resize(1'000'000);
  EXPECT_THAT(
      absurd.Validate().violations,
      UnorderedElementsAre(IsViolation("inputs", "1000000"), IsViolation("payloads", "1000000")));
}

TEST(ValidateTest, TensorsMayBeNamedInAnyOrder) {
  RequestBuilder named("ELEMENT_WISE_IF");
  named.Input({kInt32, {3}, {}, "BTensor"})
      .Input({kUint8, {3}, {}, "ConditionTensor"})
      .Input({kInt32, {3}, {}, "ATensor"});
  const ValidationResult result = named.Validate();
  ASSERT_THAT(result.violations, IsEmpty());
  EXPECT_THAT(std::span(result.invocation->payload_index).first<3>(), ElementsAre(1, 2, 0));

  RequestBuilder wrong("ELEMENT_WISE_MODULUS_TRUNCATE");
  wrong.Input({kInt8, {1}, {}, "ATensor"}).Input({kInt8, {1}, {}, "CTensor"});
  EXPECT_THAT(wrong.Validate().violations,
              UnorderedElementsAre(IsViolation("inputs[1].name", "takes ATensor, BTensor"),
                                   IsViolation("inputs", "BTensor is missing")));
  RequestBuilder twice("ELEMENT_WISE_MODULUS_TRUNCATE");
  twice.Input({kInt8, {1}, {}, "ATensor"}).Input({kInt8, {1}, {}, "ATensor"});
  EXPECT_THAT(twice.Validate().violations,
              UnorderedElementsAre(IsViolation("inputs[1].name", "more than once"),
                                   IsViolation("inputs", "BTensor is missing")));
  RequestBuilder mixed("ELEMENT_WISE_MODULUS_TRUNCATE");
  mixed.Input({kInt8, {1}, {}, "ATensor"}).Input({kInt8, {1}});
  EXPECT_THAT(mixed.Validate().violations, ElementsAre(IsViolation("inputs", "name all or none")));
}

TEST(ValidateTest, TensorsMustAgree) {
  RequestBuilder sizes("ELEMENT_WISE_MODULUS_TRUNCATE");
  sizes.Input({kInt8, {2, 3}}).Input({kInt8, {2, 1}});
  EXPECT_THAT(sizes.Validate().violations,
              ElementsAre(IsViolation(
                  "inputs[1].sizes", "[2, 1] of BTensor differ from the sizes [2, 3] of ATensor")));
  for (const std::vector<uint32_t>& other : {std::vector<uint32_t>{3, 2}, {2, 4}, {2, 3, 1}}) {
    RequestBuilder output("ELEMENT_WISE_ROUND");
    MakeRound(output).Output({kUnknown, other});
    EXPECT_THAT(output.Validate().violations,
                ElementsAre(IsViolation("output.sizes", "of OutputTensor differ from the sizes")));
  }
  RequestBuilder types("ELEMENT_WISE_MODULUS_TRUNCATE");
  types.Input({kInt8, {2}}).Input({kUint8, {2}}).Output({kInt16});
  EXPECT_THAT(types.Validate().violations,
              UnorderedElementsAre(IsViolation("inputs[1].data_type", "UINT8 of BTensor differs"),
                                   IsViolation("output.data_type", "INT16 of OutputTensor")));
}

TEST(ValidateTest, ScalesFollowTheTypeOfWhatTheyScale) {
  const auto violations = [](DataType input, DataType scale, const char* level) {
    RequestBuilder builder("ELEMENT_WISE_QUANTIZE_LINEAR");
    builder.Level(level).Input({input, {4}}).Input({scale, {4}}).Input({kInt8, {4}});
    return builder.Validate().violations;
  };
  EXPECT_THAT(violations(kFloat32, kFloat32, "6_0"), IsEmpty());
  EXPECT_THAT(violations(kFloat16, kFloat16, "6_0"), IsEmpty());
  EXPECT_THAT(violations(kInt32, kFloat32, "6_0"), IsEmpty());
  EXPECT_THAT(violations(kFloat16, kFloat32, "6_0"),
              ElementsAre(IsViolation("inputs[1].data_type",
                                      "FLOAT32 of ScaleTensor differs from the data type FLOAT16 "
                                      "of InputTensor; they must be equal.")));
  EXPECT_THAT(violations(kInt32, kFloat16, "6_0"),
              ElementsAre(IsViolation("inputs[1].data_type",
                                      "FLOAT16 of ScaleTensor differs from the data type INT32 of "
                                      "InputTensor; allowed with integers: FLOAT32.")));
  EXPECT_THAT(violations(kFloat16, kFloat16, "5_2"),
              ElementsAre(IsViolation("inputs[0].data_type", "FLOAT16 is not supported"),
                          IsViolation("inputs[1].data_type", "FLOAT16 is not supported")));
}

TEST(ValidateTest, ZeroPointsHaveTheTypeOfWhatIsQuantised) {
  RequestBuilder quantize("ELEMENT_WISE_QUANTIZE_LINEAR");
  quantize.Input({kFloat32, {4}}).Input({kFloat32, {4}}).Input({kInt8, {4}}).Output({kUint8});
  EXPECT_THAT(quantize.Validate().violations,
              ElementsAre(IsViolation("output.data_type",
                                      "UINT8 of OutputTensor differs from the "
                                      "data type INT8 of ZeroPointTensor")));
  RequestBuilder dequantize("ELEMENT_WISE_DEQUANTIZE_LINEAR");
  dequantize.Input({kUint16, {4}}).Input({kFloat16, {4}}).Input({kInt16, {4}}).Output({kFloat32});
  EXPECT_THAT(dequantize.Validate().violations,
              UnorderedElementsAre(IsViolation("inputs[2].data_type", "INT16 of ZeroPointTensor"),
                                   IsViolation("output.data_type", "FLOAT32 of OutputTensor")));
}

TEST(ValidateTest, ZeroPointsAreOptionalFromALevelOn) {
  const auto validate = [](const char* level, TestTensor output) {
    RequestBuilder builder("ELEMENT_WISE_QUANTIZE_LINEAR");
    builder.Level(level).Input({kFloat32, {4}}).Input({kFloat32, {4}}).Output(std::move(output));
    return builder.Validate();
  };
  EXPECT_THAT(validate("6_1", {kInt8}).violations,
              ElementsAre(IsViolation("inputs", "The tensor ZeroPointTensor is missing")));
  const ValidationResult signed_bytes = validate("6_2", {kInt8});
  ASSERT_THAT(signed_bytes.violations, IsEmpty());
  EXPECT_EQ(signed_bytes.invocation->lane_type, kInt8);
  EXPECT_EQ(signed_bytes.invocation->payload_index[2], -1);
  EXPECT_EQ(signed_bytes.invocation->inputs[2].data_type, DataType::kUnknown);
  // Nothing tells the type of the output.
  RequestBuilder open("ELEMENT_WISE_QUANTIZE_LINEAR");
  const ValidationResult unsigned_bytes =
      open.Input({kFloat32, {4}}).Input({kFloat32, {4}}).Validate();
  ASSERT_THAT(unsigned_bytes.violations, IsEmpty());
  EXPECT_EQ(unsigned_bytes.invocation->output.data_type, kUint8);
}

TEST(ValidateTest, SingleElementsGoWithAllOthers) {
  const auto validate = [](std::vector<uint32_t> scale_sizes) {
    RequestBuilder builder("ELEMENT_WISE_QUANTIZED_LINEAR_ADD");
    builder.Input({kUint8, {2, 3}, {}, "ATensor"})
        .Input({kFloat32, std::move(scale_sizes), {}, "AScaleTensor"})
        .Input({kInt8, {2, 3}, {1, 2}, "BTensor"})
        .Input({kFloat32, {1, 1}, {}, "BScaleTensor"})
        .Input({kFloat32, {1, 1}, {7, 7}, "OutputScaleTensor"})
        .Input({kInt8, {1, 1}, {}, "OutputZeroPointTensor"});
    return builder.Validate();
  };
  const ValidationResult result = validate({1, 1});
  ASSERT_THAT(result.violations, IsEmpty());
  const Invocation& call = *result.invocation;
  EXPECT_EQ(call.output.data_type, kInt8);
  EXPECT_THAT(call.input_bytes, ElementsAre(6, 4, 0, 6, 4, 0, 4, 1));
  EXPECT_THAT(call.inputs[6].size_span(), ElementsAre(2, 3));
  EXPECT_THAT(call.inputs[6].stride_span(), ElementsAre(0, 0));

  for (const std::vector<uint32_t>& sizes :
       {std::vector<uint32_t>{2, 3}, {1}, {1, 1, 1}, {1, 3}, {2, 1}}) {
    EXPECT_THAT(validate(sizes).violations,
                ElementsAre(IsViolation("inputs[1].sizes",
                                        "of AScaleTensor are not those of one element in as many "
                                        "dimensions as ATensor has; allowed: [1, 1].")));
  }
}

TEST(ValidateTest, DataTypesMustExist) {
  for (int number : {0, -5, 12, 1000}) {
    RequestBuilder builder("ELEMENT_WISE_ROUND");
    MakeRound(builder).request().inputs[0].data_type = number;
    EXPECT_THAT(builder.Validate().violations,
                ElementsAre(IsViolation("inputs[0].data_type", std::to_string(number))));
  }
}

TEST(ValidateTest, SizesAndStridesThatOverflow) {
  const uint32_t big = UINT32_MAX;
  const std::map<std::vector<uint32_t>, std::string> sizes = {
      {{big, 2}, "8589934590"},
      {{big, big}, "(18446744065119617025) exceeds"},
      {{big, big, big, big, big, big, big, big}, "more than 2^64 - 1"},
      {{1u << 31, 1u << 31, 1u << 31}, "more than 2^64 - 1"},
      {{1u << 30}, "in bytes (4294967296) exceeds the limit (1073741824)"}};
  for (const auto& [dims, text] : sizes) {
    RequestBuilder builder("ELEMENT_WISE_ROUND");
    builder.Int("RoundingMode", 0).Input({kFloat32, dims});
    EXPECT_THAT(builder.Validate().violations, ElementsAre(IsViolation("inputs[0].sizes", text)));
  }
  RequestBuilder strides("ELEMENT_WISE_ROUND");
  strides.Int("RoundingMode", 0).Input({kFloat32, {2, 2}, {big, big}});
  EXPECT_THAT(strides.Validate().violations,
              ElementsAre(IsViolation("inputs[0].strides", "(34359738364)")));
}

TEST(ValidateTest, AsManyElementsAsTheLimit) {
  for (const uint64_t limit : {5, 6}) {
    ValidationLimits limits;
    limits.max_elements = limit;
    const std::vector<uint32_t> sizes = {2, 3};
    const TensorDescView tensor = {.data_type = static_cast<int>(kUint8), .sizes = sizes};
    EXPECT_EQ(ValidateTensor(tensor, "tensor", limits).desc.has_value(), limit == 6);
  }
}

// Also of tensors of which nothing else is known.
TEST(ValidateTest, LevelsBoundTheDimensionsOfEveryTensor) {
  for (const char* const level : {"1_0", "3_0"}) {
    RequestBuilder builder("NONE_SUCH");
    builder.Level(level).Input({kFloat32, std::vector<uint32_t>(8, 1)});
    EXPECT_EQ(builder.Validate().violations.size(), level == std::string("1_0") ? 2u : 1u);
  }
}

TEST(ValidateTest, StridesAndDimensionCounts) {
  RequestBuilder count("ELEMENT_WISE_ROUND");
  count.Int("RoundingMode", 0).Input({kFloat32, {2, 2}, {1}});
  EXPECT_THAT(
      count.Validate().violations,
      ElementsAre(IsViolation("inputs[0].strides", "(1) differs from the number of sizes")));
  for (size_t rank : {size_t{0}, size_t{9}, size_t{100'000}}) {
    RequestBuilder dims("ELEMENT_WISE_ROUND");
    dims.Int("RoundingMode", 0).Input({kFloat32, std::vector<uint32_t>(rank, 1)});
    EXPECT_THAT(dims.Validate().violations,
                ElementsAre(IsViolation("inputs[0].sizes",
                                        "(" + std::to_string(rank) + ") is not supported")));
  }
  RequestBuilder broadcast("ELEMENT_WISE_ROUND");
  MakeRound(broadcast).Output({kUnknown, {}, {0, 1}});
  EXPECT_THAT(broadcast.Validate().violations,
              ElementsAre(IsViolation("output.strides[0]", "only inputs can be broadcast")));
}

TEST(ValidateTest, PayloadsMayBeExactOrRoundedUp) {
  for (uint64_t bytes : {5, 8}) {
    RequestBuilder builder("ELEMENT_WISE_MODULUS_TRUNCATE");
    builder.Input({kInt8, {5}}).Input({kInt8, {5}}).request().payload_bytes = {bytes, 5};
    EXPECT_THAT(builder.Validate().violations, IsEmpty()) << bytes;
  }
  for (uint64_t bytes : {0, 4, 6, 7, 9, 12}) {
    RequestBuilder builder("ELEMENT_WISE_MODULUS_TRUNCATE");
    builder.Input({kInt8, {5}}).Input({kInt8, {5}}).request().payload_bytes = {5, bytes};
    EXPECT_THAT(builder.Validate().violations,
                ElementsAre(IsViolation("payloads[1]", "needs 5 (or 8)")))
        << bytes;
  }
}

// Next to 2^64 a size that is rounded up would be 0, and memory of no bytes would do.
TEST(ValidateTest, NoTensorFitsIntoNothing) {
  for (const uint64_t exact : {uint64_t{1}, uint64_t{5}, UINT64_MAX - 3, UINT64_MAX - 1}) {
    EXPECT_TRUE(IsFittingSize(exact, exact));
    EXPECT_FALSE(IsFittingSize(0, exact));
  }
  EXPECT_EQ(FittingSizes(UINT64_MAX - 1), "18446744073709551614");
}

TEST(ValidateTest, OutputLayoutIsCheckedEvenIfItsTypeIsUnknown) {
  RequestBuilder builder("ELEMENT_WISE_ROUND");
  builder.Int("RoundingMode", 0).Input({kInt64, {2, 4}}).Output({kUnknown, {}, {1, 1}});
  EXPECT_THAT(builder.Validate().violations,
              ElementsAre(IsViolation("inputs[0].data_type", "INT64"),
                          IsViolation("output.strides", "share an address")));
}

TEST(ValidateTest, OutputDefaultsFillWhatIsLeftOut) {
  RequestBuilder builder("ELEMENT_WISE_ROUND");
  MakeRound(builder).Output({kUnknown, {}, {4, 1}});
  const ValidationResult result = builder.Validate();
  ASSERT_THAT(result.violations, IsEmpty());
  EXPECT_EQ(result.invocation->output_bytes, 28u);
  EXPECT_TRUE(result.invocation->plan.output_has_gaps);
  EXPECT_TRUE(result.invocation->output.has_strides);
}

RequestBuilder& MakeHardmax(RequestBuilder& builder, const std::vector<uint32_t>& sizes) {
  return builder.Input({kFloat32, sizes});
}

// Leading sizes of 1 do not count.
TEST(ValidateTest, RowsOfTheLastDimensionHaveTwoDimensions) {
  const std::vector<std::vector<uint32_t>> accepted = {
      {5}, {3, 5}, {1, 1, 3, 5}, {1}, {1, 1, 1}, {3, 1}, {1, 1, 1, 1, 1, 1, 3, 5}};
  for (const auto& sizes : accepted) {
    RequestBuilder builder("ACTIVATION_HARDMAX");
    const ValidationResult result = MakeHardmax(builder, sizes).Validate();
    EXPECT_THAT(result.violations, IsEmpty());
    ASSERT_NE(result.invocation, nullptr);
    EXPECT_EQ(result.invocation->plan.row_length(), sizes.back());
  }
  for (const auto& sizes :
       {std::vector<uint32_t>{2, 3, 5}, std::vector<uint32_t>{1, 3, 1, 5}, {3, 1, 1, 5}}) {
    RequestBuilder builder("ACTIVATION_HARDMAX");
    EXPECT_THAT(MakeHardmax(builder, sizes).Validate().violations,
                ElementsAre(IsViolation("inputs[0].sizes", "allowed: at most 2")));
    RequestBuilder numbered("ACTIVATION_HARDMAX1");
    EXPECT_THAT(MakeHardmax(numbered, sizes).AxesOf("Axes", {0}).Validate().violations, IsEmpty());
  }
}

TEST(ValidateTest, AxesAreASet) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2}, {2, 0}, {2, 0, 0, 2, 2}}) {
    RequestBuilder builder("ACTIVATION_HARDMAX1");
    const auto call = MakeHardmax(builder, {2, 3, 5}).AxesOf("Axes", axes).Validate().invocation;
    ASSERT_NE(call, nullptr);
    EXPECT_EQ(call->attributes[0], 0b101u);
    EXPECT_EQ(call->plan.row_length(), 10u);
    EXPECT_FALSE(call->plan.is_packed());
    EXPECT_FALSE(CanRunInPlace(*call, 0));
  }
  RequestBuilder none("ACTIVATION_HARDMAX1");
  const auto call = MakeHardmax(none, {2, 3}).AxesOf("Axes", {}).Validate().invocation;
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->plan.row_length(), 1u);
  EXPECT_EQ(call->plan.row_count(), 6u);
  RequestBuilder one("ACTIVATION_HARDMAX1");
  EXPECT_EQ(MakeHardmax(one, {2, 3}).Int("Axes", 1).Validate().invocation->attributes[0], 0b10u);
}

TEST(ValidateTest, AxesMustBeDimensions) {
  RequestBuilder missing("ACTIVATION_HARDMAX1");
  EXPECT_THAT(MakeHardmax(missing, {2, 3}).Validate().violations,
              ElementsAre(IsViolation("attributes", "Axes is missing; allowed: a list")));
  RequestBuilder beyond("ACTIVATION_HARDMAX1");
  EXPECT_THAT(MakeHardmax(beyond, {2, 3}).AxesOf("Axes", {0, 2}).Validate().violations,
              ElementsAre(IsViolation("attributes[0].value",
                                      "The value 2 of Axes is not a dimension of InputTensor; "
                                      "allowed: 0 to 1")));
  for (const int64_t axis : {INT64_MIN, int64_t{-1}, int64_t{8}, int64_t{1} << 32, INT64_MAX}) {
    RequestBuilder builder("ACTIVATION_HARDMAX1");
    EXPECT_THAT(MakeHardmax(builder, {2, 3}).AxesOf("Axes", {0, axis}).Validate().violations,
                ElementsAre(IsViolation("attributes[0].value", std::to_string(axis))));
  }
  RequestBuilder many("ACTIVATION_HARDMAX1");
  EXPECT_THAT(MakeHardmax(many, {2}).AxesOf("Axes", std::vector<int64_t>(65)).Validate().violations,
              ElementsAre(IsViolation("attributes[0].value", "(65 integers)")));
  RequestBuilder text("ACTIVATION_HARDMAX1");
  EXPECT_THAT(MakeHardmax(text, {2}).Enum("Axes", "LAST").Validate().violations,
              ElementsAre(IsViolation("attributes[0].value", "dimensions from 0 to 7")));
  RequestBuilder plain("ACTIVATION_HARDMAX");
  EXPECT_THAT(MakeHardmax(plain, {2}).AxesOf("Axes", {0}).Validate().violations,
              ElementsAre(IsViolation("attributes[0].name", "has no attribute \"Axes\"")));
  RequestBuilder round("ELEMENT_WISE_ROUND");
  round.Input({kFloat32, {2}}).AxesOf("RoundingMode", {0});
  EXPECT_THAT(round.Validate().violations,
              ElementsAre(IsViolation("attributes[0].value", "[0] of RoundingMode")));
}

// Whatever is asked, an accepted request has a plan that stays inside its payloads, and a refused
// one has a reason. Random requests near the border between right and wrong.
TEST(ValidateTest, RandomRequestsAreSafe) {
  std::mt19937 random(99);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    const OpTraits& op = OpTable()[random() % OpTable().size()];
    RequestBuilder builder{std::string(op.name)};
    for (const AttributeTraits& attribute : op.attributes) {
      builder.Int(std::string(attribute.name),
                  static_cast<int64_t>(random() % 4) - (random() % 9 == 0));
    }
    const std::vector<uint32_t> sizes(1 + random() % 8, 1 + random() % 4);
    const DataType type = kAllDataTypes[random() % kAllDataTypes.size()];
    for (int i = 0; i < op.input_count(); ++i) {
      TestTensor tensor = {op.InputType(i, type), sizes};
      if (op.inputs[i].is_single && random() % 16 != 0) tensor.sizes.assign(sizes.size(), 1);
      if (random() % 2 == 0) {
        for (size_t d = 0; d < sizes.size(); ++d) tensor.strides.push_back(random() % 6);
      }
      builder.Input(tensor);
      if (random() % 16 == 0) builder.request().payload_bytes.back() += random() % 5;
    }
    const ValidationResult result = builder.Validate();
    ASSERT_EQ(result.invocation == nullptr, !result.violations.empty());
    if (result.invocation == nullptr) continue;
    ++accepted;
    const Plan& plan = result.invocation->plan;
    for (int t = 0; t < plan.tensor_count; ++t) {
      uint64_t extent = 1;
      for (int l = 0; l < plan.loop_count; ++l) extent += (plan.sizes[l] - 1) * plan.strides[t][l];
      const bool is_output = t == op.input_count();
      const uint64_t bytes =
          is_output ? result.invocation->output_bytes : builder.request().payload_bytes[t];
      const DataType tensor_type =
          is_output ? result.invocation->output.data_type : result.invocation->inputs[t].data_type;
      EXPECT_LE(extent * SizeOf(tensor_type), bytes);
    }
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace opserve
