// Requests of KServe's protocol as requests of opserve's own.

#include "server/kserve/infer_request.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/errors/errors.h"
#include "server/kserve/model_names.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class InferRequestTest : public ::testing::Test {
 protected:
  InferRequestTest() {
    infer_.set_model_name("element_wise_round");
    auto& input = *infer_.add_inputs();
    input.set_name("InputTensor");
    input.set_datatype("FP32");
    input.add_shape(2);
    input.add_shape(3);
  }

  absl::Status Translate(size_t raw_count = 1) {
    request_.Clear();
    settings_ = {};
    const auto find_memory = [](const std::string& name, uint64_t offset, uint64_t bytes,
                                const std::string& field, ViolationList& violations) {
      v1::RegionRange range;
      if (name != "known") violations.Add(field, "There is no region.");
      range.set_region("id of " + name);
      range.set_offset(offset);
      range.set_bytes(bytes);
      return range;
    };
    return TranslateInferRequest(infer_, raw_count, find_memory, buffers_, request_, settings_);
  }
  void ExpectRefused(const std::string& text, size_t raw_count = 1) {
    const absl::Status status = Translate(raw_count);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  inference::InferParameter& Parameter(const std::string& name) {
    return (*infer_.mutable_parameters())[name];
  }
  template <class T>
  std::vector<T> Contents(size_t input = 0) const {
    std::vector<T> values(settings_.content_bytes[input] / sizeof(T));
    std::memcpy(values.data(), settings_.contents[input].data(), settings_.content_bytes[input]);
    return values;
  }

  inference::ModelInferRequest infer_;
  HostBufferPool buffers_{0};
  v1::ExecuteRequest request_;
  InferSettings settings_;
};

TEST_F(InferRequestTest, NamesTypesAndShapesAreThoseOfDirectML) {
  infer_.set_id("seven");
  infer_.set_model_version("1");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.operator_(), "ELEMENT_WISE_ROUND");
  EXPECT_EQ(request_.request_id(), "seven");
  ASSERT_EQ(request_.inputs_size(), 1);
  EXPECT_EQ(request_.inputs(0).name(), "InputTensor");
  EXPECT_EQ(request_.inputs(0).data_type(), v1::DATA_TYPE_FLOAT32);
  EXPECT_THAT(request_.inputs(0).sizes(), ElementsAre(2, 3));
  EXPECT_FALSE(request_.has_output());
  EXPECT_THAT(settings_.contents, IsEmpty());
}

TEST_F(InferRequestTest, EveryTypeHasAName) {
  for (const DataType type : kAllDataTypes) {
    infer_.mutable_inputs(0)->set_datatype(std::string(KserveNameOf(type)));
    ASSERT_TRUE(Translate().ok());
    EXPECT_EQ(request_.inputs(0).data_type(), static_cast<v1::DataType>(type));
  }
}

TEST_F(InferRequestTest, ParametersAreAttributesInOneOrder) {
  Parameter("RoundingMode").set_string_param("TOWARD_ZERO");
  Parameter("A").set_int64_param(-3);
  Parameter("B").set_uint64_param(UINT64_MAX);
  Parameter("C").set_double_param(0.5);
  Parameter("D").set_bool_param(true);
  Parameter("E");
  ASSERT_TRUE(Translate().ok());
  ASSERT_EQ(request_.attributes_size(), 6);
  EXPECT_EQ(request_.attributes(0).int_value(), -3);
  EXPECT_EQ(request_.attributes(1).uint_value(), UINT64_MAX);
  EXPECT_EQ(request_.attributes(2).float_value(), 0.5);
  EXPECT_EQ(request_.attributes(3).int_value(), 1);
  EXPECT_EQ(request_.attributes(4).value_case(), v1::Attribute::VALUE_NOT_SET);
  EXPECT_EQ(request_.attributes(5).enum_name(), "TOWARD_ZERO");
}

TEST_F(InferRequestTest, TextIsANumberOrAListWhereTheAttributeIsOne) {
  infer_.set_model_name("ELEMENT_WISE_CLIP");
  Parameter("Min").set_string_param("-0.25");
  Parameter("Max").set_string_param("much");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.attributes(1).float_value(), -0.25);
  EXPECT_EQ(request_.attributes(0).enum_name(), "much") << "which the validation refuses";
  infer_.set_model_name("activation_softmax1");
  infer_.clear_parameters();
  Parameter("Axes").set_string_param("0, 2");
  ASSERT_TRUE(Translate().ok());
  EXPECT_THAT(request_.attributes(0).axes().values(), ElementsAre(0, 2));
}

