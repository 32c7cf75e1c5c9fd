// A greedy client beside a modest one: many names, and all of them in a hurry.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "server/base/small_file.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/test_server.h"
#include "tests/integration/wait_until.h"
#include "tests/testing/region_client.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

// Keeps in mind in which order calls run, by the sizes of their results.
class OrderedDevice final : public ComputeDevice {
 public:
  explicit OrderedDevice(GatedDevice& gated) : gated_(gated) {}

  const DeviceProfile& profile() const override { return gated_.profile(); }
  bool Supports(OpId op, DataType type) const override { return gated_.Supports(op, type); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    {
      const MutexLock lock(mutex_);
      for (const DeviceCall& call : calls) order_.push_back(call.invocation->output_bytes);
    }
    return gated_.Run(calls);
  }

  std::vector<uint64_t> order() const {
    const MutexLock lock(mutex_);
    return order_;
  }

 private:
  GatedDevice& gated_;
  mutable Mutex mutex_;
  std::vector<uint64_t> order_ ABSL_GUARDED_BY(mutex_);
};

// Works on a sequence for an hour, and until nobody waits for it.
class PatientDevice final : public ComputeDevice {
 public:
  PatientDevice(ComputeDevice& device, SimulatedClock& clock) : device_(device), clock_(clock) {}

  const DeviceProfile& profile() const override { return device_.profile(); }
  bool Supports(OpId op, DataType type) const override { return device_.Supports(op, type); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    if (calls[0].sequence == nullptr) return device_.Run(calls);
    clock_.Advance(std::chrono::hours(1));
    is_running_ = true;
    while (!*calls[0].sequence->stop) std::this_thread::yield();
    return absl::CancelledError("stopped");
  }

  bool is_running() const { return is_running_; }

 private:
  ComputeDevice& device_;
  SimulatedClock& clock_;
  std::atomic<bool> is_running_ = false;
};

class SharesTest : public ::testing::Test {
 protected:
  ~SharesTest() override {
    std::remove(policy_.c_str());
    std::remove(socket_.c_str());
  }

  // Whoever comes by TCP has what `share` says, others have everything.
  ServerOptions Limiting(const std::string& share, const std::string& share_of_users = "") const {
    EXPECT_TRUE(
        ReplaceFile(policy_, "[[client]]\nmatch = \"uid:*\"\nroles = [\"execute\", \"regions\"]\n" +
                                 share_of_users +
                                 "[[client]]\nmatch = \"address:127.0.0.1\"\n"
                                 "roles = [\"execute\", \"observe\", \"tensors\"]\n" +
                                 share)
            .ok());
    ServerOptions options;
    options.workers = 1;
    options.regions.is_on = false;
    options.access.policy_file = policy_;
    options.listen = {"127.0.0.1:0", "unix:" + socket_};
    return options;
  }

  static v1::ExecuteRequest Hurried() {
    v1::ExecuteRequest request = RoundRequest({1});
    request.set_priority(v1::PRIORITY_HIGH);
    return request;
  }

  // Waits until `count` requests wait for the processor. False after a minute.
  static bool WaitForPending(Stub& stub, uint64_t count) {
    return WaitUntil([&] {
      grpc::ClientContext context;
      v1::GetServerInfoResponse info;
      return stub.GetServerInfo(&context, {}, &info).ok() &&
             info.devices(0).pending_requests() == count;
    });
  }

  static grpc::Status Create(Stub& stub, const std::string& name) {
    grpc::ClientContext context;
    context.AddMetadata("opserve-client", name);
    v1::CreateTensorRequest request;
    request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_desc()->add_sizes(1);
    v1::CreateTensorResponse response;
    return stub.CreateTensor(&context, request, &response);
  }

  const std::string policy_ =
      ::testing::TempDir() + "opserve-shares-" + std::to_string(getpid()) + ".toml";
  const std::string socket_ =
      ::testing::TempDir() + "opserve-shares-" + std::to_string(getpid()) + ".sock";
  GatedDevice gated_;
  OrderedDevice device_{gated_};
};

