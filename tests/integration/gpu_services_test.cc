// Servers with GPUs, seen through their methods: placement, priorities, fairness, the catalogue and
// self-tests.

#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "tests/integration/gpu_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

v1::ExecuteRequest GpuRequest(float value) {
  v1::ExecuteRequest request = RoundRequest({value});
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  return request;
}

class GpuServicesTest : public GpuServerTest {
 protected:
  void Unsupport(OpId op, DataType lane) {
    factory(0).PrepareScripts([op, lane](NullScript& script) { script.Unsupport(op, lane); });
  }
};

TEST_F(GpuServicesTest, GpuRunsWhatItSupports) {
  Start(LossOptions(), 1);
  const Answer answer = server().Execute(GpuRequest(2.5f));
  ASSERT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.response.execution().device(), "null/0");
  EXPECT_EQ(answer.response.execution().attempts(), 1u);
  EXPECT_EQ(answer.response.execution().batch_size(), 1u);
  EXPECT_FALSE(answer.response.execution().verified());
  EXPECT_THAT(ValuesOf<float>(answer.response.payload()), ElementsAre(2.0f));
}

TEST_F(GpuServicesTest, ProcessorRunsWhatTheGpuDoesNotSupport) {
  Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32);
  Start(LossOptions(), 1);
  const Answer answer = server().Execute(GpuRequest(2.5f));
  ASSERT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.response.execution().device(), cpu_name());
  EXPECT_EQ(answer.response.execution().attempts(), 1u);
  EXPECT_THAT(ValuesOf<float>(answer.response.payload()), ElementsAre(2.0f));
  EXPECT_EQ(InfoOf(0).counters().faults(), 0u);
}

TEST_F(GpuServicesTest, SoftwareGpusAreOnlyUsedOnRequest) {
  Start(LossOptions(), 1);
  EXPECT_TRUE(InfoOf(0).software());
  for (const auto device :
       {v1::DEVICE_PREFERENCE_UNSPECIFIED, v1::DEVICE_PREFERENCE_AUTO, v1::DEVICE_PREFERENCE_CPU}) {
    v1::ExecuteRequest request = GpuRequest(1);
    request.set_device(device);
    EXPECT_EQ(server().Execute(request).response.execution().device(), cpu_name());
  }
}

