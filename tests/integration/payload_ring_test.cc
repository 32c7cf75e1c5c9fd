// Inputs that come through a ring of shared memory while they are computed, from clients that keep
// to the rules, and from others.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "proto/ring/ring_counter.h"
#include "server/base/clock.h"
#include "tests/integration/memory_fixture.h"
#include "tests/integration/test_stream.h"
#include "tests/testing/null_device.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// SUBTRACT of two tensors that come through a ring in `memory_`, behind which the result goes.
class PayloadRingTest : public MemoryTest {
 protected:
  static constexpr uint64_t kRun = 1024;
  static constexpr uint32_t kRuns = 4;
  static constexpr uint32_t kRunsInAll = 100;
  // The last run is short.
  static constexpr uint32_t kCount = (kRunsInAll - 1) * kRun + 77;
  static constexpr uint64_t kRoomBytes = kRuns * kRun * sizeof(float);
  static constexpr uint64_t kRingBytes = kRingCounterBytes + 2 * kRoomBytes;

  PayloadRingTest() {
    for (uint32_t i = 0; i < kCount; ++i) {
      a_.push_back(static_cast<float>(i) * 3);
      b_.push_back(static_cast<float>(i) + 0.5f);
      difference_.push_back(a_[i] - b_[i]);
    }
  }

  // It uses the clock.
  ~PayloadRingTest() override { server_.reset(); }

  // The server waits for as long as the clock stands still.
  void Connect(ServerEnvironment environment = {}) {
    environment.clock = &clock_;
    Start(environment);
    client_ = std::make_unique<RegionClient>(region_socket());
    region_ = client_->Register(memory_);
  }

  v1::ExecuteRequest Request(bool has_place = true) const {
    v1::ExecuteRequest request;
    request.set_operator_("ELEMENT_WISE_SUBTRACT");
    for (int i = 0; i < 2; ++i) {
      AddInput(request, v1::DATA_TYPE_FLOAT32, {kCount}, "");
      request.mutable_ring()->add_payload_bytes(kCount * sizeof(float));
    }
    request.clear_payloads();
    *request.mutable_ring()->mutable_memory() = InRegion(region_, 0, kRingBytes).region();
    request.mutable_ring()->set_run_elements(kRun);
    request.mutable_ring()->set_runs(kRuns);
    if (has_place) {
      *request.mutable_output_place() =
          InRegion(region_, AlignForRing(kRingBytes), kCount * sizeof(float));
    }
    return request;
  }

  RingCounters& counters() { return *reinterpret_cast<RingCounters*>(memory_.data()); }
  void Reset() {
    counters().filled.Reset();
    counters().emptied.Reset();
  }

  void PutRun(uint32_t run) {
    const uint64_t first = run * kRun;
    const uint64_t bytes = std::min<uint64_t>(kRun, kCount - first) * sizeof(float);
    std::byte* const room = memory_.data() + kRingCounterBytes + run % kRuns * kRun * sizeof(float);
    std::memcpy(room, &a_[first], bytes);
    std::memcpy(room + kRoomBytes, &b_[first], bytes);
    counters().filled.Publish(run + 1);
  }

  // Puts run after run there, as the server makes room.
  void PutRuns(uint32_t count) {
    for (uint32_t run = 0; run < count; ++run) {
      uint32_t emptied = counters().emptied.count();
      while (run - emptied >= kRuns) {
        emptied = counters().emptied.WaitWhile(emptied, std::chrono::minutes(1));
      }
      PutRun(run);
    }
  }

  Floats Result() const { return ValuesAt(memory_, AlignForRing(kRingBytes), kCount); }

  SimulatedClock clock_{SteadyClock().Now()};
  Floats a_, b_, difference_;
  const SharedMemory memory_{AlignForRing(kRingBytes) + kCount * sizeof(float)};
  std::unique_ptr<RegionClient> client_;
  std::string region_;
};

