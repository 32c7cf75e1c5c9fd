// Who may call which method of a real server.

#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/small_file.h"
#include "tests/integration/network_address.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/test_server.h"
#include "tests/integration/token_file.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kOperators[] = "/opserve.v1.OperatorService/";

// Every method of the server and the role that it needs.
const std::map<std::string, std::string>& RoleByMethod() {
  static const auto* const roles = new std::map<std::string, std::string>{
      {std::string(kOperators) + "Execute", "execute"},
      {std::string(kOperators) + "ExecuteSequence", "execute"},
      {std::string(kOperators) + "CreateTensor", "tensors"},
      {std::string(kOperators) + "WriteTensor", "tensors"},
      {std::string(kOperators) + "ReadTensor", "tensors"},
      {std::string(kOperators) + "RenewTensors", "tensors"},
      {std::string(kOperators) + "DeleteTensors", "tensors"},
      {std::string(kOperators) + "ListTensors", "tensors"},
      {std::string(kOperators) + "ListOperators", "observe"},
      {std::string(kOperators) + "GetServerInfo", "observe"},
      {std::string(kOperators) + "SelfTestDevices", "admin"},
  };
  return *roles;
}

class AccessTest : public ::testing::Test {
 protected:
  ~AccessTest() override { std::remove(policy_.c_str()); }

  ServerOptions WithPolicy(const std::string& text) const {
    EXPECT_TRUE(ReplaceFile(policy_, text).ok());
    ServerOptions options;
    options.access.policy_file = policy_;
    return options;
  }

  static std::string ReasonOfCall(TestServer& server, const std::string& method) {
    return ReasonOf(CallByName(server.channel(), method, "").first);
  }

  // Ends the stream at once; the reason why the server did, if it had one.
  static std::string ReasonOfStream(TestServer& server, const std::string& method) {
    RawStream stream(server.channel(), method);
    stream.WritesDone();
    while (stream.Read()) {
    }
    return ReasonOf(stream.Finish());
  }

  const std::string policy_ =
      ::testing::TempDir() + "opserve-policy-" + std::to_string(getpid()) + ".toml";
};

TEST_F(AccessTest, EachMethodNeedsItsRole) {
  for (const char* role : {"execute", "tensors", "admin", "observe"}) {
    TestServer server(WithPolicy(
        std::string("[[client]]\nmatch = \"address:127.0.0.1\"\nroles = [\"") + role + "\"]\n"));
    for (const auto& [method, needed] : RoleByMethod()) {
      const std::string reason = ReasonOfCall(server, method);
      if (needed == role) {
        EXPECT_NE(reason, "ROLE_REQUIRED") << method << " with " << role;
      } else {
        EXPECT_EQ(reason, "ROLE_REQUIRED") << method << " with " << role;
      }
    }
    EXPECT_EQ(ReasonOfStream(server, std::string(kOperators) + "ExecuteStream") == "ROLE_REQUIRED",
              role != std::string("execute"))
        << role;
  }
}

TEST_F(AccessTest, MethodsOfKserveNeedTheRolesOfTheOwn) {
  const std::string kserve = "/inference.GRPCInferenceService/";
  for (const std::string role : {"execute", "observe", "regions"}) {
    ServerOptions options =
        WithPolicy("[[client]]\nmatch = \"address:127.0.0.1\"\nroles = [\"" + role + "\"]\n");
    options.kserve = true;
    TestServer server(options);
    EXPECT_EQ(ReasonOfCall(server, kserve + "ModelInfer") == "ROLE_REQUIRED", role != "execute");
    EXPECT_EQ(ReasonOfStream(server, kserve + "ModelStreamInfer") == "ROLE_REQUIRED",
              role != "execute");
    for (const char* method : {"ServerMetadata", "ModelReady", "ModelMetadata", "ModelConfig",
                               "ModelStatistics", "RepositoryIndex", "CudaSharedMemoryStatus"}) {
      EXPECT_EQ(ReasonOfCall(server, kserve + method) == "ROLE_REQUIRED", role != "observe")
          << method;
    }
    for (const char* method : {"SystemSharedMemoryRegister", "SystemSharedMemoryUnregister",
                               "SystemSharedMemoryStatus"}) {
      EXPECT_EQ(ReasonOfCall(server, kserve + method) == "ROLE_REQUIRED", role != "regions")
          << method;
    }
    EXPECT_EQ(ReasonOfCall(server, kserve + "ServerLive"), "") << "as open as health";
    EXPECT_EQ(ReasonOfCall(server, kserve + "ServerReady"), "");
  }
}

