// Admission, deadlines and cancellation. A gate in the device keeps requests queued for as long as
// a test needs, so nothing here depends on timing.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kRequestBytes = 8;  // of RoundRequest with one value: input and output

ServerOptions OneWorker(AdmissionLimits admission) {
  ServerOptions options;
  options.workers = 1;
  options.admission = admission;
  return options;
}

// Fills a fresh `server`, which has room for two requests, and expects `reason` for every further
// one. Nothing of them may stay in the counters.
void FillAndOverfill(TestServer& server, GatedDevice& device, const std::string& reason) {
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(device);
    calls.push_back(server.Start(RoundRequest({1})));
    ASSERT_TRUE(device.WaitForHeld(1));
    // Which of these two comes second is up to the network; exactly one finds no room.
    calls.push_back(server.Start(RoundRequest({2})));
    calls.push_back(server.Start(RoundRequest({3})));
    const size_t late = WaitForAnyAfterFirst(calls);
    ASSERT_NE(late, 0u);
    for (int i = 0; i < 20; ++i) {
      const grpc::Status refused =
          i == 0 ? calls[late].Get().status : server.Execute(RoundRequest({4})).status;
      EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      EXPECT_EQ(ReasonOf(refused), reason);
      EXPECT_TRUE(MayRetry(refused));
    }
    calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(late));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
}

TEST(LimitsTest, RefusesMoreRequestsThanAllowed) {
  GatedDevice device;
  TestServer server(OneWorker({.max_requests = 2}), {.cpu = Borrow(device)});
  FillAndOverfill(server, device, "TOO_MANY_REQUESTS");
}

TEST(LimitsTest, RefusesMoreBytesThanAllowed) {
  GatedDevice device;
  TestServer server(OneWorker({.max_bytes = 2 * kRequestBytes}), {.cpu = Borrow(device)});
  FillAndOverfill(server, device, "TOO_MANY_BYTES");
}

// By the trailer that tells gRPC's own retries when to come again, or not at all.
TEST(LimitsTest, RefusalsTellWhenToTryAgain) {
  GatedDevice device;
  TestServer server(OneWorker({.max_requests = 1}), {.cpu = Borrow(device)});
  const auto pushback = [&](const v1::ExecuteRequest& request) {
    grpc::ClientContext context;
    v1::ExecuteResponse response;
    EXPECT_FALSE(server.stub().Execute(&context, request, &response).ok());
    std::vector<std::string> values;
    const auto [begin, end] =
        context.GetServerTrailingMetadata().equal_range("grpc-retry-pushback-ms");
    for (auto at = begin; at != end; ++at) {
      values.emplace_back(at->second.data(), at->second.size());
    }
    return values;
  };
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(device);
    calls.push_back(server.Start(RoundRequest({1})));
    ASSERT_TRUE(device.WaitForHeld(1));
    EXPECT_THAT(pushback(RoundRequest({2})), ::testing::ElementsAre("50"));
  }
  EXPECT_TRUE(calls[0].Get().status.ok());
  // A full server does not even look at a request.
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_THAT(pushback(v1::ExecuteRequest()), ::testing::IsEmpty());
}

TEST(LimitsTest, RefusesForGoodWhatExceedsTheWholeBudget) {
  TestServer server(OneWorker({.max_bytes = kRequestBytes}));
  const grpc::Status status = server.Execute(RoundRequest({1, 2})).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "REQUEST_EXCEEDS_BUDGET");
  EXPECT_FALSE(MayRetry(status));
  EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
}

TEST(LimitsTest, CountsTheResponseBeforeMakingIt) {
  ServerOptions options;
  options.max_message_bytes = 1 << 20;
  TestServer server(options);
  v1::ExecuteRequest request = RoundRequest({1.5f});
  v1::TensorDesc& input = *request.mutable_inputs(0);
  input.set_sizes(0, 1 << 20);  // one value, broadcast to 4 MiB
  input.add_strides(0);
  const grpc::Status status = server.Execute(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "RESPONSE_TOO_LARGE");
  EXPECT_FALSE(MayRetry(status));
}

TEST(LimitsTest, RefusesMessagesAboveTheLimit) {
  ServerOptions options;
  options.max_message_bytes = 1 << 16;
  TestServer server(options);
  const grpc::Status status = server.Execute(RoundRequest(std::vector<float>(1 << 15))).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(server.Execute(RoundRequest(std::vector<float>(1 << 13))).status.ok());
}