TEST_F(PayloadRingTest, RunsAreComputedAsTheyCome) {
  Connect();
  for (const bool has_place : {true, false}) {
    SCOPED_TRACE(has_place);
    Reset();
    PendingCall call = server_->Start(Request(has_place));
    PutRuns(kRunsInAll);
    const Answer answer = call.Get();
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_THAT(answer.response.output().sizes(), ElementsAre(kCount));
    EXPECT_EQ(counters().emptied.count(), kRunsInAll);
    EXPECT_EQ(has_place ? Result() : ValuesOf<float>(answer.response.payload()), difference_);
  }
  EXPECT_TRUE(server_->WaitForRequests(0));
  EXPECT_EQ(server_->server().usage().bytes, 0u);
}

TEST_F(PayloadRingTest, NothingWaitsForWhatIsThere) {
  Connect();
  const Floats values = {-1.5f, 0.5f, 2.5f};
  std::memcpy(memory_.data() + kRingCounterBytes, values.data(), 12);
  counters().filled.Publish(1);
  v1::ExecuteRequest request = RoundRequest(values);
  request.clear_payloads();
  request.mutable_ring()->add_payload_bytes(12);
  *request.mutable_ring()->mutable_memory() = InRegion(region_, 0, 192).region();
  request.mutable_ring()->set_run_elements(3);
  request.mutable_ring()->set_runs(1);
  const Answer answer = server_->Execute(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(ValuesOf<float>(answer.response.payload()), (Floats{-2, 0, 2}));
}

// What the server says of requests that came in messages.
TEST_F(PayloadRingTest, ClientsAreToldWhereARingIsOfUse) {
  Connect();
  const auto takes_ring = [&](const v1::ExecuteRequest& request) {
    const Answer answer = server_->Execute(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.response.takes_ring();
  };
  v1::ExecuteRequest request = RoundRequest(Floats(kCount));
  EXPECT_TRUE(takes_ring(request));
  EXPECT_FALSE(takes_ring(RoundRequest(Floats(100)))) << "too small to gain by it";
  request.set_operator_("ACTIVATION_SOFTMAX");
  request.clear_attributes();
  EXPECT_FALSE(takes_ring(request)) << "its elements need those of other places";
  request = RoundRequest(Floats(kCount));
  request.mutable_inputs(0)->clear_sizes();
  for (const uint32_t size : {2u, kCount}) request.mutable_inputs(0)->add_sizes(size);
  for (const uint32_t stride : {0u, 1u}) request.mutable_inputs(0)->add_strides(stride);
  EXPECT_FALSE(takes_ring(request)) << "its input is repeated";
}

TEST_F(PayloadRingTest, WhatAGpuMayRunTakesNone) {
  NullDeviceFactory gpus(NullProfile("gpu", true));
  Connect({.find_gpus = gpus.finder()});
  v1::ExecuteRequest request = RoundRequest(Floats(kCount));
  EXPECT_FALSE(server_->Execute(request).response.takes_ring());
  request.set_device(v1::DEVICE_PREFERENCE_CPU);
  EXPECT_TRUE(server_->Execute(request).response.takes_ring());
  EXPECT_THAT(ViolationsOf(server_->Execute(Request()).status),
              ElementsAre(StartsWith("ring: A GPU may run the request")));
  request = Request();
  request.set_device(v1::DEVICE_PREFERENCE_CPU);
  PendingCall call = server_->Start(request);
  PutRuns(kRunsInAll);
  EXPECT_TRUE(call.Get().status.ok());
  EXPECT_EQ(Result(), difference_);
}

TEST_F(PayloadRingTest, AClientThatDoesNotGoOnIsRefused) {
  options_.workers = 1;
  Connect();
  for (const uint32_t runs : {0u, 1u, 50u}) {
    SCOPED_TRACE(runs);
    Reset();
    PendingCall call = server_->Start(Request());
    PutRuns(runs);
    // It has the only worker.
    PendingCall other = server_->Start(RoundRequest({2.5f}));
    while (!call.done()) {
      clock_.Advance(std::chrono::milliseconds(1));
      counters().emptied.WaitWhile(counters().emptied.count(), std::chrono::milliseconds(1));
    }
    const grpc::Status slow = call.Get().status;
    EXPECT_EQ(ReasonOf(slow), "UPLOAD_TOO_SLOW");
    EXPECT_THAT(slow.error_message(), HasSubstr("of 100 runs came through the ring"));
    EXPECT_TRUE(other.Get().status.ok());
  }
  // The device is none the worse for it.
  EXPECT_EQ(Info().devices(0).counters().faults(), 0u);
  EXPECT_TRUE(server_->WaitForRequests(0));
  EXPECT_EQ(server_->server().usage().bytes, 0u);
}

TEST_F(PayloadRingTest, WhatTheRulesSay) {
  Connect();
  const auto refusal = [&](const std::function<void(v1::ExecuteRequest&)>& spoil) {
    v1::ExecuteRequest request = Request();
    spoil(request);
    return ViolationsOf(server_->Execute(request).status);
  };
  const auto ring = [](v1::ExecuteRequest& request) { return request.mutable_ring(); };
  EXPECT_THAT(refusal([](auto& request) { request.add_payloads("1234"); }),
              ElementsAre(StartsWith("ring: All inputs come through the ring")));
  EXPECT_THAT(refusal([](auto& request) { request.add_input_places(); }),
              ElementsAre(StartsWith("ring: All inputs come through the ring")));
  EXPECT_THAT(refusal([&](auto& request) { ring(request)->mutable_payload_bytes()->RemoveLast(); }),
              ElementsAre(StartsWith("payloads: ")));
  EXPECT_THAT(refusal([&](auto& request) { ring(request)->set_payload_bytes(0, 8); }),
              ElementsAre(StartsWith("ring.payload_bytes[0]: ")));
  EXPECT_THAT(refusal([&](auto& request) {
                for (int i = 0; i < 7; ++i) ring(request)->add_payload_bytes(4);
              }),
              ElementsAre(StartsWith("ring.payload_bytes: The number of payloads (9)")));
  EXPECT_THAT(
      refusal([&](auto& request) { ring(request)->mutable_memory()->set_bytes(UINT64_MAX); }),
      ElementsAre(StartsWith("ring.memory.bytes: ")));
  EXPECT_THAT(refusal([&](auto& request) { ring(request)->mutable_memory()->set_bytes(4096); }),
              ElementsAre(StartsWith("ring.memory.bytes: ")));
  EXPECT_THAT(refusal([&](auto& request) { ring(request)->set_runs(0); }),
              ElementsAre(StartsWith("ring.runs: ")));
  EXPECT_THAT(refusal([](auto& request) { request.set_device_lease("lease"); }),
              ElementsAre(StartsWith("ring: A GPU may run the request")));
  EXPECT_THAT(refusal([&](auto& request) {
                request.mutable_inputs(1)->add_strides(0);
                ring(request)->set_payload_bytes(1, sizeof(float));
              }),
              ElementsAre(StartsWith("ring: Payloads come through a ring only where")));
  v1::ExecuteRequest unknown = Request();
  unknown.mutable_ring()->mutable_memory()->set_region("nobody's");
  EXPECT_EQ(ReasonOf(server_->Execute(unknown).status), "REGION_NOT_FOUND");

  TestStream stream(server_->stub());
  ASSERT_TRUE(stream.Send(1, Request()));
  ASSERT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_THAT(stream.answer(1).error.message(), HasSubstr("with Execute alone"));
  EXPECT_TRUE(stream.Finish().ok());
}

// The server waits for the second run when its client gives the call up, or the region.
TEST_F(PayloadRingTest, CallsAndRegionsMayBeGivenUp) {
  Connect();
  PendingCall cancelled = server_->Start(Request());
  PutRuns(1);
  while (counters().emptied.WaitWhile(0, std::chrono::minutes(1)) == 0) continue;
  cancelled.TryCancel();
  EXPECT_EQ(cancelled.Get().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server_->WaitForRequests(0));

  Reset();
  PendingCall call = server_->Start(Request());
  PutRuns(1);
  while (counters().emptied.WaitWhile(0, std::chrono::minutes(1)) == 0) continue;
  EXPECT_EQ(ReasonOf(client_->Ask(UnregisterPacket(region_))), "OK");
  for (uint32_t run = 1; run < kRunsInAll; ++run) {
    while (run - counters().emptied.count() >= kRuns) std::this_thread::yield();
    PutRun(run);
  }
  EXPECT_TRUE(call.Get().status.ok());
  EXPECT_EQ(Result(), difference_);
  EXPECT_EQ(ReasonOf(server_->Execute(Request()).status), "REGION_NOT_FOUND");
}

}  // namespace
}  // namespace opserve::testing