TEST_F(GpuServicesTest, TellsWhatAGpuIs) {
  Start(LossOptions(), 1);
  const v1::DeviceInfo gpu = InfoOf(0);
  EXPECT_EQ(gpu.name(), "null/0");
  EXPECT_EQ(gpu.kind(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(gpu.runtime(), "script");
  EXPECT_EQ(gpu.driver(), "none 1.0");
  EXPECT_EQ(gpu.state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(CpuInfo().kind(), v1::DEVICE_KIND_CPU);
  EXPECT_EQ(Info().limits().max_batch_requests(), LossOptions().pool.batch.max_requests);
}

TEST_F(GpuServicesTest, ListsWhatEachDeviceSupports) {
  Unsupport(OpId::ELEMENT_WISE_ROUND, DataType::kFloat16);
  Start(LossOptions(), 1);
  grpc::ClientContext context;
  v1::ListOperatorsRequest request;
  request.set_name("ELEMENT_WISE_ROUND");
  v1::ListOperatorsResponse response;
  ASSERT_TRUE(server().stub().ListOperators(&context, request, &response).ok());
  ASSERT_THAT(response.operators(), SizeIs(1));
  const auto& devices = response.operators(0).devices();
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].device(), cpu_name());
  EXPECT_THAT(devices[0].data_types(), Contains(v1::DATA_TYPE_FLOAT16));
  EXPECT_EQ(devices[1].device(), "null/0");
  EXPECT_EQ(devices[1].tensor(), "InputTensor");
  EXPECT_THAT(devices[1].data_types(), Contains(v1::DATA_TYPE_FLOAT32));
  EXPECT_THAT(devices[1].data_types(), Not(Contains(v1::DATA_TYPE_FLOAT16)));
}

// What runs on the first GPU, one request at a time, in which order.
class OrderTest : public GpuServicesTest {
 protected:
  // Starts the server, and keeps its GPU busy.
  void StartBusy() {
    Start(OneByOneOptions(), 1);
    script(0).CloseGate();
    Send(GpuRequest(0), "first");
    script(0).WaitForBlocked(1);
    script(0).OnRun([this](std::span<const DeviceCall> calls) {
      MutexLock lock(order_mutex_);
      for (const DeviceCall& call : calls) {
        float value = 0;
        std::memcpy(&value, call.inputs[0].data(), sizeof(value));
        order_.push_back(value);
      }
    });
  }

  void Send(v1::ExecuteRequest request, const std::string& client) {
    calls_.emplace_back(server().stub(), std::move(request), std::chrono::minutes(1), client);
  }

  // Lets all run. The values of the requests in the order in which they ran, without the first.
  std::vector<float> RunAll() {
    EXPECT_TRUE(WaitForPending(calls_.size() - 1));
    script(0).OpenGate();
    for (PendingCall& call : calls_) EXPECT_TRUE(call.Get().status.ok());
    MutexLock lock(order_mutex_);
    return {order_.begin() + 1, order_.end()};
  }

 private:
  std::vector<PendingCall> calls_;
  Mutex order_mutex_;
  std::vector<float> order_ ABSL_GUARDED_BY(order_mutex_);
};

TEST_F(OrderTest, UrgentRequestsGoFirst) {
  StartBusy();
  const std::map<float, v1::Priority> requests = {{1, v1::PRIORITY_LOW},
                                                  {2, v1::PRIORITY_NORMAL},
                                                  {3, v1::PRIORITY_HIGH},
                                                  {4, v1::PRIORITY_UNSPECIFIED}};
  uint64_t sent = 0;
  for (const auto& [value, priority] : requests) {
    v1::ExecuteRequest request = GpuRequest(value);
    request.set_priority(priority);
    Send(request, "");
    ASSERT_TRUE(WaitForPending(++sent));
  }
  EXPECT_THAT(RunAll(), ElementsAre(3, 2, 4, 1));
}

TEST_F(OrderTest, AFloodDoesNotHoldUpOtherClients) {
  constexpr int kFlood = 60;
  constexpr int kOther = 10;
  StartBusy();
  for (int i = 0; i < kFlood; ++i) Send(GpuRequest(-1), "flood");
  ASSERT_TRUE(WaitForPending(kFlood));
  for (int i = 0; i < kOther; ++i) Send(GpuRequest(1), "other");
  const std::vector<float> order = RunAll();
  ASSERT_THAT(order, SizeIs(kFlood + kOther));
  // Two clients take turns, so every second request is the other's as long as it has any.
  int served = 0;
  for (int i = 0; i < 2 * kOther; ++i) served += order[static_cast<size_t>(i)] > 0 ? 1 : 0;
  EXPECT_GE(served, kOther - 1);
}

// The metadata tells clients apart: without it, both are the same.
TEST_F(OrderTest, RequestsOfOneClientGoByAge) {
  StartBusy();
  for (int i = 0; i < 10; ++i) Send(GpuRequest(-1), "");
  ASSERT_TRUE(WaitForPending(10));
  Send(GpuRequest(1), "");
  EXPECT_EQ(RunAll().back(), 1);
}

class SelfTestCallTest : public GpuServicesTest {
 protected:
  // Before the start, where it does not matter what is tested.
  void KeepShort() {
    for (int gpu : {0, 1}) {
      factory(gpu).PrepareScripts([](NullScript& script) {
        script.SupportOnly(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32);
      });
    }
  }

  grpc::Status SelfTest(const std::string& device, v1::SelfTestDevicesResponse& response) {
    grpc::ClientContext context;
    v1::SelfTestDevicesRequest request;
    request.set_device(device);
    return server().stub().SelfTestDevices(&context, request, &response);
  }

  v1::SelfTestDevicesResponse response_;
};

TEST_F(SelfTestCallTest, GoodDevicesPass) {
  Start(LossOptions());
  ASSERT_TRUE(SelfTest("", response_).ok());
  ASSERT_THAT(response_.results(), SizeIs(2));
  for (int gpu : {0, 1}) {
    const v1::SelfTestResult& result = response_.results(gpu);
    EXPECT_EQ(result.device(), InfoOf(gpu).name());
    EXPECT_TRUE(result.passed()) << result.failure();
    EXPECT_EQ(result.failure(), "");
    EXPECT_GT(result.cases(), 0u);
    EXPECT_GT(result.duration_ns(), 0u);
    EXPECT_EQ(InfoOf(gpu).state(), v1::DEVICE_STATE_READY);
  }
}

TEST_F(SelfTestCallTest, AWrongDeviceFailsAndGoesIntoQuarantine) {
  Start(LossOptions());
  script(1).CorruptAll(true);
  ASSERT_TRUE(SelfTest("null/1", response_).ok());
  ASSERT_THAT(response_.results(), SizeIs(1));
  EXPECT_EQ(response_.results(0).device(), "null/1");
  EXPECT_FALSE(response_.results(0).passed());
  EXPECT_THAT(response_.results(0).failure(), HasSubstr("instead of"));
  EXPECT_EQ(InfoOf(1).state(), v1::DEVICE_STATE_QUARANTINED);
  EXPECT_THAT(InfoOf(1).state_reason(), HasSubstr("self-test"));
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(HealthOf(kGpuHealthName), Health::kServing);
  // What is in quarantine cannot be tested.
  v1::SelfTestDevicesResponse again;
  ASSERT_TRUE(SelfTest("null/1", again).ok());
  EXPECT_FALSE(again.results(0).passed());
  EXPECT_THAT(again.results(0).failure(), HasSubstr("quarantined"));
}

TEST_F(SelfTestCallTest, UnknownDevicesAreNotFound) {
  Start(LossOptions());
  for (const std::string& name : {std::string("null/7"), cpu_name()}) {
    const grpc::Status status = SelfTest(name, response_);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(ReasonOf(status), "DEVICE_NOT_FOUND");
  }
}

TEST_F(SelfTestCallTest, OnlyOneAtATime) {
  KeepShort();
  Start(LossOptions());
  script(0).CloseGate();
  grpc::Status first;
  std::thread running([&] { first = SelfTest("null/0", response_); });
  script(0).WaitForBlocked(1);
  v1::SelfTestDevicesResponse response;
  const grpc::Status second = SelfTest("null/1", response);
  EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(second), "SELF_TEST_RUNNING");
  EXPECT_TRUE(MayRetry(second));
  script(0).OpenGate();
  running.join();
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(response_.results(0).passed());
}

