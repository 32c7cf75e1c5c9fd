// Shutting down: what was accepted is answered, what comes later is refused, and no drain waits for
// ever.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "tests/integration/client_threads.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;

// Waits until the server refuses requests because it drains. Returns that status.
grpc::Status EventuallyRefuses(TestServer& server) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  grpc::Status status;
  do {
    status = server.Execute(RoundRequest({1}), milliseconds(20)).status;
  } while (status.error_code() != grpc::StatusCode::UNAVAILABLE &&
           std::chrono::steady_clock::now() < limit);
  return status;
}

TEST(DrainTest, AnIdleServerStopsAtOnce) {
  TestServer server;
  EXPECT_TRUE(server.Execute(RoundRequest({1})).status.ok());
  EXPECT_EQ(server.server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
  EXPECT_EQ(server.Execute(RoundRequest({1})).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(DrainTest, AnswersWhatWasAcceptedAndRefusesTheRest) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  TestServer server(options, {.cpu = Borrow(device)});
  std::vector<PendingCall> accepted;
  std::thread drain;
  {
    const GateCloser closer(device);
    accepted.push_back(server.Start(RoundRequest({1.5f})));
    ASSERT_TRUE(device.WaitForHeld(1));
    drain = std::thread([&server] {
      EXPECT_EQ(server.server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
    });
    const grpc::Status refused = EventuallyRefuses(server);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(ReasonOf(refused), "DRAINING");
    EXPECT_TRUE(MayRetry(refused));
  }
  drain.join();
  for (PendingCall& call : accepted) {
    const Answer answer = call.Get();
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(ValuesOf<float>(answer.response.payload()), std::vector<float>{2});
  }
}

// Meanwhile a client that keeps the server waiting is soon given up, but not one that waits itself.
TEST(DrainTest, AStreamThatIsNotReadIsAnswered) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  options.pollers = 1;
  options.drain_stall_limit = std::chrono::seconds(2);
  options.max_stream_bytes = 1 << 20;
  TestServer server(options, {.cpu = Borrow(device)});
  TestStream stalled(server.stub());
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(1, RoundRequest(Ramp(1000))));
  std::thread drain;
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(stream.Send(3, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(server.WaitForRequests(3));
    ASSERT_TRUE(stalled.Announce(1, RoundRequest(Ramp(1000))));
    ASSERT_TRUE(server.WaitForRequests(4));
    drain = std::thread([&server] {
      EXPECT_EQ(server.server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
    });
    EXPECT_EQ(stalled.WaitForEnd().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  EXPECT_TRUE(stream.SendPiece(1, BytesOf(Ramp(1000))));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(1000)));
  drain.join();
}

TEST(DrainTest, GivesUpAfterTheTimeout) {
  GatedDevice device;
  TestServer server({}, {.cpu = Borrow(device)});
  const GateCloser closer(device);
  PendingCall call = server.Start(RoundRequest({1}));
  ASSERT_TRUE(device.WaitForHeld(1));
  EXPECT_EQ(server.server().Drain(milliseconds(1)), DrainResult::kTimedOut);
  // The request was not dropped: it is answered as soon as the device is done.
  device.Open();
  EXPECT_TRUE(call.Get().status.ok());
}

TEST(DrainTest, CanBeInterrupted) {
  GatedDevice device;
  TestServer server({}, {.cpu = Borrow(device)});
  const GateCloser closer(device);
  PendingCall call = server.Start(RoundRequest({1}));
  ASSERT_TRUE(device.WaitForHeld(1));
  std::thread drain([&server] {
    EXPECT_EQ(server.server().Drain(std::chrono::hours(1)), DrainResult::kInterrupted);
  });
  server.server().InterruptDrain();
  drain.join();
  device.Open();
  EXPECT_TRUE(call.Get().status.ok());
}

// Every request that the device has run has been answered with OK, and every other with an error
// that says that the server did not take it.
TEST(DrainTest, LosesNothingUnderLoad) {
  constexpr int kClients = 12;
  GatedDevice device;
  TestServer server({}, {.cpu = Borrow(device)});
  const std::string address = server.server().addresses().front();
  std::atomic<int> answered{0};
  std::atomic<bool> refused{false};
  Mutex mutex;
  std::map<std::string, int> unexpected;
  ClientThreads clients(kClients, [&](int) {
    const auto stub = v1::OperatorService::NewStub(ConnectTo(address));
    const v1::ExecuteRequest request = RoundRequest(std::vector<float>(4096, 1.5f));
    for (;;) {
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      const grpc::Status status = stub->Execute(&context, request, &response);
      if (status.ok()) {
        ++answered;
        continue;
      }
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
        const MutexLock lock(mutex);
        ++unexpected[std::to_string(status.error_code()) + ": " + status.error_message()];
      }
      refused = true;
      return;
    }
  });
  while (answered < 20 * kClients && !refused) std::this_thread::yield();
  EXPECT_EQ(server.server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
  clients.Join();
  EXPECT_EQ(device.runs(), answered);
  EXPECT_GE(answered, 20 * kClients);
  EXPECT_THAT(unexpected, ::testing::IsEmpty());
}

// Clients that never cease to call, also while connections end, are told that the server is gone,
// and never that they gave a call up themselves.
TEST(DrainTest, CallsInALoopSeeNothingButUnavailable) {
  constexpr int kClients = 8;
  ServerOptions options;
  const std::string file = "/tmp/opserve-drain-" + std::to_string(getpid());
  options.listen = {"127.0.0.1:0", "unix:" + file};
  TestServer server(options);
  const std::vector<std::string> addresses = server.server().addresses();
  std::atomic<int> answered{0};
  std::atomic<bool> is_over{false};
  Mutex mutex;
  std::map<std::string, int> unexpected;
  ClientThreads clients(kClients, [&](int i) {
    // Calls that are counted, and others that nobody counts.
    const auto stub = v1::OperatorService::NewStub(ConnectTo(addresses[i / 2 % 2]));
    const v1::ExecuteRequest request = RoundRequest({1.5f});
    while (!is_over) {
      grpc::ClientContext context;
      v1::ExecuteResponse response;
      v1::GetServerInfoResponse info;
      const grpc::Status status = i % 2 == 0 ? stub->Execute(&context, request, &response)
                                             : stub->GetServerInfo(&context, {}, &info);
      if (status.ok()) {
        ++answered;
      } else if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
        const MutexLock lock(mutex);
        ++unexpected[std::to_string(status.error_code()) + ": " + status.error_message()];
      }
    }
  });
  while (answered < 20 * kClients) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(server.server().Drain(std::chrono::minutes(1)), DrainResult::kComplete);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  is_over = true;
  clients.Join();
  EXPECT_THAT(unexpected, ::testing::IsEmpty());
}

TEST(DrainTest, DestructionAnswersWhatIsQueued) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  options.admission.max_requests = 2;
  std::vector<PendingCall> calls;
  size_t refused = 0;
  {
    TestServer server(options, {.cpu = Borrow(device)});
    const GateCloser closer(device);
    calls.push_back(server.Start(RoundRequest({1})));
    ASSERT_TRUE(device.WaitForHeld(1));
    // Once one of these is refused, the other is queued.
    calls.push_back(server.Start(RoundRequest({1})));
    calls.push_back(server.Start(RoundRequest({1})));
    refused = WaitForAnyAfterFirst(calls);
    ASSERT_NE(refused, 0u);
  }
  EXPECT_TRUE(calls[0].Get().status.ok());
  EXPECT_TRUE(calls[3 - refused].Get().status.ok());
  EXPECT_EQ(device.runs(), 2);
}

}  // namespace
}  // namespace opserve::testing