TEST_F(SharesTest, NamesAndPrioritiesAreOfNoUseToALimitedClient) {
  TestServer server(Limiting("max_priority = \"normal\"\n"), {.cpu = Borrow(device_)});
  const auto modest = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(gated_);
    calls.push_back(server.Start(Hurried()));
    ASSERT_TRUE(gated_.WaitForHeld(1));
    for (int i = 0; i < 30; ++i) {
      calls.emplace_back(server.stub(), Hurried(), std::chrono::minutes(1),
                         "name-" + std::to_string(i));
    }
    ASSERT_TRUE(server.WaitForRequests(31));
    for (int i = 0; i < 3; ++i) {
      calls.emplace_back(*modest, RoundRequest({1, 2}), std::chrono::minutes(1));
    }
    // Those that are admitted may be on their way to the queue.
    ASSERT_TRUE(WaitForPending(server.stub(), 33));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
  const std::vector<uint64_t> order = device_.order();
  ASSERT_EQ(order.size(), 34u);
  // The first ran alone, and of those that waited every second one was of the modest client.
  EXPECT_EQ(std::count(order.begin() + 1, order.begin() + 8, 2 * sizeof(float)), 3);
}

TEST_F(SharesTest, AnIdentityHoldsWhatThePolicySays) {
  TestServer server(Limiting("max_concurrent_requests = 2\n"), {.cpu = Borrow(device_)});
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(gated_);
    calls.push_back(server.Start(Hurried()));
    calls.emplace_back(server.stub(), Hurried(), std::chrono::minutes(1), "another name");
    ASSERT_TRUE(server.WaitForRequests(2));
    const grpc::Status refused = server.Execute(Hurried()).status;
    EXPECT_EQ(ReasonOf(refused), "TOO_MANY_REQUESTS");
    EXPECT_TRUE(MayRetry(refused));
    calls.emplace_back(*other, RoundRequest({1}), std::chrono::minutes(1));
    ASSERT_TRUE(server.WaitForRequests(3));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
}

TEST_F(SharesTest, AnIdentityBeginsRequestsAsFastAsThePolicySays) {
  // One in a thousand seconds: the second waits for as long.
  TestServer server(Limiting("max_requests_per_second = 0.001\n"));
  EXPECT_TRUE(server.Execute(Hurried()).status.ok());
  const grpc::Status refused = server.Execute(Hurried()).status;
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  EXPECT_TRUE(MayRetry(refused));
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(PendingCall(*other, Hurried(), std::chrono::minutes(1)).Get().status.ok());
  }
}

TEST_F(SharesTest, AnIdentityHasAsManyStreamsAsThePolicySays) {
  TestServer server(Limiting("max_streams = 1\n"));
  grpc::ClientContext first_context;
  const auto first = server.stub().ExecuteStream(&first_context);
  v1::ExecuteStreamRequest message;
  v1::ExecuteStreamResponse answer;
  *message.mutable_request() = RoundRequest({1});
  message.mutable_payloads()->Swap(message.mutable_request()->mutable_payloads());
  ASSERT_TRUE(first->Write(message));
  ASSERT_TRUE(first->Read(&answer));
  {
    grpc::ClientContext context;
    context.AddMetadata("opserve-client", "another name");
    const grpc::Status refused = server.stub().ExecuteStream(&context)->Finish();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(ReasonOf(refused), "TOO_MANY_REQUESTS");
    EXPECT_TRUE(MayRetry(refused));
  }
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  grpc::ClientContext other_context;
  const auto stream = other->ExecuteStream(&other_context);
  ASSERT_TRUE(stream->Write(message));
  EXPECT_TRUE(stream->Read(&answer));
  EXPECT_TRUE(server.Execute(Hurried()).status.ok());
  for (auto* const each : {first.get(), stream.get()}) {
    each->WritesDone();
    EXPECT_TRUE(each->Finish().ok());
  }
}

TEST_F(SharesTest, AnIdentityTakesAsMuchTimeOfDevicesAsThePolicySays) {
  SimulatedClock clock{SteadyClock().Now()};
  TestServer server(Limiting("max_device_ms_per_second = 1\n"),
                    {.clock = &clock, .cpu = Borrow(device_)});
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  // Beyond what the clock is advanced by.
  constexpr std::chrono::hours kLong{2};
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(gated_);
    calls.push_back(server.Start(Hurried(), kLong));
    ASSERT_TRUE(gated_.WaitForHeld(1));
    // What has not run yet costs nothing yet.
    calls.push_back(server.Start(Hurried(), kLong));
    ASSERT_TRUE(server.WaitForRequests(2));
    clock.Advance(std::chrono::hours(1));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
  const grpc::Status refused = server.Execute(Hurried(), kLong).status;
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  EXPECT_TRUE(MayRetry(refused));
  EXPECT_TRUE(PendingCall(*other, Hurried(), kLong).Get().status.ok());
}

