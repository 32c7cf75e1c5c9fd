// Clients of a server whose GPUs are made up: metadata, self-tests, and the verb `devices`.

#include <grpcpp/server_builder.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/cli/arguments/exit_code.h"
#include "client/cli/commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "proto/base/mutex.h"

namespace opserve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Says what its test tells it to, over a real connection.
class ScriptedServer final : public v1::OperatorService::Service {
 public:
  ScriptedServer() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  const std::string& address() const { return address_; }

  std::unique_ptr<Client> Connect(const ClientOptions& options = {}) const {
    auto client = Client::Connect(address_, options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // Not while calls are in progress.
  v1::DeviceInfo& AddDevice(const std::string& name, v1::DeviceKind kind) {
    v1::DeviceInfo& device = *info_.add_devices();
    device.set_name(name);
    device.set_kind(kind);
    device.set_state(v1::DEVICE_STATE_READY);
    return device;
  }
  void AddSelfTest(const std::string& device, const std::string& failure) {
    v1::SelfTestResult& result = *self_tests_.add_results();
    result.set_device(device);
    result.set_passed(failure.empty());
    result.set_failure(failure);
    result.set_cases(40);
    result.set_duration_ns(1'500'000);
  }

  // The names that clients sent with their last call; what the last call was for.
  std::vector<std::string> last_names() const {
    const MutexLock lock(mutex_);
    return last_names_;
  }
  v1::ExecuteRequest last_request() const {
    const MutexLock lock(mutex_);
    return last_request_;
  }
  std::string last_self_test() const {
    const MutexLock lock(mutex_);
    return last_self_test_;
  }

 private:
  grpc::Status Execute(grpc::ServerContext* context, const v1::ExecuteRequest* request,
                       v1::ExecuteResponse* response) override {
    const MutexLock lock(mutex_);
    KeepNames(*context);
    last_request_ = *request;
    *response->mutable_output() = request->inputs(0);
    response->set_payload(request->payloads(0));
    v1::ExecutionInfo& execution = *response->mutable_execution();
    execution.set_device("d3d12/X");
    execution.set_batch_size(16);
    execution.set_attempts(2);
    execution.set_verified(true);
    return grpc::Status::OK;
  }
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest*,
                             v1::GetServerInfoResponse* response) override {
    const MutexLock lock(mutex_);
    KeepNames(*context);
    *response = info_;
    return grpc::Status::OK;
  }
  grpc::Status SelfTestDevices(grpc::ServerContext* context,
                               const v1::SelfTestDevicesRequest* request,
                               v1::SelfTestDevicesResponse* response) override {
    const MutexLock lock(mutex_);
    KeepNames(*context);
    last_self_test_ = request->device();
    if (request->device() == "busy") return {grpc::StatusCode::RESOURCE_EXHAUSTED, "busy"};
    for (const v1::SelfTestResult& result : self_tests_.results()) {
      if (request->device().empty() || request->device() == result.device()) {
        *response->add_results() = result;
      }
    }
    return grpc::Status::OK;
  }

  void KeepNames(const grpc::ServerContext& context) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    last_names_.clear();
    const auto [first, last] = context.client_metadata().equal_range("opserve-client");
    for (auto it = first; it != last; ++it) {
      last_names_.emplace_back(it->second.data(), it->second.size());
    }
  }

  std::string address_;
  v1::GetServerInfoResponse info_;
  v1::SelfTestDevicesResponse self_tests_;
  mutable Mutex mutex_;
  std::vector<std::string> last_names_ ABSL_GUARDED_BY(mutex_);
  v1::ExecuteRequest last_request_ ABSL_GUARDED_BY(mutex_);
  std::string last_self_test_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;  // stops first
};

TEST(ClientNameTest, TravelsWithEveryCallAndOnlyWhereItIsGiven) {
  const ScriptedServer server;
  const auto named = server.Connect({.client_name = "night run #7"});
  ASSERT_TRUE(named->GetServerInfo().ok());
  EXPECT_THAT(server.last_names(), ElementsAre("night run #7"));
  ASSERT_TRUE(server.Connect()->GetServerInfo().ok());
  EXPECT_THAT(server.last_names(), IsEmpty());

  const std::vector<float> x = {1};
  const OperatorCall call = {.operator_name = "OP", .inputs = {TensorView::Of<float>(x, {1})}};
  ASSERT_TRUE(named->Execute(call).ok());
  EXPECT_THAT(server.last_names(), ElementsAre("night run #7"));
  ASSERT_TRUE(server.Connect()->Execute(call).ok());
  EXPECT_THAT(server.last_names(), IsEmpty());
  ASSERT_TRUE(named->ExecuteFuture(call).get().ok());
  EXPECT_THAT(server.last_names(), ElementsAre("night run #7"));
}

TEST(ClientNameTest, WhatMetadataCannotCarryIsRefusedBeforeConnecting) {
  for (const std::string& name : {std::string("a\nb"), std::string(129, 'x')}) {
    const auto client = Client::Connect("127.0.0.1:1", {.client_name = name});
    EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(client.status().message()), HasSubstr("client name"));
  }
}