TEST_F(InferRequestTest, IntegersThatAreTextKeepTheirDigits) {
  infer_.set_model_name("element_wise_clip1");
  Parameter("Min").set_string_param("-9223372036854775807");
  Parameter("Max").set_string_param("9007199254740993");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.attributes(1).int_value(), -9223372036854775807);
  EXPECT_EQ(request_.attributes(0).int_value(), 9007199254740993);
  Parameter("Max").set_string_param("18446744073709551615");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.attributes(0).uint_value(), UINT64_MAX);
  Parameter("Max").set_string_param("18446744073709551616");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.attributes(0).float_value(), 0x1p64);
  // No integer is this zero.
  Parameter("Max").set_string_param("-0");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.attributes(0).value_case(), v1::Attribute::kFloatValue);
  EXPECT_TRUE(std::signbit(request_.attributes(0).float_value()));
}

TEST_F(InferRequestTest, SomeParametersAreSettings) {
  Parameter("device").set_string_param("CPU");
  Parameter("priority").set_string_param("HIGH");
  Parameter("verify").set_bool_param(true);
  Parameter("feature_level").set_string_param("3_0");
  Parameter("device_lease").set_string_param("id");
  Parameter("timeout").set_int64_param(1500);
  Parameter("triton_enable_empty_final_response").set_bool_param(true);
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.device(), v1::DEVICE_PREFERENCE_CPU);
  EXPECT_EQ(request_.priority(), v1::PRIORITY_HIGH);
  EXPECT_TRUE(request_.verify());
  EXPECT_EQ(request_.feature_level(), "3_0");
  EXPECT_EQ(request_.device_lease(), "id");
  EXPECT_EQ(settings_.timeout, std::chrono::microseconds(1500));
  EXPECT_TRUE(settings_.marks_final_response);
  EXPECT_EQ(request_.attributes_size(), 0);
  Parameter("timeout").set_uint64_param(UINT64_MAX);
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(settings_.timeout, std::chrono::hours(24 * 365));
  Parameter("timeout").set_int64_param(0);
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(settings_.timeout, std::nullopt);
}

TEST_F(InferRequestTest, PrioritiesMayBeNumbersAsTritonHasThem) {
  const auto priority_of = [this](uint64_t level) {
    Parameter("priority").set_uint64_param(level);
    EXPECT_TRUE(Translate().ok());
    return request_.priority();
  };
  EXPECT_EQ(priority_of(0), v1::PRIORITY_UNSPECIFIED);
  EXPECT_EQ(priority_of(1), v1::PRIORITY_HIGH);
  EXPECT_EQ(priority_of(2), v1::PRIORITY_NORMAL);
  EXPECT_EQ(priority_of(3), v1::PRIORITY_LOW);
  EXPECT_EQ(priority_of(UINT64_MAX), v1::PRIORITY_LOW);
  Parameter("priority").set_int64_param(1);
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.priority(), v1::PRIORITY_HIGH);
}

TEST_F(InferRequestTest, WrongSettingsAreRefusedByName) {
  const auto refuse = [this](const std::string& name, auto set, const std::string& text) {
    infer_.clear_parameters();
    set(Parameter(name));
    ExpectRefused("parameters[\"" + name + "\"]: " + text);
  };
  refuse(
      "device", [](auto& value) { value.set_string_param("gpu"); }, "\"gpu\" is none of AUTO");
  refuse(
      "device", [](auto& value) { value.set_string_param("UNSPECIFIED"); }, "\"UNSPECIFIED\"");
  refuse(
      "device", [](auto& value) { value.set_uint64_param(1); }, "The value is no string");
  refuse(
      "priority", [](auto& value) { value.set_string_param("1"); }, "\"1\" is none of LOW");
  refuse(
      "priority", [](auto& value) { value.set_string_param(""); }, "\"\" is none of LOW");
  const std::string no_priority = "The value is no number from 0 on and none of LOW, NORMAL, HIGH.";
  refuse(
      "priority", [](auto& value) { value.set_int64_param(-1); }, no_priority);
  refuse(
      "priority", [](auto& value) { value.set_double_param(1); }, no_priority);
  refuse(
      "priority", [](auto& value) { value.set_bool_param(true); }, no_priority);
  refuse(
      "priority", [](auto&) {}, no_priority);
  refuse(
      "verify", [](auto& value) { value.set_int64_param(1); }, "The value is no bool");
  refuse(
      "feature_level", [](auto& value) { value.set_int64_param(3); }, "The value is no string");
  refuse(
      "timeout", [](auto& value) { value.set_int64_param(-1); }, "The value is no number");
  refuse(
      "sequence_id", [](auto& value) { value.set_int64_param(1); }, "Operators have no state");
  infer_.clear_parameters();
  for (int i = 0; i < 65; ++i) Parameter("p" + std::to_string(i));
  ExpectRefused("parameters: There are 65 parameters; at most 64");
}

