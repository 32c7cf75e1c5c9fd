// The four operators through a real server: right bytes, right header, all violations at once.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/client_threads.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One server for all tests of the file; they leave no trace in it.
class ExecuteTest : public ::testing::Test {
 protected:
  static TestServer& server() {
    static TestServer server;
    return server;
  }

  static v1::ExecuteResponse Run(const v1::ExecuteRequest& request) {
    Answer answer = server().Execute(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return std::move(answer.response);
  }
};

TEST_F(ExecuteTest, RoundsTiesToEven) {
  const v1::ExecuteResponse response = Run(RoundRequest({0.5f, 1.5f, -2.5f, 2.6f, kInfinity}));
  EXPECT_THAT(ValuesOf<float>(response.payload()), ElementsAre(0, 2, -2, 3, kInfinity));
}

TEST_F(ExecuteTest, RoundsTiesAwayFromZeroInHalfPrecision) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_ROUND");
  AddEnum(request, "RoundingMode", "TOWARD_INFINITY");
  // 0.5, -2.5 and 1.25 as binary16.
  AddInput(request, v1::DATA_TYPE_FLOAT16, {3}, BytesOf<uint16_t>({0x3800, 0xc100, 0x3d00}));
  EXPECT_THAT(ValuesOf<uint16_t>(Run(request).payload()), ElementsAre(0x3c00, 0xc200, 0x3c00));
}

TEST_F(ExecuteTest, FindsInfinities) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_IS_INFINITY");
  AddEnum(request, "InfinityMode", "NEGATIVE");
  AddInput(request, v1::DATA_TYPE_FLOAT32, {2, 2},
           BytesOf<float>({kInfinity, -kInfinity, kNan, -1}));
  const v1::ExecuteResponse response = Run(request);
  EXPECT_EQ(response.output().data_type(), v1::DATA_TYPE_UINT8);
  EXPECT_THAT(response.output().sizes(), ElementsAre(2, 2));
  EXPECT_THAT(ValuesOf<uint8_t>(response.payload()), ElementsAre(0, 1, 0, 0));
}

TEST_F(ExecuteTest, ComputesTheExactRemainder) {
  const std::vector<float> a = {5.5f, -5.5f, 1e30f, 16777215.0f, 3.0f};
  const std::vector<float> b = {2.0f, 2.0f, 3.0f, 2.0f, kInfinity};
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  AddInput(request, v1::DATA_TYPE_FLOAT32, {5}, BytesOf(a));
  AddInput(request, v1::DATA_TYPE_FLOAT32, {5}, BytesOf(b));
  const auto result = ValuesOf<float>(Run(request).payload());
  ASSERT_THAT(result, SizeIs(5));
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(result[i], std::fmod(a[i], b[i])) << i;
}

TEST_F(ExecuteTest, SelectsWholeWordsByCondition) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_IF");
  AddInput(request, v1::DATA_TYPE_UINT8, {3}, BytesOf<uint8_t>({0, 1, 255}));
  AddInput(request, v1::DATA_TYPE_INT64, {3}, BytesOf<int64_t>({1, INT64_MIN, 3}));
  AddInput(request, v1::DATA_TYPE_INT64, {3}, BytesOf<int64_t>({-1, -2, -3}));
  EXPECT_THAT(ValuesOf<int64_t>(Run(request).payload()), ElementsAre(-1, INT64_MIN, 3));
}

TEST_F(ExecuteTest, TakesNamedInputsInAnyOrder) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  AddInput(request, v1::DATA_TYPE_INT32, {2}, BytesOf<int32_t>({3, 4}));
  AddInput(request, v1::DATA_TYPE_INT32, {2}, BytesOf<int32_t>({10, -11}));
  request.mutable_inputs(0)->set_name("BTensor");
  request.mutable_inputs(1)->set_name("ATensor");
  EXPECT_THAT(ValuesOf<int32_t>(Run(request).payload()), ElementsAre(1, -3));
}

TEST_F(ExecuteTest, BroadcastsInputsAndPadsOutputs) {
  v1::ExecuteRequest request = RoundRequest({1.5f, 2.4f});
  v1::TensorDesc& input = *request.mutable_inputs(0);
  input.clear_sizes();
  for (uint32_t size : {2, 2}) input.add_sizes(size);
  for (uint32_t stride : {0, 1}) input.add_strides(stride);
  v1::TensorDesc& output = *request.mutable_output();
  for (uint32_t size : {2, 2}) output.add_sizes(size);
  for (uint32_t stride : {3, 1}) output.add_strides(stride);
  const v1::ExecuteResponse response = Run(request);
  EXPECT_THAT(response.output().strides(), ElementsAre(3, 1));
  EXPECT_THAT(ValuesOf<float>(response.payload()), ElementsAre(2, 2, 0, 2, 2));
}

