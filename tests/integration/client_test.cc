// The client library against a real server: every way to call, every kind of error.

#include "opserve/client.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>

#include "client/api/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/op_table.h"
#include "server/service/server.h"
#include "tests/integration/gated_device.h"

namespace opserve {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A server on a free port, and a client of it.
class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = Start("127.0.0.1:0");
    client_ = Connect(server_->addresses()[0]);
  }

  static std::unique_ptr<Server> Start(const std::string& address) {
    ServerOptions options;
    options.listen = {address};
    auto server = Server::Start(options);
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  static std::unique_ptr<Client> Connect(const std::string& address,
                                         const ClientOptions& options = {}) {
    auto client = Client::Connect(address, options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  // Rounds to even; `values` must outlive the call.
  static OperatorCall Round(const std::vector<float>& values) {
    return {.operator_name = "ELEMENT_WISE_ROUND",
            .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
            .inputs = {TensorView::Of<float>(values, {static_cast<uint32_t>(values.size())})}};
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

const std::vector<float> kValues = {-1.5f, 0.5f, 2.5f};

TEST_F(ClientTest, ComputesRowsAlongListsOfDimensions) {
  const std::vector<float> x = {1, 5, 3, 4, 2, 9};
  const auto hardmax = [&](const Axes& axes) {
    const auto y = client_->Execute({.operator_name = "ACTIVATION_HARDMAX1",
                                     .attributes = {{"Axes", axes}},
                                     .inputs = {TensorView::Of<float>(x, {2, 3})}});
    EXPECT_TRUE(y.ok()) << y.status();
    const auto values = y->Elements<float>();
    return std::vector<float>(values->begin(), values->end());
  };
  EXPECT_THAT(hardmax({1}), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(hardmax({0}), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(hardmax({1, 0, 1}), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(hardmax({}), Each(1));
}

TEST_F(ClientTest, ExecuteReturnsTheResultAndHowItWasRun) {
  ExecutionInfo info;
  const auto output = client_->Execute(Round(kValues), {}, &info);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->spec(), (TensorSpec{DataType::kFloat32, {3}, {}}));
  EXPECT_THAT(*output->Elements<float>(), ElementsAre(-2, 0, 2));
  EXPECT_THAT(info.device, HasSubstr("cpu"));
  EXPECT_EQ(info.batch_size, 1u);
  EXPECT_EQ(info.attempts, 1u);
  EXPECT_FALSE(info.verified);
  EXPECT_EQ(info.sends, 1);
  EXPECT_GT(info.run_time, absl::ZeroDuration());
}

TEST_F(ClientTest, TheOtherOperators) {
  const std::vector<uint8_t> condition = {0, 1, 7};
  const std::vector<Half> a = {Half(1), Half(2), Half(3)};
  const std::vector<Half> b = {Half(-1), Half(INFINITY), Half(-INFINITY)};
  const auto selected =
      client_->Execute({.operator_name = "ELEMENT_WISE_IF",
                        .inputs = {TensorView::Of<uint8_t>(condition, {3}),
                                   TensorView::Of<Half>(a, {3}), TensorView::Of<Half>(b, {3})}});
  ASSERT_TRUE(selected.ok()) << selected.status();
  EXPECT_THAT(*selected->Elements<Half>(), ElementsAre(Half(-1), Half(2), Half(3)));

  const auto infinite = client_->Execute({.operator_name = "ELEMENT_WISE_IS_INFINITY",
                                          .attributes = {{"InfinityMode", int64_t{2}}},
                                          .inputs = {TensorView::Of<Half>(b, {3})}});
  ASSERT_TRUE(infinite.ok()) << infinite.status();
  EXPECT_THAT(*infinite->Elements<uint8_t>(), ElementsAre(0, 0, 1));

  const std::vector<int32_t> dividend = {7, -7, INT32_MIN};
  const std::vector<int32_t> divisor = {4, 4, -1};
  const auto rest = client_->Execute(
      {.operator_name = "ELEMENT_WISE_MODULUS_TRUNCATE",
       .inputs = {TensorView::Of<int32_t>(dividend, {3}), TensorView::Of<int32_t>(divisor, {3})}});
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_THAT(*rest->Elements<int32_t>(), ElementsAre(3, -3, 0));
}

TEST_F(ClientTest, StridesGoBothWays) {
  OperatorCall call = Round(kValues);
  call.inputs = {TensorView::Of<float>(kValues, {2, 3}, {0, 1})};
  call.output.emplace().strides = {4, 1};
  const auto output = client_->Execute(call);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->spec(), (TensorSpec{DataType::kFloat32, {2, 3}, {4, 1}}));
  EXPECT_THAT(*output->Elements<float>(), ElementsAre(-2, 0, 2, 0, -2, 0, 2));
  EXPECT_THAT(*output->Packed().Elements<float>(), ElementsAre(-2, 0, 2, -2, 0, 2));
}

TEST_F(ClientTest, ManyCallsInFlightEachGetTheirOwnAnswer) {
  constexpr int kCalls = 200;
  std::vector<std::vector<float>> inputs;
  for (int i = 0; i < kCalls; ++i) inputs.emplace_back(1 + i % 50, static_cast<float>(i) + 0.25f);
  std::vector<std::future<absl::StatusOr<Tensor>>> futures;
  for (const std::vector<float>& input : inputs) {
    futures.push_back(client_->ExecuteFuture(Round(input)));
  }
  for (int i = 0; i < kCalls; ++i) {
    const auto output = futures[i].get();
    ASSERT_TRUE(output.ok()) << output.status();
    ASSERT_THAT(*output->Elements<float>(), SizeIs(1 + i % 50));
    ASSERT_THAT(*output->ToFloats(), Each(static_cast<float>(i)));
  }
}

TEST_F(ClientTest, OneClientServesManyThreads) {
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> input(100, static_cast<float>(t) + 0.75f);
      for (int i = 0; i < 25; ++i) {
        const auto output = client_->Execute(Round(input));
        if (output.ok() && (*output->Elements<float>())[99] == static_cast<float>(t) + 1) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

TEST_F(ClientTest, TheCallbackRunsOnceAndDestructionWaitsForIt) {
  std::atomic<int> calls = 0;
  for (int i = 0; i < 20; ++i) {
    client_->ExecuteAsync(Round(kValues),
                          [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
                            if (output.ok()) ++calls;
                          });
  }
  client_.reset();
  EXPECT_EQ(calls, 20);
}

// It should not, as it keeps the ends of other calls that were started.
TEST_F(ClientTest, ACallbackThatMakesACallGetsItsResult) {
  std::promise<absl::Status> inner;
  client_->ExecuteAsync(Round(kValues), [&](const absl::StatusOr<Tensor>&, const ExecutionInfo&) {
    inner.set_value(client_->Execute(Round(kValues)).status());
  });
  EXPECT_TRUE(inner.get_future().get().ok());
}

TEST_F(ClientTest, LargeTensorsTravelWhole) {
  std::vector<float> large(4 << 20);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i) + 0.125f;
  const auto output = client_->Execute(Round(large));
  ASSERT_TRUE(output.ok()) << output.status();
  const std::span<const float> values = *output->Elements<float>();
  ASSERT_EQ(values.size(), large.size());
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], std::nearbyint(large[i]));
}

TEST_F(ClientTest, ResultsGoToTheCallersMemoryAlsoThatOfTheInput) {
  std::vector<float> large(1 << 20);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i) + 0.125f;
  ExecutionInfo info;
  const auto spec =
      client_->ExecuteInto(Round(large), std::as_writable_bytes(std::span(large)), {}, &info);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, (TensorSpec{DataType::kFloat32, {1 << 20}, {}}));
  EXPECT_THAT(info.device, HasSubstr("cpu"));
  for (size_t i = 0; i < large.size(); ++i) ASSERT_EQ(large[i], static_cast<float>(i));
  const absl::Status small =
      client_->ExecuteInto(Round(large), std::as_writable_bytes(std::span(large)).first(4))
          .status();
  EXPECT_EQ(small.code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, ResultsAreAlignedAndOutliveTheClient) {
  const std::vector<float> large(1 << 20, 1.75f);
  const auto output = client_->Execute(Round(large));
  client_.reset();
  server_.reset();
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(output->bytes().data()) % 64, 0u);
  ASSERT_THAT(*output->ToFloats(), Each(2));
}

TEST_F(ClientTest, CallsAreSpreadOverSeveralConnections) {
  const auto client = Connect(server_->addresses()[0], {.channels = 3});
  std::vector<std::vector<float>> inputs;
  for (int i = 0; i < 12; ++i) inputs.emplace_back(1 << 16, static_cast<float>(i) + 0.25f);
  std::vector<std::future<absl::StatusOr<Tensor>>> futures;
  for (const auto& input : inputs) futures.push_back(client->ExecuteFuture(Round(input)));
  for (size_t i = 0; i < futures.size(); ++i) {
    const auto output = futures[i].get();
    ASSERT_TRUE(output.ok()) << output.status();
    ASSERT_THAT(*output->ToFloats(), Each(static_cast<float>(i)));
  }
}

TEST_F(ClientTest, EveryViolationIsDecoded) {
  OperatorCall call = Round(kValues);
  call.attributes = {{"RoundingMode", "UP"}, {"Extra", 1.5}};
  call.inputs[0] = TensorView::Of<float>(kValues, {4});
  const auto output = client_->Execute(call);
  EXPECT_EQ(output.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetErrorReason(output.status()), "INVALID_REQUEST");
  std::vector<std::string> fields;
  for (const FieldViolation& violation : GetViolations(output.status())) {
    EXPECT_FALSE(violation.description.empty());
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields, ElementsAre("attributes[0].value", "attributes[1].name", "payloads[0]"));
}

TEST_F(ClientTest, AnUnknownOperatorIsNotFound) {
  OperatorCall call = Round(kValues);
  call.operator_name = "ELEMENT_WISE_ROUNDS";
  const absl::Status status = client_->Execute(call).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(GetErrorReason(status), "OPERATOR_NOT_FOUND");
  EXPECT_THAT(std::string(status.message()), HasSubstr("ELEMENT_WISE_ROUND"));
}

TEST_F(ClientTest, AnAbsentGpuIsAFailedPrecondition) {
  OperatorCall call = Round(kValues);
  call.device = DevicePreference::kGpu;
  const absl::Status status = client_->Execute(call).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetErrorReason(status), "DEVICE_UNAVAILABLE");
}

TEST_F(ClientTest, EveryPriorityIsServedAndTheProcessorNeedsNoVerification) {
  for (auto priority : {CallPriority::kLow, CallPriority::kNormal, CallPriority::kHigh}) {
    OperatorCall call = Round(kValues);
    call.device = DevicePreference::kCpu;
    call.priority = priority;
    call.verify = true;
    ExecutionInfo info;
    const auto output = client_->Execute(call, {}, &info);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_THAT(*output->Elements<float>(), ElementsAre(-2, 0, 2));
    EXPECT_FALSE(info.verified);
  }
}

TEST_F(ClientTest, ANamedClientIsServed) {
  const auto named = Connect(server_->addresses()[0], {.client_name = "unit tests"});
  EXPECT_TRUE(named->Execute(Round(kValues)).ok());
}

TEST_F(ClientTest, CatalogueInfoAndHealth) {
  const auto all = client_->ListOperators();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->operators, SizeIs(OpTable().size()));
  EXPECT_EQ(all->operators[0].family, "moves, signs and bits");
  EXPECT_THAT(all->feature_levels, SizeIs(15));
  const auto one = client_->ListOperators("ELEMENT_WISE_IF", "3_0");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_THAT(one->operators, SizeIs(1));
  ASSERT_THAT(one->operators[0].support, SizeIs(1));
  EXPECT_THAT(one->operators[0].support[0].tensors[1].data_types, SizeIs(8));
  EXPECT_EQ(client_->ListOperators("NONE").status().code(), absl::StatusCode::kNotFound);

  const auto info = client_->GetServerInfo();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->feature_level, "6_4");
  EXPECT_THAT(info->devices, SizeIs(1));
  EXPECT_EQ(info->limits.max_dimension_count, 8u);

  EXPECT_EQ(*client_->CheckHealth(), HealthStatus::kServing);
  EXPECT_EQ(*client_->CheckHealth("opserve.v1.OperatorService"), HealthStatus::kServing);
  EXPECT_EQ(client_->CheckHealth("no.such.Service").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, WhatTheServerTellsOfItselfCanBeAskedWithoutWaiting) {
  const Call<Catalogue> operators = client_->StartListOperators("ELEMENT_WISE_IF", "3_0");
  const Call<ServerInfo> info = client_->StartGetServerInfo();
  const Call<HealthStatus> health = client_->StartCheckHealth();
  const Call<std::vector<SelfTestReport>> self_tests = client_->StartSelfTestDevices();
  const Call<ResidentTensorList> tensors = client_->StartListTensors();
  ASSERT_TRUE(operators.Wait().ok()) << operators.Wait().status();
  EXPECT_THAT(operators.Wait()->operators, SizeIs(1));
  ASSERT_TRUE(info.Wait().ok()) << info.Wait().status();
  EXPECT_EQ(info.Wait()->feature_level, "6_4");
  EXPECT_EQ(*health.Wait(), HealthStatus::kServing);
  EXPECT_THAT(*self_tests.Wait(), IsEmpty()) << "there is no GPU";
  ASSERT_TRUE(tensors.Wait().ok()) << tensors.Wait().status();
  EXPECT_THAT(tensors.Wait()->tensors, IsEmpty());
  EXPECT_EQ(client_->StartListOperators("NONE").Wait().status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, UnixSockets) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("opserve_client_" + std::to_string(getpid()));
  const std::unique_ptr<Server> server = Start("unix:" + path);
  const auto client = Connect("unix:" + path);
  EXPECT_TRUE(client->Execute(Round(kValues)).ok());
  const std::vector<float> large(1 << 20, 1.75f);
  const auto output = client->Execute(Round(large));
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_THAT(*output->ToFloats(), Each(2));
}

