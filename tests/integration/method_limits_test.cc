// What one call of each method may take of the server.

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kService[] = "/opserve.v1.OperatorService/";
constexpr char kKserve[] = "/inference.GRPCInferenceService/";
constexpr uint64_t kMaxMessage = 1 << 20;

ServerOptions SmallMessages() {
  ServerOptions options;
  options.max_message_bytes = kMaxMessage;
  options.kserve = true;
  return options;
}

// A message of `bytes` bytes whose fields no method knows: each is two bytes, and takes sixteen
// once it is parsed.
std::string UnknownFields(uint64_t bytes) {
  std::string message;
  while (message.size() < bytes) message += std::string("\x78\x01");
  return message;
}

// Every method that carries no payload takes at least 4 KiB of fields that it does not know, and
// none of them half a MiB.
TEST(MethodLimitsTest, ControlMethodsTakeSmallRequestsOnly) {
  TestServer server(SmallMessages());
  std::vector<std::string> paths;
  for (const char* method : {"ListOperators", "GetServerInfo", "SelfTestDevices", "ReadTensor",
                             "RenewTensors", "DeleteTensors", "ListTensors"}) {
    paths.push_back(std::string(kService) + method);
  }
  for (const char* method : {"ServerLive", "ServerReady", "ServerMetadata", "ModelReady",
                             "ModelMetadata", "ModelConfig", "ModelStatistics", "RepositoryIndex",
                             "SystemSharedMemoryStatus", "CudaSharedMemoryUnregister"}) {
    paths.push_back(std::string(kKserve) + method);
  }
  for (const std::string& path : paths) {
    const grpc::Status small = CallByName(server.channel(), path, UnknownFields(4096)).first;
    EXPECT_NE(small.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << path;
    const std::string large = UnknownFields(kMaxMessage / 2);
    const grpc::Status status = CallByName(server.channel(), path, large).first;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << path;
    EXPECT_EQ(ReasonOf(status), "REQUEST_TOO_LARGE") << path;
    EXPECT_FALSE(MayRetry(status)) << path;
    const auto metadata = DetailOf<rpc::ErrorInfo>(status).metadata();
    EXPECT_EQ(metadata.at("method"), path);
    EXPECT_EQ(metadata.at("bytes"), std::to_string(large.size()));
    EXPECT_LT(std::stoull(metadata.at("limit")), kMaxMessage / 2);
    EXPECT_THAT(status.error_message(), HasSubstr(metadata.at("limit")));
  }
}

TEST(MethodLimitsTest, HealthTakesAFewKilobytes) {
  TestServer server(SmallMessages());
  const std::string check = "/grpc.health.v1.Health/Check";
  EXPECT_TRUE(CallByName(server.channel(), check, UnknownFields(4096)).first.ok());
  const grpc::Status status = CallByName(server.channel(), check, UnknownFields(4098)).first;
  EXPECT_EQ(ReasonOf(status), "REQUEST_TOO_LARGE");

  RawStream watch(server.channel(), "/grpc.health.v1.Health/Watch");
  ASSERT_TRUE(watch.Write(UnknownFields(4098)));
  EXPECT_EQ(watch.Read(), std::nullopt);
  EXPECT_EQ(ReasonOf(watch.Finish()), "REQUEST_TOO_LARGE");
}

// Methods with payloads take what fits into a message.
TEST(MethodLimitsTest, PayloadsMayFillAMessage) {
  TestServer server(SmallMessages());
  const Answer answer = server.Execute(RoundRequest(std::vector<float>(kMaxMessage / 4 - 256, 1)));
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
}

// What a request takes beside its tensors is held with it, and counts.
TEST(MethodLimitsTest, UnknownFieldsTakeTheirShareOfTheBudget) {
  ServerOptions options;
  options.admission.max_bytes = 1 << 20;
  TestServer server(options);
  const std::string request = RoundRequest({1}).SerializeAsString();
  const std::string path = std::string(kService) + "Execute";
  EXPECT_TRUE(CallByName(server.channel(), path, request + UnknownFields(3 << 10)).first.ok());
  EXPECT_TRUE(CallByName(server.channel(), path, request + UnknownFields(32 << 10)).first.ok());
  const grpc::Status status =
      CallByName(server.channel(), path, request + UnknownFields(256 << 10)).first;
  EXPECT_EQ(ReasonOf(status), "REQUEST_EXCEEDS_BUDGET");
}

TEST(MethodLimitsTest, RequestsNameNoMoreTensorsThanAClientMayHave) {
  ServerOptions options;
  options.tensors.max_tensors_per_client = 2000;
  TestServer server(options);
  v1::RenewTensorsRequest renew;
  v1::DeleteTensorsRequest remove;
  for (int i = 0; i < 2000; ++i) {
    renew.add_tensors(std::string(43, 'x'));
    remove.add_tensors(std::string(43, 'x'));
  }
  {
    grpc::ClientContext context;
    v1::RenewTensorsResponse response;
    EXPECT_EQ(ReasonOf(server.stub().RenewTensors(&context, renew, &response)), "TENSOR_NOT_FOUND");
  }
  {
    grpc::ClientContext context;
    v1::DeleteTensorsResponse response;
    EXPECT_TRUE(server.stub().DeleteTensors(&context, remove, &response).ok());
    EXPECT_EQ(response.deleted(), 0u);
  }
  renew.add_tensors("");
  remove.add_tensors("");
  const auto expect_refused = [](const grpc::Status& status) {
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
    EXPECT_THAT(ViolationsOf(status), ElementsAre(HasSubstr("names 2001 tensors; at most 2000")));
  };
  {
    grpc::ClientContext context;
    v1::RenewTensorsResponse response;
    expect_refused(server.stub().RenewTensors(&context, renew, &response));
  }
  {
    grpc::ClientContext context;
    v1::DeleteTensorsResponse response;
    expect_refused(server.stub().DeleteTensors(&context, remove, &response));
  }
}

// The store looks at parts of a long list; the error is that of the first handle all the same, and
// all tensors that there are have been renewed.
TEST(MethodLimitsTest, LongListsAreRenewedAsAWhole) {
  TestServer server;
  const auto create = [&] {
    grpc::ClientContext context;
    v1::CreateTensorRequest request;
    request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_desc()->add_sizes(1);
    request.set_ttl_s(500);
    v1::CreateTensorResponse response;
    EXPECT_TRUE(server.stub().CreateTensor(&context, request, &response).ok());
    return response.tensor();
  };
  v1::RenewTensorsRequest renew;
  renew.set_ttl_s(1000);
  for (int i = 0; i < 300; ++i) renew.add_tensors("first");
  renew.add_tensors("second");
  for (int i = 0; i < 300; ++i) renew.add_tensors(create());
  {
    grpc::ClientContext context;
    v1::RenewTensorsResponse response;
    const grpc::Status status = server.stub().RenewTensors(&context, renew, &response);
    EXPECT_EQ(ReasonOf(status), "TENSOR_NOT_FOUND");
    EXPECT_THAT(status.error_message(), HasSubstr("first"));
  }
  grpc::ClientContext context;
  v1::ListTensorsResponse list;
  ASSERT_TRUE(server.stub().ListTensors(&context, {}, &list).ok());
  ASSERT_EQ(list.tensors_size(), 300);
  for (const v1::ResidentTensorInfo& tensor : list.tensors()) EXPECT_GT(tensor.ttl_s(), 900u);
}

}  // namespace
}  // namespace opserve::testing