TEST_F(ExecuteTest, TellsHowTheRequestWasRun) {
  v1::ExecuteRequest request = RoundRequest({1});
  request.set_request_id("été 1");
  request.set_device(v1::DEVICE_PREFERENCE_CPU);
  const v1::ExecuteResponse response = Run(request);
  EXPECT_EQ(response.request_id(), "été 1");
  EXPECT_THAT(response.execution().device(), StartsWith("cpu/"));
  EXPECT_EQ(response.execution().batch_size(), 1u);
  EXPECT_GT(response.execution().queue_time_ns(), 0u);
}

TEST_F(ExecuteTest, HotRequestsGiveTheSameAnswerWithOtherBytes) {
  for (const float value : {0.4f, 1.6f, 2.6f}) {
    EXPECT_THAT(ValuesOf<float>(Run(RoundRequest({value})).payload()),
                ElementsAre(std::nearbyint(value)));
  }
}

TEST_F(ExecuteTest, NamesAllFiveFaults) {
  v1::ExecuteRequest request;
  request.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  request.set_request_id(std::string(129, 'x'));                           // 1: too long
  AddEnum(request, "RoundingMode", "TOWARD_ZERO");                         // 2: no such attribute
  AddInput(request, v1::DATA_TYPE_FLOAT64, {2}, std::string(16, '\0'));    // 3: type
  AddInput(request, v1::DATA_TYPE_FLOAT32, {2, 0}, std::string(8, '\0'));  // 4: size of zero
  AddInput(request, v1::DATA_TYPE_FLOAT32, {2}, std::string(8, '\0'));     // 5: surplus
  const grpc::Status status = server().Execute(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(ViolationsOf(status),
              UnorderedElementsAre(StartsWith("request_id: "), StartsWith("attributes[0]"),
                                   StartsWith("inputs[0].data_type: "),
                                   StartsWith("inputs[1].sizes[1]: "), StartsWith("inputs[2]: ")));
  EXPECT_FALSE(MayRetry(status));
}

TEST_F(ExecuteTest, OffersNearNamesForAnUnknownOperator) {
  v1::ExecuteRequest request = RoundRequest({1});
  request.set_operator_("ELEMENT_WISE_ROUNT");
  const grpc::Status status = server().Execute(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "OPERATOR_NOT_FOUND");
  const auto resource = DetailOf<rpc::ResourceInfo>(status);
  EXPECT_EQ(resource.resource_type(), "operator");
  EXPECT_EQ(resource.resource_name(), "ELEMENT_WISE_ROUNT");
  EXPECT_THAT(resource.description(), HasSubstr("ELEMENT_WISE_ROUND"));
  EXPECT_THAT(ViolationsOf(status), ElementsAre(StartsWith("operator: ")));
}

TEST_F(ExecuteTest, RefusesAGpuThatIsNotThere) {
  v1::ExecuteRequest request = RoundRequest({1});
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  const grpc::Status status = server().Execute(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "DEVICE_UNAVAILABLE");
  EXPECT_FALSE(MayRetry(status));
}

// Each client sends numbers that no other sends, so a mixed-up answer shows.
TEST_F(ExecuteTest, ManyClientsGetTheirOwnAnswers) {
  constexpr int kClients = 16;
  constexpr int kRequests = 50;
  std::atomic<int> wrong{0};
  ClientThreads clients(kClients, [&wrong](int client) {
    const auto stub =
        v1::OperatorService::NewStub(ConnectTo(server().server().addresses().front()));
    for (int i = 0; i < kRequests; ++i) {
      const auto base = static_cast<float>(client * 100000 + i * 100);
      std::vector<float> values(static_cast<size_t>(1 + i * 37));
      for (size_t k = 0; k < values.size(); ++k) values[k] = base + 0.25f * static_cast<float>(k);
      v1::ExecuteRequest request = RoundRequest(values);
      request.set_request_id(std::to_string(client) + "/" + std::to_string(i));
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      const bool ok = stub->Execute(&context, request, &response).ok();
      for (float& value : values) value = std::nearbyint(value);
      if (!ok || response.request_id() != request.request_id() ||
          ValuesOf<float>(response.payload()) != values) {
        ++wrong;
      }
    }
  });
  clients.Join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace opserve::testing