TEST_F(AccessTest, WithoutAPolicyThisMachineMayDoAll) {
  TestServer server;
  for (const auto& [method, needed] : RoleByMethod()) {
    EXPECT_THAT(
        ReasonOfCall(server, method),
        ::testing::AllOf(::testing::Ne("ROLE_REQUIRED"), ::testing::Ne("CREDENTIALS_REQUIRED")))
        << method;
  }
}

TEST_F(AccessTest, WhoIsInNoRuleIsAskedForProof) {
  TestServer server(WithPolicy("[anonymous]\nroles = [\"observe\"]\n"));
  const auto status =
      CallByName(server.channel(), std::string(kOperators) + "GetServerInfo", "").first;
  EXPECT_TRUE(status.ok()) << status.error_message();
  const auto refused = CallByName(server.channel(), std::string(kOperators) + "Execute", "").first;
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(refused), "CREDENTIALS_REQUIRED");
  EXPECT_EQ(DetailOf<rpc::ErrorInfo>(refused).metadata().at("role"), "execute");
  EXPECT_FALSE(MayRetry(refused));
}

TEST_F(AccessTest, HealthAndReflectionAreOpenUnlessClosed) {
  constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
  constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
  constexpr char kReflect[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  {
    TestServer server(WithPolicy(""));
    EXPECT_EQ(ReasonOfCall(server, kCheck), "");
    EXPECT_EQ(ReasonOfStream(server, kReflect), "");
  }
  TestServer server(WithPolicy("open = []"));
  EXPECT_EQ(ReasonOfCall(server, kCheck), "CREDENTIALS_REQUIRED");
  EXPECT_EQ(ReasonOfStream(server, kWatch), "CREDENTIALS_REQUIRED");
  EXPECT_EQ(ReasonOfStream(server, kReflect), "CREDENTIALS_REQUIRED");
}

TEST_F(AccessTest, ANameThatIsNotAllowedIsRefused) {
  TestServer server;
  for (const std::string& name : {std::string("a/b"), std::string(129, 'x'), std::string("")}) {
    grpc::ClientContext context;
    context.AddMetadata("opserve-client", name);
    v1::GetServerInfoResponse info;
    const grpc::Status status = server.stub().GetServerInfo(&context, {}, &info);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST") << name;
    EXPECT_THAT(ViolationsOf(status), ::testing::ElementsAre(HasSubstr("opserve-client")));
  }
}

TEST_F(AccessTest, DoesNotStartWithABrokenPolicy) {
  const auto server = Server::Start([this] {
    ServerOptions options = WithPolicy("\n[anonymus]\n");
    options.listen = {"127.0.0.1:0"};
    return options;
  }());
  EXPECT_THAT(std::string(server.status().message()),
              HasSubstr(policy_ + ":2: unknown key \"anonymus\""));
}

TEST_F(AccessTest, PlainTextStaysOnThisMachine) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    ServerOptions options;
    options.listen = {address};
    const auto server = Server::Start(options);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(server.status().message()),
                ::testing::AllOf(HasSubstr("--tls-certificate"), HasSubstr("--insecure")));
  }
}

// A server that other machines reach, and its channel by the network.
class NetworkAccessTest : public AccessTest {
 protected:
  std::shared_ptr<grpc::Channel> StartAtNetwork(ServerOptions options) {
    options.listen = {"0.0.0.0:0"};
    options.insecure = true;
    auto server = Server::Start(options);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    return ConnectTo(NetworkAddress() + ":" + std::to_string(server_->port()));
  }

  std::unique_ptr<Server> server_;
};