TEST_F(ClientTest, TlsTrustsTheGivenAuthorityOnly) {
  const std::string folder = OPSERVE_TEST_DATA "/tls/";
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.tls_certificate = folder + "certificate.pem";
  options.tls_key = folder + "key.pem";
  const auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = (*server)->addresses()[0];

  ClientOptions trusting = {.tls = TlsOptions{}};
  trusting.tls->root_certificates = *ReadFile(options.tls_certificate);
  EXPECT_TRUE(Connect(address, trusting)->Execute(Round(kValues)).ok());
  trusting.tls->server_name = "somebody.else";
  EXPECT_EQ(Client::Connect(address, trusting).status().code(), absl::StatusCode::kUnavailable);
  const ClientOptions plain;
  EXPECT_EQ(Client::Connect(address, plain).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClientTest, DeadlinePassesWhileTheDeviceIsBusy) {
  testing::GatedDevice device;
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  const auto server = Server::Start(options, {.cpu = testing::Borrow(device)});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = Connect((*server)->addresses()[0]);
  const testing::GateCloser closed(device);
  const absl::Status status =
      client->Execute(Round(kValues), {.timeout = absl::Milliseconds(50)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

// A refusal comes before most of the message has gone.
TEST_F(ClientTest, ALargeCallThatIsRefusedIsSentAgain) {
  testing::GatedDevice device;
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.admission.max_requests = 1;
  // Calls of one connection come in their order, and one poller takes them in it.
  options.pollers = 1;
  const auto server = Server::Start(options, {.cpu = testing::Borrow(device)});
  ASSERT_TRUE(server.ok()) << server.status();
  // A client that may share memory asks the server for it first.
  const auto client = Connect((*server)->addresses()[0], {.max_shared_bytes = 0});
  const std::vector<float> large(4 << 20, 0.5f);
  const CallOptions once = {.retry = RetryPolicy{.max_attempts = 1}};
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 1000}};
  std::vector<Call<Tensor>> calls;
  {
    const testing::GateCloser closed(device);
    calls.push_back(client->StartExecute(Round(kValues)));
    ASSERT_TRUE(device.WaitForHeld(1));
    calls.push_back(client->StartExecute(Round(large), patient));
    // So the other one has been refused as well.
    EXPECT_EQ(client->Execute(Round(large), once).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
  for (const Call<Tensor>& call : calls) EXPECT_TRUE(call.Wait().ok()) << call.Wait().status();
  EXPECT_THAT(*calls[1].Wait()->Elements<float>(), Each(0.0f));
  EXPECT_GE(calls[1].info().sends, 2);
}

TEST_F(ClientTest, AServerThatIsGoneIsUnavailableAndOneThatIsBackServesAgain) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("opserve_back_" + std::to_string(getpid()));
  std::unique_ptr<Server> server = Start("unix:" + path);
  const std::unique_ptr<Client> client = Connect("unix:" + path);
  server.reset();
  const CallOptions once = {.retry = RetryPolicy{.max_attempts = 1}};
  EXPECT_EQ(client->Execute(Round(kValues), once).status().code(), absl::StatusCode::kUnavailable);

  server = Start("unix:" + path);
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 100}};
  const auto output = client->Execute(Round(kValues), patient);
  EXPECT_TRUE(output.ok()) << output.status();
}

TEST(ConnectTest, NobodyListens) {
  // The port of a server that is gone.
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  const std::string address = (*Server::Start(options))->addresses()[0];
  const auto client = Client::Connect(address);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("connection refused"));
  EXPECT_TRUE(Client::Connect(address, {.connect_timeout = absl::ZeroDuration()}).ok())
      << "without a timeout the first call connects";
}

TEST(ConnectTest, MalformedTargetsAndOptionsAreRefused) {
  const auto code_of = [](const std::string& target, const ClientOptions& options) {
    return Client::Connect(target, options).status().code();
  };
  EXPECT_EQ(code_of("", {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of("localhost", {}), absl::StatusCode::kInvalidArgument);
  const ClientOptions half_tls = {.tls = TlsOptions{.client_certificate = "PEM"}};
  EXPECT_EQ(code_of("localhost:1", half_tls), absl::StatusCode::kInvalidArgument);
  for (const int channels : {-1, 0, 65}) {
    const ClientOptions wrong = {.channels = channels};
    EXPECT_EQ(code_of("localhost:1", wrong), absl::StatusCode::kInvalidArgument);
  }
  // A token never crosses a network in plain text.
  ClientOptions token = {.connect_timeout = absl::ZeroDuration(), .bearer_token = "secret"};
  EXPECT_EQ(code_of("gpu-host:50051", token), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_of("127.0.0.1:50051", token), absl::StatusCode::kOk);
  token.tls.emplace();
  EXPECT_EQ(code_of("gpu-host:50051", token), absl::StatusCode::kOk);
}

}  // namespace
}  // namespace opserve