TEST(PlacementTest, ReachesTheServerAndItsOutcomeTheCaller) {
  const ScriptedServer server;
  const std::vector<float> x = {1, 2};
  ExecutionInfo info;
  const auto output = server.Connect()->Execute({.operator_name = "OP",
                                                 .inputs = {TensorView::Of<float>(x, {2})},
                                                 .device = DevicePreference::kGpu,
                                                 .priority = CallPriority::kHigh,
                                                 .verify = true},
                                                {}, &info);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(server.last_request().device(), v1::DEVICE_PREFERENCE_GPU);
  EXPECT_EQ(server.last_request().priority(), v1::PRIORITY_HIGH);
  EXPECT_TRUE(server.last_request().verify());
  EXPECT_EQ(info.device, "d3d12/X");
  EXPECT_EQ(info.batch_size, 16u);
  EXPECT_EQ(info.attempts, 2u);
  EXPECT_TRUE(info.verified);
  EXPECT_EQ(info.sends, 1);
}

TEST(SelfTestTest, ReportsEachDeviceOrTheOneThatIsNamed) {
  ScriptedServer server;
  server.AddSelfTest("d3d12/X", "");
  server.AddSelfTest("d3d12/Y", "element 3 differs");
  const auto client = server.Connect();
  const auto all = client->SelfTestDevices();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_TRUE((*all)[0].passed);
  EXPECT_EQ((*all)[1].failure, "element 3 differs");
  const auto one = client->SelfTestDevices("d3d12/Y");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_THAT(*one, SizeIs(1));
  EXPECT_EQ((*one)[0].device, "d3d12/Y");
  EXPECT_EQ(client->SelfTestDevices("busy").status().code(), absl::StatusCode::kResourceExhausted);
}

// The verb `devices` against the server.
class DevicesVerbTest : public ::testing::Test {
 protected:
  DevicesVerbTest() {
    server_.AddDevice("cpu/AVX3", v1::DEVICE_KIND_CPU);
    server_.AddDevice("d3d12/X", v1::DEVICE_KIND_GPU);
    v1::DeviceInfo& lost = server_.AddDevice("d3d12/Y", v1::DEVICE_KIND_GPU);
    lost.set_state(v1::DEVICE_STATE_LOST);
    lost.set_state_reason("it hung");
  }

  // The exit code. What is printed is in out_ and err_.
  int Run(cli::DevicesArguments arguments) {
    arguments.server.address = server_.address();
    out_.str("");
    err_.str("");
    return cli::RunCommand(arguments, cli::Terminal{.out = out_, .err = err_});
  }
  nlohmann::json Report() const { return nlohmann::json::parse(out_.str()); }

  ScriptedServer server_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(DevicesVerbTest, ShowsAllOrOne) {
  EXPECT_EQ(Run({}), cli::kSuccess);
  EXPECT_THAT(out_.str(), HasSubstr("d3d12/Y is LOST: it hung\n"));
  EXPECT_EQ(Run({.name = "cpu/AVX3", .json = true}), cli::kSuccess);
  ASSERT_THAT(Report()["devices"], SizeIs(1));
  EXPECT_EQ(Report()["devices"][0]["name"], "cpu/AVX3");
}

TEST_F(DevicesVerbTest, AnUnknownNameIsAnErrorThatTellsTheKnownOnes) {
  EXPECT_EQ(Run({.name = "d3d12/Z"}), cli::kCallFailed);
  EXPECT_THAT(err_.str(), HasSubstr("no device 'd3d12/Z'; it has: cpu/AVX3, d3d12/X, d3d12/Y"));
}

TEST_F(DevicesVerbTest, SelfTestsThatAllPassAreSuccess) {
  server_.AddSelfTest("d3d12/X", "");
  EXPECT_EQ(Run({.self_test = true}), cli::kSuccess);
  EXPECT_THAT(out_.str(), HasSubstr("d3d12/X  PASS    40     1.50 ms\n"));
  EXPECT_EQ(server_.last_self_test(), "");
  EXPECT_EQ(Run({.self_test = true, .json = true}), cli::kSuccess);
  EXPECT_EQ(Report()["passed"], true);
}

TEST_F(DevicesVerbTest, OneFailedSelfTestHasAnExitCodeOfItsOwn) {
  server_.AddSelfTest("d3d12/X", "");
  server_.AddSelfTest("d3d12/Y", "element 3 differs");
  EXPECT_EQ(Run({.self_test = true}), cli::kTestFailed);
  EXPECT_THAT(out_.str(), HasSubstr("d3d12/Y  FAIL    40     1.50 ms\n"
                                    "d3d12/Y: element 3 differs\n"));
  EXPECT_EQ(Run({.name = "d3d12/X", .self_test = true}), cli::kSuccess);
  EXPECT_EQ(server_.last_self_test(), "d3d12/X");
  EXPECT_EQ(Run({.self_test = true, .json = true}), cli::kTestFailed);
  EXPECT_EQ(Report()["passed"], false);
  EXPECT_THAT(Report()["results"], SizeIs(2));
}

TEST_F(DevicesVerbTest, TheProcessorHasNoSelfTest) {
  EXPECT_EQ(Run({.name = "cpu/AVX3", .self_test = true}), cli::kTestFailed);
  EXPECT_THAT(err_.str(), HasSubstr("nothing to test: cpu/AVX3 is no GPU"));
}

TEST_F(DevicesVerbTest, ARefusedSelfTestIsAFailedCall) {
  server_.AddDevice("busy", v1::DEVICE_KIND_GPU);
  EXPECT_EQ(Run({.name = "busy", .self_test = true, .json = true}), cli::kCallFailed);
  EXPECT_EQ(Report()["error"]["code"], "RESOURCE_EXHAUSTED");
}

}  // namespace
}  // namespace opserve