TEST_F(InferRequestTest, WrongInputsAreRefusedByName) {
  infer_.mutable_inputs(0)->set_datatype("BYTES");
  ExpectRefused("inputs[0].datatype: There is no type \"BYTES\"; allowed are FP64");
  infer_.mutable_inputs(0)->set_shape(1, int64_t{1} << 32);
  ExpectRefused("The request has 2 violations; first inputs[0].shape[1]: 4294967296 is no size");
  infer_.set_model_version("2");
  ExpectRefused("The request has 3 violations; first model_version: There is no version \"2\"");
}

TEST_F(InferRequestTest, StridesAreAParameterOfInputs) {
  auto& parameters = *infer_.mutable_inputs(0)->mutable_parameters();
  parameters["strides"].set_string_param("0,1");
  ASSERT_TRUE(Translate().ok());
  EXPECT_THAT(request_.inputs(0).strides(), ElementsAre(0, 1));
  parameters["strides"].set_string_param("0,-1");
  ExpectRefused("inputs[0].parameters[\"strides\"]: \"0,-1\" is no list of strides");
  const std::string no_list =
      "inputs[0].parameters[\"strides\"]: The value is no list of strides such as \"0,1\".";
  parameters["strides"].set_int64_param(7);
  ExpectRefused(no_list);
  parameters["strides"].set_bool_param(true);
  ExpectRefused(no_list);
  parameters["strides"].clear_parameter_choice();
  ExpectRefused(no_list);
  parameters.clear();
  parameters["priority"].set_string_param("r");
  ExpectRefused("inputs[0].parameters[\"priority\"]: Only \"strides\"");
}

TEST_F(InferRequestTest, ContentsMayBeNumbersOfTheirType) {
  auto& input = *infer_.mutable_inputs(0);
  input.mutable_contents()->add_fp32_contents(0.5f);
  input.mutable_contents()->add_fp32_contents(-1);
  ASSERT_TRUE(Translate(0).ok());
  EXPECT_THAT(Contents<float>(), ElementsAre(0.5f, -1.0f));
  input.set_datatype("INT16");
  input.mutable_contents()->add_int_contents(-32768);
  input.mutable_contents()->add_int_contents(32767);
  ASSERT_TRUE(Translate(0).ok());
  EXPECT_THAT(Contents<int16_t>(), ElementsAre(-32768, 32767));
  input.mutable_contents()->add_int_contents(32768);
  ExpectRefused("inputs[0].contents: 32768 is no INT16", 0);
  input.set_datatype("UINT8");
  input.mutable_contents()->add_uint_contents(256);
  ExpectRefused("inputs[0].contents: 256 is no UINT8", 0);
  input.set_datatype("FP16");
  ExpectRefused("inputs[0].contents: FP16 is in raw_input_contents only", 0);
}

TEST_F(InferRequestTest, ContentsAreRawOrNumbersAndOfEveryInput) {
  infer_.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  ExpectRefused("inputs[0].contents: There are raw_input_contents, too");
  infer_.mutable_inputs(0)->clear_contents();
  ExpectRefused("raw_input_contents: There are 2 raw contents for 1 inputs", 2);
  for (int i = 0; i < 64; ++i) infer_.add_inputs();
  ExpectRefused("inputs: There are 65 inputs; at most 64");
}

TEST_F(InferRequestTest, TheOutputIsTheModels) {
  auto& output = *infer_.add_outputs();
  output.set_name("OutputTensor");
  (*output.mutable_parameters())["datatype"].set_string_param("UINT32");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.output().data_type(), v1::DATA_TYPE_UINT32);
  (*output.mutable_parameters())["classification"].set_int64_param(3);
  ExpectRefused("outputs[0].parameters[\"classification\"]: Only \"datatype\"");
  output.set_name("Y");
  ExpectRefused("outputs[0].name: There is no output \"Y\"; the model has \"OutputTensor\"");
  infer_.add_outputs();
  ExpectRefused("outputs: There are 2 outputs; models have one");
}

