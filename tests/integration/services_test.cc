// Everything around Execute: catalogue, server info, health, reflection, addresses, TLS.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "kernels/op_table.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A folder of its own for each test, gone afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// HealthCheckRequest{service} and HealthCheckResponse{status}, as bytes.
std::string HealthRequest(const std::string& service) {
  return std::string("\x0a") + static_cast<char>(service.size()) + service;
}
const std::string kServing = "\x08\x01";
const std::string kNotServing = "\x08\x02";
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
constexpr char kService[] = "opserve.v1.OperatorService";

ServerOptions ListenOn(std::vector<std::string> addresses) {
  ServerOptions options;
  options.listen = std::move(addresses);
  return options;
}

TEST(ServicesTest, ListsTheCatalogue) {
  TestServer server;
  grpc::ClientContext context;
  v1::ListOperatorsResponse response;
  ASSERT_TRUE(server.stub().ListOperators(&context, {}, &response).ok());
  ASSERT_THAT(response.operators(), SizeIs(OpTable().size()));
  EXPECT_EQ(response.operators(0).name(), OpTable()[0].name);
  EXPECT_EQ(response.feature_levels(0).name(), "1_0");
}

TEST(ServicesTest, RefusesUnknownNamesInTheCatalogue) {
  TestServer server;
  grpc::ClientContext context;
  v1::ListOperatorsRequest request;
  request.set_name("ROUMD");
  v1::ListOperatorsResponse response;
  const grpc::Status status = server.stub().ListOperators(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "OPERATOR_NOT_FOUND");
  EXPECT_THAT(ViolationsOf(status), ElementsAre(HasSubstr("ELEMENT_WISE_ROUND")));
}

TEST(ServicesTest, TellsVersionDevicesAndLimits) {
  ServerOptions options;
  options.admission = {.max_requests = 7, .max_bytes = 1 << 22};
  TestServer server(options);
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server.stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_THAT(info.version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_EQ(info.feature_level(), "6_4");
  ASSERT_THAT(info.devices(), SizeIs(1));
  EXPECT_THAT(info.devices(0).name(), StartsWith("cpu/"));
  EXPECT_GE(info.devices(0).threads(), 1u);
  EXPECT_EQ(info.limits().max_concurrent_requests(), 7u);
  EXPECT_EQ(info.limits().max_queued_bytes(), 1u << 22);
  EXPECT_EQ(info.limits().max_message_bytes(), options.max_message_bytes);
}

TEST(ServicesTest, HealthFollowsTheDrain) {
  GatedDevice device;
  TestServer server({}, {.cpu = Borrow(device)});
  for (const char* service : {"", kService}) {
    EXPECT_EQ(CallByName(server.channel(), kHealthCheck, HealthRequest(service)).second, kServing);
  }
  EXPECT_EQ(CallByName(server.channel(), kHealthCheck, HealthRequest("other")).first.error_code(),
            grpc::StatusCode::NOT_FOUND);

  const GateCloser closer(device);
  PendingCall call = server.Start(RoundRequest({1}));
  ASSERT_TRUE(device.WaitForHeld(1));
  EXPECT_EQ(server.server().Drain(std::chrono::milliseconds(0)), DrainResult::kTimedOut);
  for (const char* service : {"", kService}) {
    EXPECT_EQ(CallByName(server.channel(), kHealthCheck, HealthRequest(service)).second,
              kNotServing);
  }
  device.Open();
  EXPECT_TRUE(call.Get().status.ok());
}

TEST(ServicesTest, HealthRefusesWhatIsNoRequest) {
  TestServer server;
  for (const std::string& bytes : {std::string("\x0a\x7f"), HealthRequest(std::string(120, 'x'))}) {
    const auto [status, answer] = CallByName(server.channel(), kHealthCheck, bytes);
    EXPECT_EQ(status.error_code(),
              bytes.size() < 10 ? grpc::StatusCode::INVALID_ARGUMENT : grpc::StatusCode::NOT_FOUND);
  }
}

TEST(ServicesTest, MethodsThatThereAreNotAreUnimplemented) {
  TestServer server;
  for (const char* method : {"/opserve.v1.OperatorService/Exekute", "/other.Service/Execute"}) {
    EXPECT_EQ(CallByName(server.channel(), method, "").first.error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST(ServicesTest, ServesWithSeveralPollers) {
  ServerOptions options;
  options.pollers = 3;
  TestServer server(options);
  std::vector<PendingCall> calls;
  for (int connection = 0; connection < 8; ++connection) {
    const auto stub = v1::OperatorService::NewStub(ConnectTo(server.server().addresses().front()));
    for (int call = 0; call < 8; ++call) {
      calls.emplace_back(*stub, RoundRequest({1}), std::chrono::minutes(1));
    }
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
}

TEST(ServicesTest, ServesOnASocketFile) {
  const TemporaryFolder folder;
  const std::string path = folder.File("opserve.sock");
  const ServerOptions options = ListenOn({"unix:" + path, "127.0.0.1:0"});
  {
    TestServer server(options);
    EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
    EXPECT_THAT(server.server().addresses(), ElementsAre("unix:" + path, StartsWith("127.0.0.1:")));
    EXPECT_GT(server.server().port(), 0);
    const auto second = Server::Start(options);
    EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(second.status().message()), HasSubstr("another server"));
    EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ServicesTest, LeavesFilesThatAreNoSocketsAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.File("notes.txt");
  std::ofstream(path) << "mine";
  const auto server = Server::Start(ListenOn({"unix:" + path}));
  EXPECT_EQ(server.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
}

TEST(ServicesTest, TellsThatAPortIsTaken) {
  TestServer first;
  const auto second = Server::Start(ListenOn({first.server().addresses().front()}));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("Address already in use"));
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TEST(ServicesTest, ServesWithTls) {
  ServerOptions options = ListenOn({"127.0.0.1:0"});
  options.tls_certificate = OPSERVE_TEST_DATA "/tls/certificate.pem";
  options.tls_key = OPSERVE_TEST_DATA "/tls/key.pem";
  TestServer server(options);
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = ReadText(options.tls_certificate);
  const auto stub = v1::OperatorService::NewStub(
      grpc::CreateChannel(server.server().addresses().front(), grpc::SslCredentials(trust)));
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  const grpc::Status status = stub->Execute(&context, RoundRequest({1.5f}), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // Plain text is not understood.
  EXPECT_EQ(server.Execute(RoundRequest({1})).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(ServicesTest, TellsWhatIsWrongWithTlsFiles) {
  ServerOptions options = ListenOn({"127.0.0.1:0"});
  options.tls_certificate = OPSERVE_TEST_DATA "/tls/certificate.pem";
  EXPECT_EQ(Server::Start(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.tls_key = OPSERVE_TEST_DATA "/tls/missing.pem";
  EXPECT_THAT(std::string(Server::Start(options).status().message()), HasSubstr("missing.pem"));
  options.tls_key = options.tls_certificate;
  EXPECT_THAT(std::string(Server::Start(options).status().message()),
              HasSubstr("certificate.pem has no private key"));
  options.tls_key = OPSERVE_TEST_DATA "/tls/other_key.pem";
  EXPECT_THAT(std::string(Server::Start(options).status().message()),
              HasSubstr("other_key.pem is not that of the first certificate in"));
  options.tls_certificate = OPSERVE_TEST_DATA "/tls/key.pem";
  EXPECT_THAT(std::string(Server::Start(options).status().message()),
              HasSubstr("key.pem does not begin with a certificate"));
}

}  // namespace
}  // namespace opserve::testing