// A small compressed message can inflate to any size before gRPC looks at it.
TEST(LimitsTest, RefusesCompressedRequests) {
  TestServer server;
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    v1::ExecuteResponse response;
    const auto request = RoundRequest(std::vector<float>(1 << 20));
    EXPECT_EQ(server.stub().Execute(&context, request, &response).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
  }
}

TEST(LimitsTest, NeverStartsWhatMissedItsDeadline) {
  GatedDevice device;
  TestServer server(OneWorker({.max_requests = 2}), {.cpu = Borrow(device)});
  {
    const GateCloser closer(device);
    PendingCall first = server.Start(RoundRequest({1}));
    ASSERT_TRUE(device.WaitForHeld(1));
    // On a slow machine its time may be over before the server has it.
    bool was_queued = false;
    for (std::chrono::seconds timeout{1}; !was_queued; timeout *= 2) {
      ASSERT_LT(timeout, std::chrono::seconds(30));
      PendingCall second = server.Start(RoundRequest({2}), timeout);
      while (!was_queued && !second.done()) {
        was_queued = server.server().usage().requests == 2;
        std::this_thread::yield();
      }
      EXPECT_EQ(second.Get().status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
      // Its place is free again although the worker is still busy.
      ASSERT_TRUE(server.WaitForRequests(1));
    }
    device.Open();
    EXPECT_TRUE(first.Get().status.ok());
  }
  ASSERT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(device.runs(), 1);
}

TEST(LimitsTest, NeverStartsWhatIsCancelled) {
  GatedDevice device;
  TestServer server(OneWorker({.max_requests = 2}), {.cpu = Borrow(device)});
  {
    const GateCloser closer(device);
    PendingCall first = server.Start(RoundRequest({1}));
    ASSERT_TRUE(device.WaitForHeld(1));
    PendingCall second = server.Start(RoundRequest({2}));
    ASSERT_TRUE(server.WaitForRequests(2));
    second.TryCancel();
    EXPECT_EQ(second.Get().status.error_code(), grpc::StatusCode::CANCELLED);
    ASSERT_TRUE(server.WaitForRequests(1));
    device.Open();
    EXPECT_TRUE(first.Get().status.ok());
  }
  ASSERT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(device.runs(), 1);
}

// The request is already in the device: it runs to its end, and its place is free again.
TEST(LimitsTest, SurvivesTheCancellationOfWhatIsRunning) {
  GatedDevice device;
  TestServer server(OneWorker({.max_requests = 1}), {.cpu = Borrow(device)});
  {
    const GateCloser closer(device);
    PendingCall call = server.Start(RoundRequest({1}));
    ASSERT_TRUE(device.WaitForHeld(1));
    call.TryCancel();
    EXPECT_EQ(call.Get().status.error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_EQ(server.server().usage().requests, 1u);
  }
  ASSERT_TRUE(server.WaitForRequests(0));
  EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
}

// An answer of this size waits for the thread of its connection, which may hear of the cancellation
// first.
TEST(LimitsTest, LargeAnswersSurviveTheCancellationOfTheirCalls) {
  GatedDevice device;
  TestServer server(OneWorker({}), {.cpu = Borrow(device)});
  const std::vector<float> values(2 << 20, 1.75f);
  const std::vector<float> rounded(values.size(), 2);
  for (int round = 0; round < 4; ++round) {
    std::vector<PendingCall> calls;
    {
      const GateCloser closer(device);
      for (int i = 0; i < 3; ++i) calls.push_back(server.Start(RoundRequest(values)));
      ASSERT_TRUE(device.WaitForHeld(1));
      calls[static_cast<size_t>(round % 3)].TryCancel();
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      const Answer answer = calls[i].Get();
      if (i == static_cast<size_t>(round % 3)) {
        EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::CANCELLED);
      } else {
        ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
        EXPECT_TRUE(ValuesOf<float>(answer.response.payload()) == rounded);
      }
    }
    ASSERT_TRUE(server.WaitForRequests(0));
  }
  EXPECT_EQ(server.server().usage().bytes, 0u);
}

}  // namespace
}  // namespace opserve::testing
