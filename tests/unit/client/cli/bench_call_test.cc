// Calls made up from the catalogue.

#include "client/cli/bench_call.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::cli {
namespace {

using ::testing::HasSubstr;

OperatorInfo SelectLike() {
  OperatorInfo op;
  op.name = "SELECT";
  op.inputs = {{"Condition"}, {"A"}};
  op.attributes = {{"Mode", "enum", false, {{"FIRST", 0, ""}, {"SECOND", 1, ""}}},
                   {"Extra", "float", true, {}}};
  const SupportInfo old_row = {"1_0",
                               {{"Condition", 4, 4, {DataType::kUint8}},
                                {"A", 4, 4, {DataType::kFloat16}},
                                {"Out", 4, 4, {DataType::kFloat16}}}};
  const SupportInfo new_row = {"3_0",
                               {{"Condition", 1, 8, {DataType::kUint8}},
                                {"A", 1, 8, {DataType::kFloat32, DataType::kInt64}},
                                {"Out", 1, 8, {DataType::kFloat32, DataType::kInt64}}}};
  op.support = {old_row, new_row};
  return op;
}

TEST(BenchCallTest, TakesTheWantedTypeWhereAnInputMayHaveIt) {
  BenchArguments arguments;
  arguments.type = DataType::kInt64;
  arguments.shape = {4, 5};
  const auto made = MakeBenchCall(SelectLike(), arguments);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->call.inputs.size(), 2u);
  EXPECT_EQ(made->call.inputs[0].spec(), (TensorSpec{DataType::kUint8, {4, 5}, {}}));
  EXPECT_EQ(made->call.inputs[1].spec(), (TensorSpec{DataType::kInt64, {4, 5}, {}}));
  EXPECT_EQ(made->call.inputs[1].bytes().size(), 160u);
}

TEST(BenchCallTest, FillsInMissingAttributesOnly) {
  BenchArguments arguments;
  auto made = MakeBenchCall(SelectLike(), arguments);
  ASSERT_EQ(made->call.attributes.size(), 1u);
  EXPECT_EQ(std::get<std::string>(made->call.attributes[0].value), "FIRST");
  arguments.attributes = {{"Mode", "SECOND"}};
  made = MakeBenchCall(SelectLike(), arguments);
  ASSERT_EQ(made->call.attributes.size(), 1u);
  EXPECT_EQ(std::get<std::string>(made->call.attributes[0].value), "SECOND");
}

TEST(BenchCallTest, TypesAndListsOfDimensionsSuitTheTensors) {
  OperatorInfo op = SelectLike();
  op.attributes = {{"Type", "data_type", false, {}, AttributeValueKind::kDataType},
                   {"Axes", "axes", false, {}, AttributeValueKind::kAxes}};
  BenchArguments arguments;
  arguments.type = DataType::kInt64;
  arguments.shape = {4, 5, 6};
  const auto made = MakeBenchCall(op, arguments);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->call.attributes.size(), 2u);
  EXPECT_EQ(std::get<std::string>(made->call.attributes[0].value), "INT64");
  EXPECT_EQ(std::get<Axes>(made->call.attributes[1].value), Axes{2});
}

TEST(BenchCallTest, TensorsOfOneElementHaveOne) {
  OperatorInfo op = SelectLike();
  op.inputs[0].one_element = true;
  BenchArguments arguments;
  arguments.type = DataType::kInt64;
  arguments.shape = {4, 5};
  const auto made = MakeBenchCall(op, arguments);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->call.inputs[0].spec(), (TensorSpec{DataType::kUint8, {1, 1}, {}}));
  EXPECT_EQ(made->call.inputs[1].spec(), (TensorSpec{DataType::kInt64, {4, 5}, {}}));
}

TEST(BenchCallTest, PassesOnHowAndWhereToRun) {
  BenchArguments arguments;
  arguments.device = DevicePreference::kGpu;
  arguments.priority = CallPriority::kLow;
  arguments.verify = true;
  const auto made = MakeBenchCall(SelectLike(), arguments);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->call.device, DevicePreference::kGpu);
  EXPECT_EQ(made->call.priority, CallPriority::kLow);
  EXPECT_TRUE(made->call.verify);
}

TEST(BenchCallTest, RefusesTypesThatNoInputMayHave) {
  BenchArguments arguments;
  arguments.type = DataType::kFloat16;  // only in the older row
  const auto made = MakeBenchCall(SelectLike(), arguments);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(made.status().message(), HasSubstr("no input of SELECT can be FLOAT16"));
}

TEST(BenchCallTest, AsksForAttributesThatHaveNoDefault) {
  OperatorInfo op = SelectLike();
  op.attributes[1].optional = false;
  EXPECT_THAT(MakeBenchCall(op, {}).status().message(), HasSubstr("--attr Extra="));
}

TEST(RandomTensorTest, IsTheSameForTheSameSeedOnly) {
  for (DataType type : kAllDataTypes) {
    const auto bytes = [type](uint64_t seed) {
      const Tensor tensor = *MakeRandomTensor(type, {100}, seed);
      return std::vector<std::byte>(tensor.bytes().begin(), tensor.bytes().end());
    };
    EXPECT_EQ(bytes(1).size(), 100 * SizeOf(type));
    EXPECT_EQ(bytes(1), bytes(1));
    EXPECT_NE(bytes(1), bytes(2));
  }
}

TEST(RandomTensorTest, RefusesImpossibleShapes) {
  EXPECT_FALSE(MakeRandomTensor(DataType::kFloat32, {0}, 1).ok());
}

}  // namespace
}  // namespace opserve::cli