TEST_F(InferRequestTest, UnknownModelsAreLeftToTheValidation) {
  infer_.set_model_name("resnet50");
  ASSERT_TRUE(Translate().ok());
  EXPECT_EQ(request_.operator_(), "RESNET50");
  EXPECT_TRUE(absl::IsNotFound(FindModel("element_wise_rond", "").status()));
  EXPECT_THAT(std::string(FindModel("element_wise_rond", "").status().message()),
              HasSubstr("did you mean element_wise_round?"));
  EXPECT_TRUE(absl::IsInvalidArgument(FindModel("element_wise_round", "3").status()));
  EXPECT_TRUE(FindModel("ELEMENT_WISE_ROUND", "1").ok());
}

TEST_F(InferRequestTest, TensorsMayBeInSharedMemory) {
  auto& input = *infer_.mutable_inputs(0)->mutable_parameters();
  input["shared_memory_region"].set_string_param("known");
  input["shared_memory_byte_size"].set_int64_param(24);
  auto& output = *infer_.add_outputs();
  output.set_name("OutputTensor");
  (*output.mutable_parameters())["shared_memory_region"].set_string_param("known");
  (*output.mutable_parameters())["shared_memory_byte_size"].set_int64_param(24);
  (*output.mutable_parameters())["shared_memory_offset"].set_int64_param(64);
  ASSERT_TRUE(Translate(0).ok());
  ASSERT_EQ(request_.input_places_size(), 1);
  EXPECT_EQ(request_.input_places(0).region().region(), "id of known");
  EXPECT_EQ(request_.input_places(0).region().bytes(), 24u);
  EXPECT_EQ(request_.output_place().region().offset(), 64u);
  EXPECT_THAT(settings_.contents, IsEmpty());
  ExpectRefused("There are 1 raw contents for 0 inputs.", 1);
  input["shared_memory_region"].set_string_param("other");
  ExpectRefused("There is no region.", 0);
}

TEST_F(InferRequestTest, EachInputHasAPlaceWhereOneIsInSharedMemory) {
  infer_.set_model_name("element_wise_if");
  for (const char* const name : {"ATensor", "BTensor"}) {
    auto& more = *infer_.add_inputs();
    more.set_name(name);
    more.set_datatype("FP32");
    more.add_shape(6);
  }
  auto& parameters = *infer_.mutable_inputs(1)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("known");
  parameters["shared_memory_byte_size"].set_int64_param(24);
  ASSERT_TRUE(Translate(2).ok());
  ASSERT_EQ(request_.input_places_size(), 3);
  EXPECT_FALSE(request_.input_places(0).has_region());
  EXPECT_TRUE(request_.input_places(1).has_region());
  EXPECT_FALSE(request_.input_places(2).has_region());
  ExpectRefused("There are 3 raw contents for 2 inputs.", 3);
  // The other two as numbers.
  for (const int i : {0, 2}) {
    for (int element = 0; element < 6; ++element) {
      infer_.mutable_inputs(i)->mutable_contents()->add_fp32_contents(1);
    }
  }
  ASSERT_TRUE(Translate(0).ok());
  EXPECT_THAT(settings_.content_bytes, ElementsAre(24, 24));
  infer_.mutable_inputs(1)->mutable_contents()->add_fp32_contents(1);
  ExpectRefused("The input is in shared memory", 0);
}

TEST_F(InferRequestTest, NumbersOfBytesAreNumbers) {
  auto& parameters = *infer_.mutable_inputs(0)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("known");
  parameters["shared_memory_byte_size"].set_int64_param(-1);
  ExpectRefused("The value is no number of bytes.", 0);
  parameters["shared_memory_byte_size"].set_string_param("24");
  ExpectRefused("The value is no number of bytes.", 0);
  parameters["shared_memory_byte_size"].set_int64_param(24);
  parameters["shared_memory_region"].set_int64_param(1);
  ExpectRefused(
      "inputs[0].parameters[\"shared_memory_region\"]: The value is no name of a region.");
}

TEST_F(InferRequestTest, NumbersOfBytesAreThoseOfARegion) {
  auto& parameters = *infer_.mutable_inputs(0)->mutable_parameters();
  parameters["shared_memory_byte_size"].set_int64_param(24);
  ExpectRefused(
      "inputs[0].parameters[\"shared_memory_byte_size\"]: The name of the region is missing.");
  parameters["shared_memory_offset"].set_int64_param(64);
  ExpectRefused("The request has 2 violations");
  parameters.clear();
  auto& output = *infer_.add_outputs();
  output.set_name("OutputTensor");
  (*output.mutable_parameters())["shared_memory_offset"].set_int64_param(64);
  ExpectRefused(
      "outputs[0].parameters[\"shared_memory_offset\"]: The name of the region is missing.");
}

}  // namespace
}  // namespace opserve