// A test of all kernels that takes its time, and nobody who waits for it in the end.
class SelfTestEndTest : public SelfTestCallTest {
 protected:
  // Starts the server, and the test of its one GPU, and returns once that is under way.
  void StartTest() {
    Start(LossOptions(), 1);
    const uint64_t before = script(0).run_count();
    ASSERT_TRUE(SelfTest("", response_).ok());
    all_runs_ = script(0).run_count() - before;
    runs_before_ = script(0).run_count();
    script(0).OnRun([](auto) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
    test_ = std::thread([this] {
      v1::SelfTestDevicesResponse response;
      status_ = server().stub().SelfTestDevices(&context_, {}, &response);
    });
    while (script(0).run_count() == runs_before_) std::this_thread::yield();
  }

  // The runs of the test that nobody waits for.
  uint64_t runs() { return script(0).run_count() - runs_before_; }

  grpc::ClientContext context_;
  std::thread test_;
  grpc::Status status_;
  uint64_t all_runs_ = 0;
  uint64_t runs_before_ = 0;
};

TEST_F(SelfTestEndTest, ATestThatIsGivenUpEnds) {
  ASSERT_NO_FATAL_FAILURE(StartTest());
  context_.TryCancel();
  test_.join();
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::CANCELLED);
  // Another one may begin once it has ended.
  while (ReasonOf(SelfTest("null/7", response_)) == "SELF_TEST_RUNNING") std::this_thread::yield();
  EXPECT_LT(runs(), all_runs_);
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(InfoOf(0).state_reason(), "");
  EXPECT_EQ(InfoOf(0).counters().faults(), 0u);
  script(0).OnRun([](auto) {});
  v1::SelfTestDevicesResponse whole;
  ASSERT_TRUE(SelfTest("null/0", whole).ok());
  EXPECT_TRUE(whole.results(0).passed()) << whole.results(0).failure();
}

TEST_F(SelfTestEndTest, ADrainEndsIt) {
  ASSERT_NO_FATAL_FAILURE(StartTest());
  EXPECT_EQ(server().server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
  EXPECT_LT(runs(), all_runs_);
  test_.join();
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Whoever has the answer of one test may start the next.
TEST_F(SelfTestCallTest, OneAfterTheOther) {
  KeepShort();
  Start(LossOptions(), 1);
  for (int i = 0; i < 10; ++i) {
    v1::SelfTestDevicesResponse response;
    const grpc::Status status = SelfTest("null/0", response);
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
}

}  // namespace
}  // namespace opserve::testing