TEST_F(NetworkAccessTest, StrangersAreRefusedUnlessThatIsAllowed) {
  if (NetworkAddress().empty()) GTEST_SKIP() << "there is no address but loopback";
  const auto channel = StartAtNetwork({});
  for (const auto& [method, needed] : RoleByMethod()) {
    EXPECT_EQ(ReasonOf(CallByName(channel, method, "").first), "CREDENTIALS_REQUIRED") << method;
  }
  EXPECT_TRUE(CallByName(channel, "/grpc.health.v1.Health/Check", "").first.ok());
  // From this machine itself it is as ever.
  const auto local = ConnectTo("127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_TRUE(CallByName(local, std::string(kOperators) + "GetServerInfo", "").first.ok());
}

TEST_F(NetworkAccessTest, StrangersThatAreAllowedMayDisturbNobody) {
  if (NetworkAddress().empty()) GTEST_SKIP() << "there is no address but loopback";
  ServerOptions options;
  options.access.allow_anonymous = true;
  const auto channel = StartAtNetwork(options);
  for (const auto& [method, needed] : RoleByMethod()) {
    EXPECT_EQ(ReasonOf(CallByName(channel, method, "").first) == "CREDENTIALS_REQUIRED",
              needed == "admin")
        << method;
  }
}

// A server that takes tokens.
class TokenCallsTest : public NetworkAccessTest {
 protected:
  ServerOptions WithTokens() const {
    ServerOptions options = WithPolicy(R"(
[[client]]
match = "token:ci"
roles = ["tensors"]
[[client]]
match = "token:*"
roles = ["tensors", "observe"]
)");
    options.access.tokens_file = tokens_.path();
    return options;
  }

  // Calls `method`, as one of the stub's, with the token.
  template <class Request, class Response>
  static grpc::Status Call(Stub& stub,
                           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                        Response*),
                           const Request& request, Response& response, const std::string& token) {
    grpc::ClientContext context;
    context.AddMetadata("opserve-client", "same");
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    return (stub.*method)(&context, request, &response);
  }

  TokenFile tokens_;
  const std::string ci_ = tokens_.Add("ci");
  const std::string lab_ = tokens_.Add("lab");
};

TEST_F(TokenCallsTest, RolesAreThoseOfTheToken) {
  TestServer server(WithTokens());
  v1::GetServerInfoResponse info;
  const auto ask = [&](const std::string& token) {
    return ReasonOf(Call(server.stub(), &Stub::GetServerInfo, {}, info, token));
  };
  EXPECT_EQ(ask(lab_), "");
  EXPECT_EQ(ask(ci_), "ROLE_REQUIRED");
  EXPECT_EQ(ask(""), "CREDENTIALS_REQUIRED");
  EXPECT_EQ(ask(MakeToken()), "CREDENTIALS_INVALID");
  // Health needs no proof, but a wrong one is no better than elsewhere.
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer " + lab_);
  context.AddMetadata("authorization", "Bearer " + ci_);
  EXPECT_EQ(ReasonOf(server.stub().GetServerInfo(&context, {}, &info)), "CREDENTIALS_INVALID");
}

TEST_F(TokenCallsTest, TensorsAreOfTheTokenWhateverTheName) {
  TestServer server(WithTokens());
  v1::CreateTensorRequest create;
  create.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
  create.mutable_desc()->add_sizes(1);
  v1::CreateTensorResponse created;
  ASSERT_TRUE(Call(server.stub(), &Stub::CreateTensor, create, created, ci_).ok());
  v1::ReadTensorRequest read;
  read.set_tensor(created.tensor());
  v1::ReadTensorResponse content;
  EXPECT_TRUE(Call(server.stub(), &Stub::ReadTensor, read, content, ci_).ok());
  EXPECT_EQ(ReasonOf(Call(server.stub(), &Stub::ReadTensor, read, content, lab_)),
            "TENSOR_NOT_FOUND");
  v1::DeleteTensorsRequest remove;
  remove.add_tensors(created.tensor());
  v1::DeleteTensorsResponse removed;
  EXPECT_TRUE(Call(server.stub(), &Stub::DeleteTensors, remove, removed, lab_).ok());
  EXPECT_EQ(removed.deleted(), 0u);
  v1::ListTensorsResponse list;
  EXPECT_TRUE(Call(server.stub(), &Stub::ListTensors, {}, list, lab_).ok());
  EXPECT_EQ(list.tensors_size(), 0);
}

TEST_F(TokenCallsTest, PlainTextOverTheNetworkIsNotTaken) {
  if (NetworkAddress().empty()) GTEST_SKIP() << "there is no address but loopback";
  const auto stub = v1::OperatorService::NewStub(StartAtNetwork(WithTokens()));
  v1::GetServerInfoResponse info;
  EXPECT_EQ(ReasonOf(Call(*stub, &Stub::GetServerInfo, {}, info, lab_)), "TOKEN_IN_PLAIN_TEXT");
  const auto local =
      v1::OperatorService::NewStub(ConnectTo("127.0.0.1:" + std::to_string(server_->port())));
  EXPECT_EQ(ReasonOf(Call(*local, &Stub::GetServerInfo, {}, info, lab_)), "");
}

}  // namespace
}  // namespace opserve::testing