TEST_F(SharesTest, WhatAnIdentityGivesUpWhileItRunsTakesTimeOfDevices) {
  SimulatedClock clock{SteadyClock().Now()};
  PatientDevice device(gated_, clock);
  TestServer server(Limiting("max_device_ms_per_second = 1\n"),
                    {.clock = &clock, .cpu = Borrow(device)});
  grpc::ClientContext context;
  v1::ExecuteSequenceResponse response;
  auto given_up = std::async(std::launch::async, [&] {
    return server.stub().ExecuteSequence(&context, ChoiceRequest({1}), &response);
  });
  EXPECT_TRUE(WaitUntil([&] { return device.is_running(); }));
  context.TryCancel();
  EXPECT_EQ(given_up.get().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(server.WaitForRequests(0));
  const grpc::Status refused = server.Execute(Hurried(), std::chrono::hours(2)).status;
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  EXPECT_TRUE(MayRetry(refused));
}

TEST_F(SharesTest, AnIdentityKeepsAsManyTensorsAsThePolicySays) {
  // More than a client may have by itself, and less than two clients.
  ServerOptions options = Limiting("max_resident_tensors = 3\n");
  options.tensors.max_tensors_per_client = 2;
  TestServer server(options);
  for (const char* name : {"a", "a", "a"}) EXPECT_TRUE(Create(server.stub(), name).ok());
  const grpc::Status refused = Create(server.stub(), "b");
  EXPECT_EQ(ReasonOf(refused), "TENSOR_QUOTA");
  EXPECT_TRUE(MayRetry(refused));
}

TEST_F(SharesTest, AnIdentityKeepsAsManyBytesAsThePolicySays) {
  TestServer server(Limiting("max_resident_bytes = 4096\n"));
  EXPECT_TRUE(Create(server.stub(), "a").ok());
  EXPECT_EQ(ReasonOf(Create(server.stub(), "b")), "TENSOR_QUOTA");
  // Also who has none under his name is told what counts.
  for (const char* name : {"a", "b"}) {
    grpc::ClientContext context;
    context.AddMetadata("opserve-client", name);
    v1::ListTensorsResponse list;
    EXPECT_TRUE(server.stub().ListTensors(&context, {}, &list).ok());
    EXPECT_EQ(list.max_bytes(), 4096u);
    EXPECT_GT(list.bytes(), 0u);
  }
}

TEST_F(SharesTest, AnAddressHasAsManyConnectionsAsThePolicySays) {
  TestServer server(Limiting("max_connections = 1\n"));
  EXPECT_TRUE(server.Execute(Hurried()).status.ok());
  const std::string address = "127.0.0.1:" + std::to_string(server.server().port());
  const auto second = v1::OperatorService::NewStub(ConnectTo(address));
  EXPECT_EQ(PendingCall(*second, Hurried(), std::chrono::minutes(1)).Get().status.error_code(),
            grpc::StatusCode::UNAVAILABLE);
  const EdgeCounters counters = server.server().connections();
  EXPECT_GE(counters.closed[static_cast<size_t>(CloseReason::kTooManyOfOne)], 1u);
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  EXPECT_TRUE(PendingCall(*other, Hurried(), std::chrono::minutes(1)).Get().status.ok());
  EXPECT_TRUE(server.Execute(Hurried()).status.ok());
}

TEST_F(SharesTest, AUserSharesAsManyRegionsAsThePolicySays) {
  ServerOptions options = Limiting("", "max_regions = 2\nmax_region_bytes = 8192\n");
  options.regions.is_on = true;
  TestServer server(options);
  const RegionClient first(socket_ + ".regions");
  first.Register(SharedMemory(4096));
  const RegionClient second(socket_ + ".regions");
  const UniqueFd large = MakeMemfd(8192);
  EXPECT_EQ(ReasonOf(second.Ask(RegisterPacket(8192), large.get())), "REGION_QUOTA");
  second.Register(SharedMemory(1));
  const UniqueFd third = MakeMemfd(1);
  EXPECT_EQ(ReasonOf(second.Ask(RegisterPacket(1), third.get())), "REGION_QUOTA");
}

}  // namespace
}  // namespace opserve::testing
