// The program on a machine whose GPU driver takes its time.

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/health_client.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kServiceName[] = "opserve.v1.OperatorService";
constexpr char kGpuHealthName[] = "opserve.v1.OperatorService/gpu";

class SlowGpuTest : public ::testing::Test {
 protected:
  SlowGpuTest() {
    setenv("OPSERVE_MODULE_DIR", OPSERVE_SLOW_MODULE_DIR, 1);
    setenv("OPSERVE_TEST_GATE", gate_.c_str(), 1);
  }
  ~SlowGpuTest() override {
    unsetenv("OPSERVE_MODULE_DIR");
    unsetenv("OPSERVE_TEST_GATE");
  }

  // The driver loads, now and in programs that start later.
  void OpenGate() const { std::ofstream(gate_) << "open\n"; }

  std::vector<std::string> Serving(const std::string& devices) const {
    std::vector<std::string> arguments = ServerProcess::Serving(folder_.path());
    arguments.insert(arguments.end(), {"--devices", devices, "--allow-software-adapters"});
    return arguments;
  }

  static grpc::Status RoundOnGpu(Stub& stub, std::string& device) {
    grpc::ClientContext context;
    v1::ExecuteRequest request = RoundRequest({1.5f});
    request.set_device(v1::DEVICE_PREFERENCE_GPU);
    v1::ExecuteResponse response;
    grpc::Status status = stub.Execute(&context, request, &response);
    device = response.execution().device();
    return status;
  }

  const TemporaryFolder folder_;
  const TemporaryFolder gate_folder_;
  const std::filesystem::path gate_ = gate_folder_.path() / "gate";
};

// The gate opens only after the program has served, so it cannot have waited for the driver.
TEST_F(SlowGpuTest, ServesBeforeTheDriverIsLoaded) {
  ServerProcess server(Serving("auto"));
  const std::vector<std::string> addresses = server.WaitReady(folder_.path());
  ASSERT_THAT(addresses, SizeIs(1)) << server.Output();
  const auto channel = ConnectTo(addresses[0]);
  EXPECT_EQ(CheckHealth(channel, ""), Health::kServing);
  EXPECT_EQ(CheckHealth(channel, kServiceName), Health::kServing);
  HealthWatch gpu(channel, kGpuHealthName);
  EXPECT_EQ(gpu.Next(), Health::kNotServing);

  const auto stub = v1::OperatorService::NewStub(channel);
  std::string device;
  const grpc::Status refused = RoundOnGpu(*stub, device);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("still starting"));
  EXPECT_THAT(refused.error_details(), HasSubstr("google.rpc.RetryInfo"));
  grpc::ClientContext context;
  v1::ExecuteResponse response;
  EXPECT_TRUE(stub->Execute(&context, RoundRequest({1.5f}), &response).ok());
  EXPECT_THAT(response.execution().device(), HasSubstr("cpu/"));

  OpenGate();
  EXPECT_EQ(gpu.Next(), Health::kServing);
  EXPECT_TRUE(RoundOnGpu(*stub, device).ok());
  EXPECT_EQ(device, "d3d12/slow");
  EXPECT_TRUE(server.WaitOutput("GPU joined device=d3d12/slow took_ms="));
  // An adapter beside it, which is of no use.
  EXPECT_TRUE(server.WaitOutput("GPU left out runtime=vkd3d reason=\"odd has no queue"));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

// Also by the name of a GPU that the server has not found yet.
TEST_F(SlowGpuTest, TensorsArePlacedOnceTheGpuHasJoined) {
  ServerProcess server(Serving("auto"));
  const std::vector<std::string> addresses = server.WaitReady(folder_.path());
  ASSERT_THAT(addresses, SizeIs(1)) << server.Output();
  const auto stub = v1::OperatorService::NewStub(ConnectTo(addresses[0]));
  const auto create = [&stub](const std::string& device, v1::DevicePreference placement) {
    v1::CreateTensorRequest request;
    request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_desc()->add_sizes(1);
    request.set_device(device);
    request.set_placement(placement);
    grpc::ClientContext context;
    v1::CreateTensorResponse response;
    return stub->CreateTensor(&context, request, &response);
  };
  for (const char* device : {"d3d12/slow", "d3d12/none", ""}) {
    const grpc::Status refused = create(device, v1::DEVICE_PREFERENCE_GPU);
    EXPECT_EQ(ReasonOf(refused), "DEVICE_UNAVAILABLE") << device;
    EXPECT_THAT(refused.error_details(), HasSubstr("google.rpc.RetryInfo")) << device;
  }
  EXPECT_TRUE(create("", v1::DEVICE_PREFERENCE_CPU).ok());
  OpenGate();
  ASSERT_TRUE(server.WaitOutput("GPU joined"));
  EXPECT_TRUE(create("d3d12/slow", v1::DEVICE_PREFERENCE_GPU).ok());
  EXPECT_TRUE(create("", v1::DEVICE_PREFERENCE_GPU).ok());
  EXPECT_EQ(ReasonOf(create("d3d12/none", v1::DEVICE_PREFERENCE_GPU)), "INVALID_REQUEST");
}

TEST_F(SlowGpuTest, ADriverThatNeverLoadsDoesNotHoldUpTheEnd) {
  ServerProcess server(Serving("auto"));
  ASSERT_THAT(server.WaitReady(folder_.path()), SizeIs(1)) << server.Output();
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// Whoever names a GPU wants that one or none.
TEST_F(SlowGpuTest, ANamedGpuThatIsMissingEndsTheProgram) {
  OpenGate();
  ServerProcess server(Serving("quick"));
  EXPECT_EQ(server.WaitExit(), 1);
  EXPECT_THAT(server.Output(), HasSubstr("cannot start"));
  EXPECT_THAT(server.Output(), HasSubstr("no adapter matches the device"));
}

TEST_F(SlowGpuTest, ANamedGpuJoins) {
  OpenGate();
  ServerProcess server(Serving("slow"));
  const std::vector<std::string> addresses = server.WaitReady(folder_.path());
  ASSERT_THAT(addresses, SizeIs(1)) << server.Output();
  EXPECT_TRUE(server.WaitOutput("GPU joined device=d3d12/slow took_ms="));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.WaitExit(), 0) << server.Output();
}

}  // namespace
}  // namespace opserve::testing
