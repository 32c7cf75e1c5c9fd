// ExecuteStream over a real connection: order, pieces, refusals, cancellation, flow control, and
// what ends a stream.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/execute/answer_queue.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

ServerOptions OneWorker() {
  ServerOptions options;
  options.workers = 1;
  return options;
}

// Returns once the only poller is done with all that came before, whatever the devices do.
void WaitForPoller(TestStream& stream) {
  constexpr uint64_t kId = 1000;
  v1::ExecuteRequest wrong = RoundRequest({1});
  wrong.set_operator_("NO_SUCH_OPERATOR");
  ASSERT_TRUE(stream.Send(kId, std::move(wrong)));
  EXPECT_EQ(stream.ReadAnswer(), kId);
}

TEST(StreamTest, AnswersManyRequests) {
  TestServer server;
  TestStream stream(server.stub());
  for (uint64_t id = 0; id < 100; ++id) ASSERT_TRUE(stream.Send(id, RoundRequest(Ramp(id + 1))));
  for (int i = 0; i < 100; ++i) stream.ReadAnswer();
  for (uint64_t id = 0; id < 100; ++id) {
    EXPECT_EQ(stream.answer(id).payload, Rounded(Ramp(id + 1))) << id;
    EXPECT_EQ(stream.answer(id).messages, 1);
    EXPECT_FALSE(stream.answer(id).response.execution().device().empty());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_TRUE(server.WaitForRequests(0));
}

TEST(StreamTest, TensorsLargerThanAMessageComeAndGoInPieces) {
  ServerOptions options;
  options.max_message_bytes = 2 << 20;
  TestServer server(options);
  const std::vector<float> values = Ramp(2'000'000);
  v1::ExecuteRequest request = RoundRequest(values);
  const std::string payload = request.payloads(0);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(7, std::move(request)));
  ASSERT_TRUE(stream.Send(8, RoundRequest({0.5f})));  // between the pieces of the other
  for (size_t sent = 0; sent < payload.size(); sent += 700'001) {
    ASSERT_TRUE(stream.SendPiece(7, payload.substr(sent, 700'001)));
  }
  stream.ReadAnswer();
  stream.ReadAnswer();
  EXPECT_EQ(stream.answer(7).payload, Rounded(values));
  EXPECT_EQ(stream.answer(7).messages,
            static_cast<int>((payload.size() + kStreamPieceBytes - 1) / kStreamPieceBytes));
  EXPECT_EQ(stream.answer(8).payload, Rounded({0.5f}));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, AnswersComeInTheOrderInWhichTheyAreDone) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 2;
  TestServer server(options, {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(1, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(device.WaitForHeld(1));
    v1::ExecuteRequest wrong = RoundRequest({1});
    wrong.set_operator_("NO_SUCH_OPERATOR");
    ASSERT_TRUE(stream.Send(2, std::move(wrong)));
    EXPECT_EQ(stream.ReadAnswer(), 2u);
  }
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, ARefusedRequestLeavesTheOthersAlone) {
  TestServer server;
  TestStream stream(server.stub());
  v1::ExecuteRequest wrong = RoundRequest(Ramp(1000));
  wrong.mutable_inputs(0)->set_sizes(0, 999);
  const std::string payload = wrong.payloads(0);
  ASSERT_TRUE(stream.Announce(1, wrong));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).error.code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(ReasonOf(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "",
                                  stream.answer(1).error.SerializeAsString())),
            "INVALID_REQUEST");
  // Its pieces were on their way.
  ASSERT_TRUE(stream.SendPiece(1, payload.substr(0, 1500)));
  ASSERT_TRUE(stream.Send(2, RoundRequest({2.5f})));
  ASSERT_TRUE(stream.SendPiece(1, payload.substr(1500)));
  ASSERT_TRUE(stream.Send(1, RoundRequest({3.5f})));  // the id is free again
  stream.ReadAnswer();
  stream.ReadAnswer();
  EXPECT_EQ(stream.answer(2).payload, Rounded({2.5f}));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, CancellingOneRequestLeavesTheStreamAlive) {
  GatedDevice device;
  TestServer server(OneWorker(), {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(1, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(device.WaitForHeld(1));
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'001))));
    ASSERT_TRUE(stream.Cancel(2));
    EXPECT_EQ(stream.ReadAnswer(), 2u);
    EXPECT_EQ(stream.answer(2).error.code(), static_cast<int>(grpc::StatusCode::CANCELLED));
    ASSERT_TRUE(stream.Announce(3, RoundRequest({1, 2})));
    ASSERT_TRUE(stream.SendPiece(3, "half"));
    ASSERT_TRUE(stream.Cancel(3));
    EXPECT_EQ(stream.ReadAnswer(), 3u);
    EXPECT_EQ(stream.answer(3).error.code(), static_cast<int>(grpc::StatusCode::CANCELLED));
    ASSERT_TRUE(stream.Cancel(99));  // nobody knows it: it may just have been answered
  }
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(100'000)));
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_TRUE(server.WaitForRequests(0));
}

// Streams that break the rules, and what they are told.
struct Breach {
  const char* name;
  void (*commit)(TestStream& stream);
  const char* message;
};

class StreamRulesTest : public ::testing::TestWithParam<Breach> {};

TEST_P(StreamRulesTest, EndTheStream) {
  TestServer server;
  TestStream stream(server.stub());
  GetParam().commit(stream);
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(DetailOf<rpc::BadRequest>(status).ShortDebugString(), HasSubstr(GetParam().message));
  EXPECT_TRUE(server.WaitForRequests(0));
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamRulesTest,
    ::testing::Values(Breach{"PieceOfNothing", [](TestStream& stream) { stream.SendPiece(5, "x"); },
                             "No payloads of request 5 are missing."},
                      Breach{"PieceTooLong",
                             [](TestStream& stream) {
                               stream.Announce(5, RoundRequest({1, 2}));
                               stream.SendPiece(5, "123456789");
                             },
                             "A piece of 9 bytes"},
                      Breach{"EndsInTheMiddle",
                             [](TestStream& stream) {
                               stream.Announce(5, RoundRequest({1, 2}));
                               stream.SendPiece(5, "1234");
                             },
                             "The stream ends in the middle of request 5."},
                      Breach{"SameIdTwice",
                             [](TestStream& stream) {
                               stream.Announce(5, RoundRequest({1, 2}));
                               stream.Announce(5, RoundRequest({1, 2}));
                             },
                             "Request 5 of this stream is under way already."},
                      Breach{"PayloadsInTheRequest",
                             [](TestStream& stream) {
                               v1::ExecuteStreamRequest message;
                               *message.mutable_request() = RoundRequest({1, 2});
                               stream.Write(message);
                             },
                             "request.payloads"}),
    [](const ::testing::TestParamInfo<Breach>& breach) { return std::string(breach.param.name); });

TEST(StreamTest, RequestsBeyondItsBudgetAreRefused) {
  ServerOptions options;
  options.max_stream_bytes = 1 << 20;
  TestServer server(options);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Send(1, RoundRequest(Ramp(200'000))));  // 1.6 MB with the result
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_THAT(stream.answer(1).error.message(), HasSubstr("1600000"));
  // Each of these fits, both together do not.
  ASSERT_TRUE(stream.Announce(2, RoundRequest(Ramp(100'000))));
  ASSERT_TRUE(stream.Announce(3, RoundRequest(Ramp(100'000))));
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  EXPECT_EQ(stream.answer(3).error.code(), static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED));
  EXPECT_TRUE(server.WaitForRequests(1));
  stream.TryCancel();
  EXPECT_TRUE(server.WaitForRequests(0));
}

TEST(StreamTest, AClientThatTakesNoAnswersCannotFillTheServer) {
  ServerOptions options;
  options.max_stream_bytes = 8 << 20;
  TestServer server(options);
  auto stream = std::make_unique<TestStream>(server.stub());
  // Far more than fits: the writer blocks until the stream is given up.
  std::thread writer([&stream] {
    for (uint64_t id = 0; id < 1000; ++id) {
      if (!stream->Send(id, RoundRequest(Ramp(250'000)))) return;
    }
    ADD_FAILURE() << "the server took everything";
  });
  // The stream is full once its budget is used: 8 MB and the request that went beyond.
  while (server.server().usage().bytes < options.max_stream_bytes) std::this_thread::yield();
  EXPECT_LE(server.server().usage().bytes, 2 * options.max_stream_bytes);
  stream->TryCancel();
  writer.join();
  EXPECT_TRUE(server.WaitForRequests(0));
}

TEST(StreamTest, AClientThatGoesAwayLeavesNothingBehind) {
  GatedDevice device;
  TestServer server(OneWorker(), {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(1, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(device.WaitForHeld(1));
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'001))));
    ASSERT_TRUE(stream.Announce(3, RoundRequest(Ramp(1000))));
    ASSERT_TRUE(server.WaitForRequests(3));
    stream.TryCancel();
    // What runs goes on; what waits, or is not complete, is dropped.
    EXPECT_TRUE(server.WaitForRequests(1));
  }
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
  EXPECT_EQ(device.runs(), 1);
}

TEST(StreamTest, AClientThatStallsLosesItsStream) {
  ServerOptions options;
  options.stall_limit = std::chrono::seconds(1);
  TestServer server(options);
  TestStream idle(server.stub());
  ASSERT_TRUE(idle.Send(1, RoundRequest({0.5f})));
  EXPECT_EQ(idle.ReadAnswer(), 1u);

  TestStream half(server.stub());
  ASSERT_TRUE(half.Announce(1, RoundRequest(Ramp(1000))));
  // On a slow machine the stream may be lost before.
  half.SendPiece(1, "half");
  EXPECT_EQ(half.WaitForEnd().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server.WaitForRequests(0));

  TestStream deaf(server.stub());
  for (uint64_t id = 0; id < 8; ++id) {
    // On a slow machine the stream may be lost before all are sent.
    if (!deaf.Send(id, RoundRequest(Ramp(2'000'000)))) break;
  }
  // More than fits into the connection, and nobody reads it.
  ASSERT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);

  // A stream on which nobody waits for the client may be silent for as long as it likes.
  ASSERT_TRUE(idle.Send(2, RoundRequest({1.5f})));
  EXPECT_EQ(idle.ReadAnswer(), 2u);
  EXPECT_TRUE(idle.Finish().ok());
}

TEST(StreamTest, AnUploadThatIsTooSlowIsRefused) {
  SimulatedClock clock{SteadyClock().Now()};
  ServerOptions options;
  options.stall_limit = std::chrono::seconds(4);
  TestServer server(options, {.clock = &clock});
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(1, RoundRequest(Ramp(1000))));
  ASSERT_TRUE(stream.SendPiece(1, std::string(1000, 'a')));
  // With its answer the messages before it have been dealt with.
  ASSERT_TRUE(stream.Send(2, RoundRequest({0.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  clock.Advance(std::chrono::seconds(11));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).error.code(), static_cast<int>(grpc::StatusCode::ABORTED));
  EXPECT_THAT(stream.answer(1).error.message(), HasSubstr("not complete after 10 s"));
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
  // What still comes of it is dropped, and leaves the stream alone.
  ASSERT_TRUE(stream.SendPiece(1, std::string(3000, 'a')));
  ASSERT_TRUE(stream.Send(3, RoundRequest({1.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, TimeInWhichTheServerDoesNotReadIsNotTheClients) {
  SimulatedClock clock{SteadyClock().Now()};
  GatedDevice device;
  ServerOptions options = OneWorker();
  options.pollers = 1;
  options.stall_limit = std::chrono::seconds(4);
  options.max_stream_bytes = 1 << 20;
  TestServer server(options, {.clock = &clock, .cpu = Borrow(device)});
  // Older streams are looked at last: its refusal tells that the other one has been looked at.
  TestStream older(server.stub());
  ASSERT_TRUE(older.Announce(1, RoundRequest(Ramp(1000))));
  ASSERT_TRUE(older.Send(2, RoundRequest({0.5f})));
  EXPECT_EQ(older.ReadAnswer(), 2u);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(1, RoundRequest(Ramp(1000))));
  {
    const GateCloser closer(device);
    // More than the stream may have under way, so nothing more is read.
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(stream.Send(3, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(server.WaitForRequests(4));
    WaitForPoller(older);
    clock.Advance(std::chrono::hours(1));
    EXPECT_EQ(older.ReadAnswer(), 1u);
    EXPECT_EQ(older.answer(1).error.code(), static_cast<int>(grpc::StatusCode::ABORTED));
  }
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  ASSERT_TRUE(stream.SendPiece(1, BytesOf(Ramp(1000))));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(1000)));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, TimeBetweenTicksInWhichTheServerDoesNotReadIsNotTheClients) {
  SimulatedClock clock{SteadyClock().Now()};
  GatedDevice device;
  ServerOptions options = OneWorker();
  options.pollers = 1;
  options.stall_limit = std::chrono::seconds(16);
  options.max_stream_bytes = 1 << 20;
  TestServer server(options, {.clock = &clock, .cpu = Borrow(device)});
  TestStream older(server.stub());
  ASSERT_TRUE(older.Announce(1, RoundRequest(Ramp(1000))));
  ASSERT_TRUE(older.Send(2, RoundRequest({0.5f})));
  EXPECT_EQ(older.ReadAnswer(), 2u);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(1, RoundRequest(Ramp(1000))));
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(stream.Send(3, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(server.WaitForRequests(4));
    WaitForPoller(older);
    clock.Advance(std::chrono::hours(1));
  }
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  // With its answer the server reads again.
  ASSERT_TRUE(stream.Send(4, RoundRequest({0.5f})));
  EXPECT_EQ(stream.ReadAnswer(), 4u);
  // Most likely it is only then that the poller looks at both.
  EXPECT_EQ(older.ReadAnswer(), 1u);
  EXPECT_EQ(older.answer(1).error.code(), static_cast<int>(grpc::StatusCode::ABORTED));
  ASSERT_TRUE(stream.SendPiece(1, BytesOf(Ramp(1000))));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(1000)));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, AStreamThatIsNotReadDoesNotStall) {
  GatedDevice device;
  ServerOptions options = OneWorker();
  options.pollers = 1;
  options.stall_limit = std::chrono::seconds(2);
  options.max_stream_bytes = 1 << 20;
  TestServer server(options, {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Announce(1, RoundRequest(Ramp(1000))));
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(2, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(stream.Send(3, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(server.WaitForRequests(3));
    // One that stalls later is lost, so the other one has been silent for long enough, too.
    TestStream stalled(server.stub());
    ASSERT_TRUE(stalled.Announce(1, RoundRequest(Ramp(1000))));
    EXPECT_EQ(stalled.WaitForEnd().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Once it is read again, its client has as much time as at first.
  EXPECT_EQ(stream.ReadAnswer(), 2u);
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  ASSERT_TRUE(stream.SendPiece(1, BytesOf(Ramp(1000))));
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(1000)));
  EXPECT_TRUE(stream.Finish().ok());
}

TEST(StreamTest, ADrainAnswersWhatItAccepted) {
  GatedDevice device;
  TestServer server(OneWorker(), {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  std::thread drain;
  {
    const GateCloser closer(device);
    ASSERT_TRUE(stream.Send(1, RoundRequest(Ramp(100'000))));
    ASSERT_TRUE(device.WaitForHeld(1));
    drain = std::thread([&server] {
      EXPECT_EQ(server.server().Drain(std::chrono::seconds(30)), DrainResult::kComplete);
    });
  }
  EXPECT_EQ(stream.ReadAnswer(), 1u);
  EXPECT_EQ(stream.answer(1).payload, Rounded(Ramp(100'000)));
  drain.join();
}

}  // namespace
}  // namespace opserve::testing
